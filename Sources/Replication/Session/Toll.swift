/// What the words of a peer have cost this node beside what they brought, and how long the peer
/// waits for that.
///
/// For each microsecond that the node has worked for nothing the peer waits ten. So whatever it
/// says again and again, it takes a tenth of a core and leaves the rest to others. What it may owe
/// before it waits is more than honest nodes come to: the simulator looks that none ever waits.
package struct Toll: Sendable, Equatable {
  /// So many ms it may owe in all.
  static let most: Int64 = 60_000

  /// So many ms it may owe before it waits, ...
  private let free: Int64
  /// ... and in all.
  private let most: Int64
  /// In µs of waiting.
  private var debt: Int64 = 0
  private var last: Int64 = 0

  package init() { self.init(free: 2_560, most: Self.most) }

  init(free: Int64, most: Int64) { (self.free, self.most) = (free, most) }

  /// Notes what was done for nothing, in µs of waiting.
  mutating func charge(_ cost: Int64, at now: Instant) {
    pass(until: now)
    debt = min(most * 1_000, debt + cost)
  }

  /// In how many ms so much more may be done; 0 if it may be at once.
  mutating func rest(before cost: Int64, at now: Instant) -> Int64 {
    pass(until: now)
    // What is more than anybody may owe has its turn when nothing is owed.
    return (min(debt, max(0, debt + cost - free * 1_000)) + 999) / 1_000
  }

  /// The larger debt of two connections with one member.
  package func joined(_ other: Toll) -> Toll {
    var (mine, theirs) = (self, other)
    let now = Instant(uptime: max(last, other.last), wall: 0)
    mine.pass(until: now)
    theirs.pass(until: now)
    return mine.debt < theirs.debt ? theirs : mine
  }

  private mutating func pass(until now: Instant) {
    debt = max(0, debt - min(most, max(0, now.uptime - last)) * 1_000)
    last = now.uptime
  }
}

/// What a frame costs, in µs of waiting: ten times what the node works on it.
extension Toll {
  /// Whatever is asked or told: it goes through the node, and mostly looks into the file.
  static let question: Int64 = 10_000
  /// A signature takes 70 µs, and there are never more of them than `Session.checks` allows.
  static let signature: Int64 = 1_000
  /// A statement is read, hashed and looked for among those that are known.
  static let statement: Int64 = 50
  /// An origin, a name or a reach is read and looked for.
  static let entry: Int64 = 5
  /// A frame of rows, whatever is in it, and a piece of a row that is shorter than honest ones.
  static let frame: Int64 = 100
  static let longPiece = 64 << 10
  /// An exchange that brings nothing is still a commit, and word for all that wait for its peer.
  static let exchange: Int64 = 10_000
  /// One that is dropped, for others were faster, is none.
  static let dropped: Int64 = 1_000
  /// A row is read and found to be known, ...
  static let row: Int64 = 20
  /// ... up to so many of one repair: they come again for a good reason.
  static let mostRows: UInt64 = 100_000
  /// So many bytes that are read and dropped take as long as one is waited for.
  static let bytes: Int64 = 100

  /// What is known of it before anything is done.
  static func cost(of message: Message) -> Int64 {
    switch message {
    case .statements(let statements): question + Int64(statements.count) * statement
    case .have(let have):
      question + Int64(have.frontier.list.count + have.resume.list.count) * entry
    case .members(let members): question + Int64(members.count) * entry
    case .stability(let news):
      question + Int64(news.acknowledgements.count + news.floors.buckets.count) * entry
    case .want(let names): question + Int64(names.count) * entry
    case .ping, .pong, .buckets, .inspect, .describe, .knock: question
    case .begin(let begin):
      Int64(begin.kind.covers.list.count + (begin.judged?.frontier.list.count ?? 0)) * entry
    case .reaches(_, let reaches): Int64(reaches.count) * entry
    default: 0
    }
  }
}
