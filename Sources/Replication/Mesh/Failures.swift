/// The exchanges with one member that fail, and what is to be written about them.
///
/// A pure machine. A member that cannot be reached is away; one that is reached, and whose
/// connection ends over what is exchanged each time, fails: that does not pass by itself. Its lines
/// in the log are counted: the first of each cause at once, then more and more seldom.
package struct Failures: Sendable, Equatable {
  /// Why exchanges fail at present.
  package struct Failure: Sendable, Equatable {
    package var bye: Bye
    /// True if this node ended the connection, over what came or over its own file.
    package var isOurs: Bool
    /// The uptime of the first one, and how many there were since.
    package var since: Int64
    package var count: UInt64
  }

  package enum Input: Sendable {
    /// A connection ended; this node held so much then.
    case ended(Bye, isOurs: Bool, holding: Frontier)
    /// All that the member had to send was taken in.
    case received
    /// The member has told what it holds, and this node holds so much itself.
    case holds(Frontier, here: Frontier)
    /// Nobody answers where the member was met.
    case outOfReach
  }

  package enum Directive: Sendable, Equatable {
    /// Exchanges fail, so many times since the last such line.
    case failed(Bye, count: UInt64, isFirst: Bool)
    /// They work again, after so many failures.
    case works(after: UInt64)
  }

  /// One cause of failures, as long as none of them has passed.
  private struct Cause: Sendable, Equatable {
    var bye: Bye
    var isOurs: Bool
    var untold: UInt64 = 0
    var nextLine: Int64
    var pause: Int64
  }

  /// Causes that are told apart, at most: a member could make up one after another.
  static let mostCauses = 4
  /// From one line to the next, in ms: each pause is six times the one before, up to an hour.
  static let shortest: Int64 = 60_000
  static let longest: Int64 = 3_600_000

  private var failure: Failure?
  private var causes: [Cause] = []
  /// What this node held when the last one failed.
  private var mark = Frontier()
  private var isOutOfReach = false

  package init() {}

  /// What fails now; nil if all goes well, or if the member cannot be reached.
  package var current: Failure? { isOutOfReach ? nil : failure }
  /// True until exchanges have worked again, in reach or not: no line tells that it is connected.
  package var isKnown: Bool { failure != nil }

  package mutating func receive(_ input: Input, at now: Instant) -> Directive? {
    switch input {
    case .ended(let bye, let isOurs, let held):
      guard Self.isFailure(bye) else { return nil }
      (isOutOfReach, mark) = (false, held)
      failure = Failure(
        bye: bye, isOurs: isOurs, since: failure?.since ?? now.uptime,
        count: (failure?.count ?? 0) + 1)
      return tell(bye, isOurs, now.uptime)
    case .received: return failure?.isOurs == true ? end() : nil
    case .holds(let frontier, let here):
      guard let failure else { return nil }
      let isEqual = frontier.covers(here) && here.covers(frontier)
      return isEqual || !failure.isOurs && frontier.covers(mark) ? end() : nil
    case .outOfReach:
      isOutOfReach = true
      return nil
    }
  }

  /// A connection that is lost, given up for another one or stopped is no failure.
  private static func isFailure(_ bye: Bye) -> Bool {
    [.badMessage, .storage, .version, .notAllowed, .anotherSite].contains(bye.code)
  }

  private mutating func tell(_ bye: Bye, _ isOurs: Bool, _ uptime: Int64) -> Directive? {
    guard let index = causes.firstIndex(where: { $0.bye == bye && $0.isOurs == isOurs }) else {
      guard causes.count < Self.mostCauses else {
        // One more takes the place of the last, with its pause.
        let last = causes.count - 1
        (causes[last].bye, causes[last].isOurs) = (bye, isOurs)
        return tell(bye, isOurs, uptime)
      }
      causes.append(
        Cause(bye: bye, isOurs: isOurs, nextLine: uptime + Self.shortest, pause: Self.shortest))
      return .failed(bye, count: 1, isFirst: true)
    }
    causes[index].untold += 1
    guard uptime >= causes[index].nextLine else { return nil }
    causes[index].pause = min(causes[index].pause * 6, Self.longest)
    causes[index].nextLine = uptime + causes[index].pause
    defer { causes[index].untold = 0 }
    return .failed(bye, count: causes[index].untold, isFirst: false)
  }

  private mutating func end() -> Directive? {
    guard let count = failure?.count else { return nil }
    self = Failures()
    return .works(after: count)
  }
}
