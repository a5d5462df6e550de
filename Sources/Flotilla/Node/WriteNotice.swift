/// When to look whether another program has committed something.
///
/// The watch of the folder tells of a write to the WAL before the commit is visible: an fsync may
/// lie in between. So looks follow one another after each sign, ever more slowly.
struct WriteNotice: Sendable {
  /// Pauses between the looks that follow the one at the sign itself, in ms.
  static let pauses: [Double] = [0.3, 0.5, 1, 1, 2, 2, 4, 4, 8, 16, 32, 64, 128, 256, 512]
  /// Under steady writing folds follow one another at this distance, in ms.
  static let distance: Int64 = 20

  /// `PRAGMA data_version` at the last look.
  var dataVersion: Int64 = -1
  /// Signs so far: a new one ends the looks that followed the one before.
  var signs: UInt64 = 0
  /// What went wrong at the last look, so that it is said once.
  var trouble: String?
  var lastFold: Int64 = 0
}
