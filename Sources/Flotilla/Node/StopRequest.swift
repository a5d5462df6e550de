import Replication

/// That a node is to stop: the words for its peers, the reason, and whether it starts again.
///
/// Commands ask for it, and a node that has lost its file. Whoever runs the node waits for that. A
/// request stands for good; what a later one leaves out remains.
struct StopRequest: Sendable {
  private(set) var isMade = false
  /// What the peers are told, if anybody has said it.
  private(set) var bye: Bye?
  /// Why the node cannot go on, if it cannot.
  private(set) var failure: FlotillaError?
  /// The node is to be started again once it has stopped.
  private(set) var startsAgain = false

  /// What becomes of a node that is to stop.
  enum End: Sendable {
    /// It is started again once it has stopped.
    case startsAgain
    /// It cannot go on.
    case failed(FlotillaError)
    /// Somebody wants it to stop.
    case wanted
  }

  /// Nil while there is no request.
  var end: End? {
    guard isMade else { return nil }
    return startsAgain ? .startsAgain : failure.map(End.failed) ?? .wanted
  }

  private var waiters: [CheckedContinuation<Void, Never>] = []

  /// Makes the request, and lets everybody go on who waits for it.
  mutating func make(
    _ bye: Bye? = nil, because failure: FlotillaError? = nil, startsAgain: Bool = false
  ) {
    isMade = true
    self.bye = bye ?? self.bye
    self.failure = failure ?? self.failure
    self.startsAgain = startsAgain || self.startsAgain
    for waiter in waiters { waiter.resume() }
    waiters = []
  }

  /// Lets somebody go on once there is a request.
  mutating func wait(_ waiter: CheckedContinuation<Void, Never>) {
    if isMade { waiter.resume() } else { waiters.append(waiter) }
  }
}
