import CLinux
import Glibc

/// A file or folder that is made beside a database: it belongs to the owner of the database.
///
/// `sudo flotilla sync clinic.db` writes `node.json`. If that were root's, the node, which runs as
/// the owner of the database, could not read it. SQLite does the same for `-wal` and `-shm`
/// (`robustFchown` in os_unix.c).
package enum OwnFile {
  /// Opens a file in the folder beside a database, or makes it for the owner of that folder alone;
  /// negative, with the reason in `errno`, if that fails.
  ///
  /// Only what this call has made changes its owner. What was there is opened if it is a file, and
  /// no link: root would write where the owner of the folder has no right to. `ELOOP` says so.
  package static func open(_ path: String, _ flags: Int32) -> Int32 {
    let made = Glibc.open(path, flags | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if made >= 0 { give(made, toOwnerOf: folder(of: path)) }
    guard made < 0, errno == EEXIST, flags & O_EXCL == 0 else { return made }
    // Without O_NONBLOCK a FIFO that nobody reads would keep this call for ever.
    let found = Glibc.open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard found >= 0 else { return found }
    var status = stat()
    guard fstat(found, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(found)
      errno = ELOOP
      return -1
    }
    return found
  }

  /// Only root can give something away; from anybody else it is the owner's already, or nobody's
  /// business. On FAT and others all files have one owner, so a failure is none.
  static func give(_ descriptor: Int32, toOwnerOf place: String) {
    var status = stat()
    guard geteuid() == 0, stat(place, &status) == 0 else { return }
    _ = fchown(descriptor, status.st_uid, status.st_gid)
  }

  /// Whether a file of this user may be the owner's of `place`: this is root, and acts for him.
  static func isOwner(_ user: uid_t, of place: String) -> Bool {
    var status = stat()
    return user == geteuid() || geteuid() == 0 && stat(place, &status) == 0 && user == status.st_uid
  }

  /// The folder in which a file is; the path may be relative.
  static func folder(of path: String) -> String {
    path.contains("/") ? Sidecar.folder(of: path) : "."
  }
}
