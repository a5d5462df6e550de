import Replication
import Store

/// Nodes with replicas, and real sessions between them over queues of frames.
///
/// One thread, one seed: everything that happens is drawn from it. The world does what the shell
/// does, feeds the machines and carries out their directives; it decides nothing of theirs. There
/// is one of it: a copy, which each call of a function that changes nothing may be given, is slow.
struct World<Replica: SimulatedReplica>: ~Copyable {
  struct Node {
    var replica: Replica
    var clock: SimulatedClock
    /// When it starts again; nil while it runs.
    var startsAt: Int64?
    var hadPower = true
    /// It left for good.
    var isDead = false
    /// The appointments that it has heard of, in the order of their terms.
    var appointments: [Appointment] {
      get { docket.appointments }
      nonmutating set { docket.appointments = newValue }
    }
    let docket = Docket()
    /// False while its replica does not follow the last of them yet.
    var isGoverned = true
    /// The session with the anchor in which its edits are made; 0 if there is none.
    var online: UInt64 = 0
    /// Its replica has more to do, in a transaction of its own.
    var hasWork = false
    /// What has changed whenever it tells its peers of the keys of its tables anew.
    var keyMark: UInt64 = 0
    /// A peer lets go of what this node lacks; it has not begun to fetch everything yet.
    var behind: CutStanding?
    /// What it was told of deleted rows, and does not believe.
    var doubted: CutStanding?
    /// What it knows of the members; nil in a world without rights.
    var membership: Membership?
    /// What it goes by itself.
    var rights = Rights.all
    /// What others have told that they hold, and how much of that is on its disk.
    var holds: [Int: Frontier] = [:]
    var savedHolds: [Int: Frontier] = [:]
    /// The lives that it and its copies have had, which run it is, and what stands beside its file.
    var lives: UInt64 = 0
    var run: UInt64 = 0
    var record: LifeRecord?
    /// The lives of others that it has met, the present one last.
    var metLives: [Int: [UInt64]] = [:]
    /// The file, or all that the machine has, is on another machine or in another's place.
    var isMoved = false
    var isReplaced = false
    /// What stood beside the file when it was copied; nil if it never was.
    var backup: LifeRecord??
    /// The appointments that were in it.
    var knownThen: [Appointment] = []
    /// Of which node this is a copy, with the same key.
    var original: Int?
    /// Who is connected, where two may be one node.
    var mesh: Mesh
    /// The time of the site as it knows it, and when it last looked and kept that, by uptime.
    var time: SiteClock
    var lastLook: Int64 = 0
    var lastSave: Int64 = 0
    /// A member has said that another copy runs.
    var wasTwin = false
    /// What it has asked for to be put back.
    var lastWanted: UInt64 = 0

    /// How often its process was started.
    var starts: UInt64 = 0

    /// Asked all the time: a call would be given a copy of the node.
    @inline(__always) var isUp: Bool { startsAt == nil && !isDead }

    init(replica: Replica, clock: SimulatedClock) {
      (self.replica, self.clock) = (replica, clock)
      mesh = Mesh(node: replica.id)
      time = SiteClock(node: replica.id)
    }
  }

  var random: Seeded
  /// Where frames are torn; drawn apart, so that it changes nothing else.
  var tears: Seeded
  /// When more than one frame has arrived: drawn apart as well.
  var gatherings: Seeded
  let faults: Faults
  var nodes: Places<Node>
  var links: Places<Link>
  /// The world's own clock, in ms.
  var time: Int64 = 1_000_000
  /// Nothing fails any more.
  var isCalm = false
  /// When something other than a Ping was last said, and how often something was.
  var lastMessage: Int64 = 0
  var messages = 0
  /// How many connections there were.
  var connections: UInt64 = 0
  /// Nil if nobody is ever the anchor.
  var plan: OfficePlan?
  /// Somebody was appointed once.
  var isFounded = false
  var history = History()
  var story: Story
  /// What a site with rights was founded with, and what can be said about it later.
  var founding: Membership?
  var shape = SiteShape()
  /// The member that lies, if there is one.
  var liar: Liar?
  /// What each node knows of signatures; empty if all know all.
  var acquaintances: [Acquaintance] = []
  /// What the site does about deleted versions.
  var collecting: Collecting

  struct SiteShape {
    var tables: [String] = []
    var isLine = false
  }

  init(replicas: [Replica], isLine: Bool, faults: Faults, random: Seeded, story: Story) {
    self.random = random
    var draws = random
    tears = draws.fork()
    gatherings = draws.fork()
    var lies = draws.fork()
    self.faults = faults
    self.story = story
    collecting = Collecting(random)
    let count = replicas.count
    links = Places(
      (0..<count - 1).flatMap { low in
        (low + 1..<(isLine ? low + 2 : count)).map { Link(nodes: [low, $0]) }
      })
    var nodes: [Node] = []
    for replica in replicas {
      let drift = faults[.clockDrift] > 0 ? Int64(self.random.below(401)) - 200 : 0
      let isOff = self.random.chance(150)
      let offset = Int64(self.random.below(isOff ? 7_200_000 : 80))
      nodes.append(
        Node(replica: replica, clock: SimulatedClock(offset: offset, drift: drift)))
    }
    self.nodes = Places(nodes)
    addLiar(isLine: isLine, &lies)
    var meetings = lies.fork()
    addStrangers(&meetings)
  }

  func now(_ node: Int) -> Instant {
    let clock = nodes[node].clock
    guard hasSiteTime else { return clock.now(time) }
    let reading = clock.reading(time)
    guard nodes[node].isUp else {
      return Instant(uptime: reading.uptime, wall: reading.wall, site: nil)
    }
    return nodes[node].time.instant(reading)
  }

  /// True this often in a thousand, while things may fail.
  mutating func happens(_ kind: Faults.Kind) -> Bool { !isCalm && random.chance(faults[kind]) }

  mutating func tell(_ line: @autoclosure () -> String) {
    story.moment = time - 1_000_000
    story.tell(line())
  }

  /// Uses the replica of a node and looks at what it did.
  mutating func use<Result>(
    _ node: Int, _ body: (inout Replica, Instant) throws -> Result
  ) throws -> Result {
    let now = now(node)
    let result = try body(&nodes[node].replica, now)
    if hasLives { noteLife(node) }
    // Of the liar its words alone are told, and others may believe them and tell it so.
    history.isDeaf = isLiar(node)
    defer { history.isDeaf = false }
    try nodes[node].replica.inspect(at: now, &history)
    return result
  }

  /// Feeds an input to every session of a node.
  mutating func feed(node: Int, _ input: Session.Input) {
    for link in links.indices {
      for side in 0...1 where links[link].nodes[side] == node { feed(link, side, input) }
    }
  }

  mutating func feed(_ link: Int, _ side: Int, _ input: Session.Input) {
    let now = now(links[link].nodes[side])
    guard let directives = links[link].sides[side].receive(input, at: now) else { return }
    let id = links[link].id
    for directive in directives {
      // What came before may have cost the node its life, and the session with it.
      guard links[link].id == id, links[link].sides[side].isConnected else { return }
      carryOut(directive, link, side)
    }
  }

  private mutating func carryOut(_ directive: Session.Directive, _ link: Int, _ side: Int) {
    switch directive {
    case .send(let message): send(message, link, side)
    case .opened(let hello):
      opened(link, side, hello)
      if hasCopies { meet(hello, link, side) }
      if hasLives { noteMet(hello, link, side) }
      tellAppointments(link, side)
      noteSessions(of: links[link].nodes[side])
    case .statements(let statements):
      hear(statements, link, side)
      hear(statements.compactMap(Notice.appointment), at: links[link].nodes[side])
    case .exchanged(sent: false, rows: _):
      noteContact(link, side)
    case .peerHolds(let frontier):
      if hasRights { nodes[links[link].nodes[side]].holds[links[link].nodes[1 - side]] = frontier }
      letGoOfFormer(link, side, holds: frontier)
      if hasLives { hears(link, side, holds: frontier) }
    case .heardClock(let view):
      if hasSiteTime { feedClock(links[link].nodes[side], .heard(peer(link, side), view)) }
    case .measuredClock(let view, let roundTrip, let moment):
      let input = SiteClock.Input.measured(
        peer(link, side), view, roundTrip: roundTrip, at: moment)
      if hasSiteTime { feedClock(links[link].nodes[side], input) }
    case .contradicted(let have): examine(have, link, side)
    case .doubted(let reach): doubt(reach, link, side)
    case .stability(let news): hear(news, link, side)
    case .fellBehind(let standing): fallBehind(standing, link, side)
    case .openExport(let scope): links[link].sides[side].export = Link.Export(scope: scope)
    case .narrowExport(let scope):
      if links[link].sides[side].export?.id == nil {
        links[link].sides[side].export?.scope = scope
      }
    case .readExport: links[link].sides[side].export?.isWanted = true
    case .closeExport: closeExport(link, side)
    case .merge(let merge):
      links[link].sides[side].merge = merge
      feed(link, side, .stoppedReading)
    case .closed(let bye, let byPeer):
      let names = links[link].nodes.map(Words.node)
      let by = byPeer ? 1 - side : side
      tell("\(names[by]) ends with \(names[1 - by]): \(bye.reason)")
      notice(bye, link)
      end(link, side)
      if byPeer, bye.code == .twin { meetTwin(links[link].nodes[side]) }
    default: break
    }
  }

  private func peer(_ link: Int, _ side: Int) -> Identity {
    nodes[links[link].nodes[1 - side]].replica.id
  }

  /// Peers that keep to the protocol, over a connection that keeps its bytes, never quarrel.
  private mutating func notice(_ bye: Bye, _ link: Int) {
    guard bye.code == .badMessage || bye.code == .notAllowed, !links[link].isSpoilt,
      !links[link].isMisunderstood, !hasLiar(link)
    else { return }
    history.blame("a session ended with: \(bye)")
  }

  /// A fold's news for every session of its node.
  mutating func folded(_ node: Int, _ fold: FoldResult) {
    if fold.hasMore { nodes[node].hasWork = true }
    if let push = fold.push { feed(node: node, .folded(push)) }
    feed(node: node, .advanced(nodes[node].replica.position))
    if var stretch = fold.stretch {
      // As for an export that is opened.
      if random.chance(faults[.slices]) { stretch.waiting += 2_000 }
      feed(node: node, .foldedStretch(stretch))
    }
    if hasRights { askForRows(node) }
    tellKeys(node)
  }
}
