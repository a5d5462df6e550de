/// An address at which a member may be found.
struct Candidate: Sendable {
  /// At most this many addresses are tried in turn that only discovery has named; others wait.
  static let limit = 256
  /// At most this many in all, apart from those of the operator.
  static let lastingLimit = 4_096
  /// At most this many of one node that others have told, beside those at which it was met.
  static let toldLimit = 8
  /// An address that keeps failing is tried this often, in ms; more seldom with many of them.
  static let slowest: Int64 = 2_500

  /// So many are dialled at a time that are only hearsay, or discovered: each may take seconds, and
  /// a thread.
  static let dialsAtOnce = 16

  /// A connection that ends sooner than this, in ms, is dialled again more and more slowly.
  static let shortStay: Int64 = 5_000

  /// The node that answered there last, or is said to, if any.
  var node: Identity?
  /// Whether only another member says that it is that node, or two were said to be there.
  var isHearsay = false
  /// Known otherwise than from other members: from the operator, by a meeting, from earlier days.
  var isKnown = false
  /// Its random name on the air, if discovery named it.
  var service: String?
  /// Kept though discovery does not see it: from the operator, from a member, from earlier days.
  var isLasting = false
  /// From the operator.
  var isNamed = false
  /// The uptime at which that node itself was last met there, or said so.
  var metAt: Int64?
  var isSelf = false
  var isDialling = false
  var failures = 0
  /// Connections in a row that ended as soon as they were up.
  var shortStays = 0
  var nextTry: Int64

  init(nextTry: Int64) { self.nextTry = nextTry }

  mutating func fail(_ now: Int64, candidates: Int) {
    isDialling = false
    failures += 1
    let slowest = max(Self.slowest, Int64(candidates) * 100)
    nextTry = now + min(slowest, 250 << Int64(min(failures, 10)))
  }

  /// The operator, or a person, has named the address.
  mutating func name() { (isLasting, isNamed, isKnown) = (true, true, true) }

  /// That node was met there, or says that it listens there.
  mutating func meet(_ node: Identity, at uptime: Int64) {
    (self.node, metAt, isHearsay, isKnown) = (node, uptime, false, true)
  }

  /// Whether a connection with that node is a reason not to dial. A member may say of any address
  /// that it is its own, and nobody would be looked for there any more.
  var isWhose: Bool { !(isHearsay && (isKnown || service != nil)) }

  /// Whether discovery alone has named it.
  var isSightedAlone: Bool { service != nil && !isLasting && !isKnown }

  mutating func retry(at moment: Int64) {
    failures = 0
    nextTry = moment
  }
}
