import CLinux
import Glibc

/// A file with more than one name.
///
/// SQLite calls the write-ahead log after the name by which the file was opened. Programs with
/// different names "will use different rollback journals and WAL files"
/// (sqlite.org/howtocorrupt.html, multiple links), so rows get lost and the file damaged.
struct HardLinks {
  let path: String
  private let names: UInt64
  private let inode: UInt64
  private let device: dev_t
  private let database: String

  /// Nil if the file has one name alone, or is not there.
  init?(_ sidecar: Sidecar, path: String) {
    var status = stat()
    guard stat(sidecar.database, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_nlink > 1
    else { return nil }
    (self.path, database) = (path, sidecar.database)
    (names, inode, device) = (UInt64(status.st_nlink), UInt64(status.st_ino), status.st_dev)
  }

  var text: String {
    "\(path) has \(names) names (hard links), and programs that open it by different ones lose "
      + "rows and damage it"
  }

  /// How the other names are found.
  var search: String { "find \(shellWord(top)) -xdev -inum \(inode)" }

  var remedy: String {
    "Find the other names with: \(search); remove all but one. Or take a copy of its own, while no "
      + "program has it open: cp \(shellWord(path)) \(shellWord(path + ".own"))"
  }

  /// The highest folder of the same file system: links lead no further.
  private var top: String {
    var place = Sidecar.folder(of: database)
    while place != "/" {
      let above = Sidecar.folder(of: place)
      var status = stat()
      guard stat(above, &status) == 0, status.st_dev == device else { break }
      place = above
    }
    return place
  }

  /// Throws if the file has more than one name.
  static func refuse(_ sidecar: Sidecar, path: String) throws(FlotillaError) {
    guard let links = HardLinks(sidecar, path: path) else { return }
    throw FlotillaError(.linked, links.text, remedy: links.remedy)
  }
}
