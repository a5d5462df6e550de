import CLinux
import Glibc

/// The write-ahead log of a database, as a look from outside shows it.
///
/// To open and close it here would release the locks that this process has on it.
struct LogFile: Sendable, Equatable {
  var bytes = 0
  /// When it was written last, in ns since 1970.
  var written: Int64 = 0

  init(of database: String) {
    var status = stat()
    guard stat(database + "-wal", &status) == 0 else { return }
    bytes = Int(status.st_size)
    written = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
  }
}
