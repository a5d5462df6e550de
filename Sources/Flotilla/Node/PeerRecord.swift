import Replication
import Store

/// What a node knows about another member while it runs.
struct PeerRecord: Sendable {
  var node: Identity
  var name: String
  var address: String?
  /// The open session with it, if there is one.
  var session: PeerSession?
  /// The lives that a leaf has shown: each is an entry in everybody's frontier.
  var lives: Set<UInt64> = []
  /// Under which it writes in its present life.
  var origin: Origin?
  /// The newest protocol version that it speaks, and the program that it runs, by its own word.
  var speaks: UInt64 = 0
  var program: String?
  /// What became of it when it last tried the port of this node, and when it last told, by uptime.
  var knock: Knock?
  var knockedAt: Int64?
  /// Its present run.
  var edition: UInt64 = 0
  /// How far it has come with the cuts of the site, as it said last.
  var standing = CutStanding()
  /// It says that deleted rows went without this node, and nothing shows that.
  var isDisbelieved = false
  /// The keys of its tables, where they were changed.
  var keys: [TableKey] = []
  /// Exchanges with it that fail.
  var failures = Failures()
  /// When a connection with it ended last because two copies of it run, by uptime.
  var twinAt: Int64?
  /// Whether it was shut out of the site.
  var isRevoked = false
  /// Whether it has told in this session what it holds; `holds` is of earlier days until then.
  var hasSpoken = false
  /// What it has cost for nothing, in connections that have ended.
  var toll = Toll()
  /// What it was sent in them and has not shown to have.
  var supply = Supply()
  /// What the log says of its connections.
  var lines = StrangerLines(most: 10)
  /// Whether it has all pages of a copy that was made for it, and a connection with it ended then.
  var hasPages = false
  var hasLeftWithPages = false
  /// Rows that went each way since this node started.
  var traffic = Traffic()
  /// True while rows come from it, or wait for a file that cannot be written.
  var isReceiving: Bool { isExchanging || isHeldUp }
  var isExchanging = false
  var isHeldUp = false
  /// What it said that it holds.
  var holds: Frontier
  /// Long exchanges from it and to it; the latter until it has said that it holds what was sent.
  var coming: CatchUp?
  var going: CatchUp?
  /// By how much its wall clock is ahead of the time of the site, in ms.
  var clockOffset: Int64
  /// What it told of its clocks last in this session.
  var clockView: ClockView?
  /// Whether the offset was measured in this session, not only told.
  var hasMeasuredClock = false
  /// Whether it was logged that the time of the site which it tells cannot be.
  var isUntimely = false
  /// When it was last heard of, ms since 1970.
  var seen: Int64?
  /// Since when it and this node do not hold the same, by uptime, as far as this is known; nil if
  /// they did when it was looked last.
  var behindSince: Int64?

  /// Completed exchanges, and the rows in them.
  struct Traffic: Sendable, Equatable {
    var exchangesSent = 0
    var exchangesReceived = 0
    var sentRows = 0
    var receivedRows = 0

    mutating func count(sent: Bool, rows: Int) {
      if sent {
        exchangesSent += 1
        sentRows += rows
      } else {
        exchangesReceived += 1
        receivedRows += rows
      }
    }
  }

  /// A member of which nothing else is known.
  init(_ node: Identity, name: String) {
    (self.node, self.name) = (node, name)
    (holds, clockOffset) = (Frontier(), 0)
  }

  init(_ known: KnownPeer) {
    self.node = known.node
    self.name = known.name
    self.address = known.address
    self.holds = known.frontier
    self.clockOffset = known.clockOffset
    self.seen = known.seen
  }

  /// What is known by its connection alone, whether that stays or not.
  mutating func noteArrival(as fresh: PeerRecord) {
    (twinAt, knock, knockedAt) = (fresh.twinAt, fresh.knock, fresh.knockedAt)
  }

  /// A session with it has begun, and is the only one.
  mutating func beginAnew() {
    (hasSpoken, isExchanging, isHeldUp) = (false, false, false)
    (coming, going) = (nil, nil)
    behindSince = Uptime.now
  }

  /// A session with it has ended, whose last word came at `heard`; `left`: another one goes on.
  mutating func end(_ left: PeerSession?, heard: Int64) {
    session = left
    (isExchanging, isHeldUp) = (false, false)
    (coming, going) = (nil, nil)
    hasLeftWithPages = hasPages
    seen = heard
  }

  /// What it has said at the beginning of a session.
  mutating func note(_ hello: Hello, origin: Origin) {
    (edition, self.origin) = (hello.edition, origin)
    (standing, keys) = (hello.standing, hello.keys)
    (speaks, program) = (hello.version, nil)
    lives.insert(hello.life)
  }

  /// Whether it was ever here as a member, as far as it has told what it holds.
  var hasCome: Bool { hasSpoken || !holds.isEmpty }

  /// Whether all that it has told of is here.
  func isLevel(here: Frontier) -> Bool { hasSpoken && !isReceiving && here.covers(holds) }

  var known: KnownPeer {
    KnownPeer(
      node: node, name: name, address: address, seen: seen, clockOffset: clockOffset,
      frontier: holds)
  }
}
