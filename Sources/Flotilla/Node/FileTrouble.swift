import Replication

/// What keeps a node from its file: noted once, tried again at a growing pause, over when it works.
struct FileTrouble: Sendable {
  enum Kind: String, Codable, Sendable {
    /// The file or its folder may not be written.
    case readOnly = "read-only"
    case diskFull = "disk-full"
    /// Nothing has failed here yet, or only for programs.
    case diskLow = "disk-low"
    /// Another program keeps the write lock.
    case locked
    /// The file cannot be opened, read or written for another reason.
    case unusable
  }

  /// What can happen.
  enum Input: Sendable {
    /// The permissions forbid to write, though what is open may still be written through.
    case denied(FlotillaError)
    case allowed
    /// A piece of work failed for this reason.
    case failed(FlotillaError)
    /// A piece of work went through.
    case worked
    /// The disk has hardly any room.
    case scarce(FlotillaError)
    case roomy
  }

  struct Current: Sendable, Equatable {
    let kind: Kind
    var error: FlotillaError
    /// In ms since 1970.
    let since: Int64
    let isDenied: Bool
    /// The uptime of the next try.
    fileprivate(set) var nextTry: Int64
    fileprivate var tries = 1
  }

  /// The pauses between two tries, in ms: the first, and the longest.
  static let shortest: Int64 = 500
  static let longest: Int64 = 10_000

  private(set) var current: Current?
  /// The disk has hardly any room. The node goes on, and fails when it has to.
  private var scarcity: Current?
  /// Sessions that wait for the next try, and then make it.
  private var waiters = 0

  /// What there is to be told: what keeps the node from its file, or will do so soon.
  var told: Current? { current ?? scarcity }
  var isScarce: Bool { scarcity != nil }

  /// Feeds one input; gives what is to be said about it, if that is new.
  mutating func receive(_ input: Input, at now: Instant) -> String? {
    switch input {
    case .denied(let error): return begin(error, isDenied: true, now)
    case .failed(let error):
      // What fails meanwhile fails because of it.
      if current?.isDenied == true { return nil }
      return begin(error, isDenied: false, now)
    case .allowed: return end(isDenied: true)
    case .worked: return end(isDenied: false)
    case .scarce(let error): return note(scarce: error, now)
    case .roomy:
      guard isScarce else { return nil }
      scarcity = nil
      return "the disk has room again"
    }
  }

  private mutating func note(scarce error: FlotillaError, _ now: Instant) -> String? {
    guard !isScarce else {
      scarcity?.error = error
      return nil
    }
    scarcity = Current(
      kind: .diskLow, error: error, since: now.wall, isDenied: false, nextTry: now.uptime)
    return Self.line(error)
  }

  private static func line(_ error: FlotillaError) -> String {
    error.message + (error.remedy.map { ". \($0)" } ?? "")
  }

  private mutating func begin(
    _ error: FlotillaError, isDenied: Bool, _ now: Instant
  ) -> String? {
    let kind = Kind(error.code)
    guard var standing = current, standing.kind == kind, standing.isDenied == isDenied else {
      current = Current(
        kind: kind, error: error, since: now.wall, isDenied: isDenied,
        nextTry: now.uptime + Self.shortest)
      return Self.line(error)
    }
    standing.error = error
    if standing.nextTry <= now.uptime {
      let pause = Self.shortest << Int64(min(standing.tries, 10))
      standing.nextTry = now.uptime + min(pause, Self.longest)
      standing.tries += 1
    }
    current = standing
    return nil
  }

  private mutating func end(isDenied: Bool) -> String? {
    guard let standing = current, standing.isDenied == isDenied else { return nil }
    current = nil
    return "the file can be written again"
  }

  /// A session begins to wait for the file, or goes on.
  mutating func wait() { waiters += 1 }

  mutating func goOn() { waiters -= 1 }

  /// Whether the file is to be tried by whoever asks, for nobody else is about to.
  func isTryDue(at now: Instant) -> Bool { current != nil && waiters == 0 && !rests(at: now) }

  /// True while nothing is to be tried yet.
  func rests(at now: Instant) -> Bool { current.map { now.uptime < $0.nextTry } ?? false }
}

extension FileTrouble.Kind {
  init(_ code: FlotillaError.Code) {
    self =
      switch code {
      case .readOnly: .readOnly
      case .diskFull: .diskFull
      case .locked: .locked
      default: .unusable
      }
  }
}
