/// When to look whether another program has committed something.
///
/// The watch of the folder tells of a write to the WAL before the commit is visible: an fsync may
/// lie in between. So looks follow one another after each sign, ever more slowly.
struct WriteNotice: Sendable {
  /// Pauses before each look after a sign, in µs; 0 looks at once.
  static let pauses = [
    0, 300, 500, 1_000, 1_000, 2_000, 2_000, 4_000, 4_000, 8_000, 16_000, 32_000, 64_000,
    128_000, 256_000, 512_000,
  ]
  /// Under steady writing folds follow one another at this distance, in ms.
  static let distance: Int64 = 20

  /// `PRAGMA data_version` at the last look.
  var dataVersion: Int64 = -1
  var lastFold: Int64 = 0
  /// The look that comes next.
  var step = 0

  /// The pause before the next look; nil at the end of the series.
  mutating func next() -> Duration? {
    guard step < Self.pauses.count else { return nil }
    defer { step += 1 }
    return .microseconds(Self.pauses[step])
  }
}
