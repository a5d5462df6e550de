/// When to look whether another program has committed something: decides, and does nothing.
///
/// The watch of the folder tells of a write to the WAL before the commit is visible: an fsync may
/// lie in between. So looks follow one another after each sign, ever more slowly.
///
/// Who commits often waits for each of our folds: SQLite's busy handler sleeps longer than a fold
/// takes. So the lock is left free several times as long as a fold held it, and many commits share
/// one fold. A commit after a pause is folded at once.
struct WriteNotice: Sendable {
  /// What can happen.
  enum Input: Sendable, Equatable {
    /// The watch of the folder tells of a write.
    case sign
    /// It is time to look once, in case the watch is deaf.
    case patrol
    /// A wait is over.
    case waited(sign: UInt64)
    /// A look has shown this `PRAGMA data_version`.
    case looked(version: Int64)
    /// A fold has held the write lock for so many µs.
    case held(Int64)
    /// What was committed up to this version is folded.
    case folded(version: Int64)
    /// A look or a fold has failed: the next sign or patrol tries again.
    case failed
  }

  /// What is to be done, one thing at a time.
  enum Directive: Sendable, Equatable {
    case look
    case fold(version: Int64)
    /// To be answered by `waited` with the same sign; a later directive to wait replaces it.
    case wait(microseconds: Int64, sign: UInt64)
  }

  enum State: Sendable, Equatable {
    /// Nothing points to a write. Next: looking, waiting.
    case quiet
    /// The next look has its time. Next: looking.
    case waiting
    /// A look or a fold is under way; `again` if a sign came meanwhile. Next: quiet, waiting, and
    /// looking if `again`.
    case looking(again: Bool)
  }

  /// Pauses between the looks that follow the one at the sign itself, in µs.
  static let pauses: [Int64] = [
    300, 500, 1_000, 1_000, 2_000, 2_000, 4_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000,
    256_000, 512_000,
  ]
  /// Under steady writing the lock is free so many times as long as the fold before held it, and
  /// for so many ms.
  static let share: Int64 = 8
  static let freedom: ClosedRange<Int64> = 4...160

  private(set) var state = State.quiet
  /// Signs so far: a new one voids the wait that followed the one before.
  private(set) var signs: UInt64 = 0
  /// How many of the pauses are over; all of them after a commit, until the next sign.
  private var pausesOver = 0
  private var dataVersion: Int64?
  /// Until then the lock is left to others.
  private var nextFold: Int64 = .min

  /// Feeds one input, at an uptime in ms.
  mutating func receive(_ input: Input, at now: Int64) -> Directive? {
    switch (input, state) {
    case (.held(let time), _):
      let freedom = min(Self.share * time / 1_000, Self.freedom.upperBound)
      nextFold = now + max(freedom, Self.freedom.lowerBound)
    case (.sign, .looking):
      signs += 1
      state = .looking(again: true)
    case (.sign, _):
      signs += 1
      pausesOver = 0
      return look(at: now)
    case (.patrol, .quiet):
      pausesOver = Self.pauses.count
      return look(at: now)
    case (.waited(signs), .waiting): return look(at: now)
    case (.looked(let version), .looking):
      return version == dataVersion ? rest(at: now) : .fold(version: version)
    case (.folded(let version), .looking):
      dataVersion = version
      pausesOver = Self.pauses.count
      return rest(at: now)
    case (.failed, .looking):
      pausesOver = Self.pauses.count
      return rest(at: now)
    default: break
    }
    return nil
  }

  /// Looks at once, or when the lock was free for long enough.
  private mutating func look(at now: Int64) -> Directive {
    if now < nextFold { return wait(1_000 * (nextFold - now)) }
    state = .looking(again: false)
    return .look
  }

  /// After a look: the next one, or none until something happens.
  private mutating func rest(at now: Int64) -> Directive? {
    if case .looking(again: true) = state {
      pausesOver = 0
      return look(at: now)
    }
    guard pausesOver < Self.pauses.count else {
      state = .quiet
      return nil
    }
    pausesOver += 1
    return wait(Self.pauses[pausesOver - 1])
  }

  private mutating func wait(_ microseconds: Int64) -> Directive {
    state = .waiting
    return .wait(microseconds: microseconds, sign: signs)
  }
}
