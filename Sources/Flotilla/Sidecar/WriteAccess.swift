import Glibc

/// Whether this process may write a database, by the permissions alone.
enum WriteAccess {
  /// Why not: the first thing beside or in which the database writes and that may not be written.
  ///
  /// Who has a file open may go on writing it; programs that open it now cannot.
  static func denial(_ database: String, path: String) -> FlotillaError? {
    let folder = Sidecar.folder(of: database)
    for place in [database, database + "-wal", database + "-shm", folder] {
      guard access(place, W_OK) != 0 else { continue }
      let reason = errno
      guard [EACCES, EROFS, EPERM].contains(reason) else { continue }
      let what = place == database ? path : place
      return FlotillaError(
        .readOnly, "\(what) cannot be written: \(String(cString: strerror(reason)))",
        remedy: reason == EROFS
          ? "Mount the file system for writing; the node goes on by itself."
          : "Let its owner write it again: chmod u+w \(shellWord(what)) (chattr -i, if that "
            + "fails); the node goes on by itself.")
    }
    return nil
  }
}
