import Glibc

/// How much room there is on a disk.
enum DiskRoom {
  /// With less than this a commit of some size fails, so it is told as trouble. Programs meet the
  /// full disk themselves, and no word of that reaches the node.
  static let least: UInt64 = 16 << 20
  /// So much ends it: what is written and taken away at the bound is told once.
  static let enough: UInt64 = 2 * least

  /// What the tables of Flotilla take in a file, with its log, before any row is in them.
  static let ofSetUp: UInt64 = 1 << 20

  /// Bytes that this user may still write in the folder of a file; nil if nobody can say.
  ///
  /// "f_bavail: Number of free blocks for unprivileged users" (statvfs(3)).
  static func known(at path: String) -> UInt64? {
    var status = statvfs()
    guard statvfs(Sidecar.folder(of: path), &status) == 0 else { return nil }
    return UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
      .partialValue
  }

  /// The same; 0 if nobody can say.
  static func free(at path: String) -> UInt64 { known(at: path) ?? 0 }

  static func words(_ room: UInt64) -> String { "\(sized(Int(clamping: room))) free" }

  /// That a disk has hardly any room left.
  static func shortage(_ room: UInt64, of path: String) -> FlotillaError {
    FlotillaError(
      .diskFull, "the disk of \(path) has only \(words(room))",
      remedy: "Make room: what programs write there fails, or will soon.")
  }
}
