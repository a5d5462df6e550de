/// When the write-ahead log is copied into the file and made empty: decides, and does nothing.
///
/// A copy (PASSIVE) holds nobody up, but alone the log never ends: whoever reads an earlier state,
/// or writes meanwhile, keeps the next writer from beginning it anew. So once nearly all of it is
/// copied it is cut (TRUNCATE), which keeps writers out for the little that is left.
struct CheckpointPlan: Sendable {
  /// What can happen.
  enum Input: Sendable, Equatable {
    /// The log has so many bytes, and was written last at this moment, in any unit.
    case looked(bytes: Int, written: Int64)
    /// So many of its pages are in the file.
    case copied(pages: Int, of: Int)
    case cut
    /// Another checkpoint runs, or somebody did not let go in time.
    case blocked
    /// The file is to blame.
    case failed
  }

  /// What is to be done, one thing at a time.
  enum Directive: Sendable, Equatable {
    case copy
    case cut
    /// The next look is due after so many ms.
    case rest(Int64)
  }

  enum State: Sendable, Equatable {
    /// Next: copying.
    case resting
    /// So many rounds so far, of which the last one left so many pages. Next: copying, cutting,
    /// resting.
    case copying(rounds: Int, left: Int)
    /// Next: resting.
    case cutting
  }

  /// A log of more bytes is copied and cut while programs write ...
  static let large = 16 << 20
  /// ... and of more than this once nobody has written for so many ms: SQLite itself lets it grow
  /// to 1,000 pages.
  static let small = 4 << 20
  static let quiet: Int64 = 2_000
  /// Beyond this nobody opens a snapshot before the log was cut.
  static let crowded = 32 << 20
  /// So few pages may be left for the cut to copy: some ms of the write lock.
  static let near = 256
  /// So often in a row what was written during a copy is copied, too.
  static let mostRounds = 4
  /// Between two looks while something is written, and while nothing is, in ms.
  static let pause: Int64 = 250
  static let longPause: Int64 = 1_000
  /// After a try that came to nothing: the first pause, in ms; each next one is twice as long.
  static let retry: Int64 = 50

  private(set) var state = State.resting
  private var written: Int64?
  private var quietSince: Int64 = 0
  private var isWriting = false
  /// Tries in a row that came to nothing.
  private var futile = 0

  /// Feeds one input, at an uptime in ms.
  mutating func receive(_ input: Input, at now: Int64) -> Directive {
    switch (input, state) {
    case (.looked(let bytes, let written), .resting):
      isWriting = written != self.written
      if isWriting { (self.written, quietSince) = (written, now) }
      let isQuiet = now - quietSince >= Self.quiet
      guard bytes > Self.large || isQuiet && bytes > Self.small else {
        futile = 0
        return .rest(isWriting ? Self.pause : Self.longPause)
      }
      state = .copying(rounds: 1, left: .max)
      return .copy
    case (.copied(let pages, let all), .copying(let rounds, let before)):
      let left = all - pages
      if left <= Self.near {
        state = .cutting
        return .cut
      }
      // Who reads an earlier state keeps all that came later.
      guard rounds < Self.mostRounds, left < before / 2 else { return again() }
      state = .copying(rounds: rounds + 1, left: left)
      return .copy
    case (.cut, .cutting):
      (state, futile) = (.resting, 0)
      return .rest(Self.pause)
    default: return again()
    }
  }

  private mutating func again() -> Directive {
    state = .resting
    futile = min(futile + 1, 10)
    return .rest(min(Self.retry << Int64(futile - 1), Self.longPause))
  }
}
