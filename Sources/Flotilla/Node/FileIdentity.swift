import CLinux
import Glibc

/// Which file a path leads to: device and inode.
struct FileIdentity: Sendable, Equatable {
  let device: UInt64
  let inode: UInt64

  /// Nil identity (zeroes) if there is no such file.
  init(path: String) {
    var status = stat()
    let isThere = stat(path, &status) == 0
    self.device = isThere ? UInt64(status.st_dev) : 0
    self.inode = isThere ? UInt64(status.st_ino) : 0
  }
}
