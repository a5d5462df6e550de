import CLinux
import Glibc

/// Whether this process may write a database, by the permissions alone.
enum WriteAccess {
  /// Gives the files beside a database the permission to be written that it has itself.
  ///
  /// SQLite makes them with the permissions of the database at that moment. Those that were made
  /// while it was read-only stay so when it is not any more, and then no program can write it. What
  /// cannot be put right here is named by `denial`.
  static func follow(_ database: String) {
    var main = stat()
    guard stat(database, &main) == 0, main.st_mode & 0o200 != 0 else { return }
    for place in [database + "-wal", database + "-shm"] {
      var file = stat()
      guard lstat(place, &file) == 0, file.st_mode & S_IFMT == S_IFREG,
        file.st_uid == main.st_uid
      else { continue }
      let wanted = file.st_mode | main.st_mode & 0o222
      if wanted != file.st_mode { _ = chmod(place, wanted & 0o777) }
    }
  }

  /// Why not: the first thing beside or in which the database writes and that may not be written.
  ///
  /// Who has a file open may go on writing it; programs that open it now cannot.
  static func denial(_ database: String, path: String) -> FlotillaError? {
    denial(database, path: path) { what, reason in
      reason == EROFS
        ? "Mount the file system for writing; the node goes on by itself."
        : "Let its owner write it again: chmod u+w \(shellWord(what)) (chattr -i, if that "
          + "fails); the node goes on by itself."
    }
  }

  /// The same, said to somebody whose command cannot work without.
  static func refusal(_ database: String, path: String) -> FlotillaError? {
    denial(database, path: path) { _, reason in remedy(reason) }
  }

  /// What to do where this user may not write, by the `errno`.
  static func remedy(_ reason: Int32) -> String {
    reason == EROFS
      ? "The file system is mounted for reading only: mount it for writing (mount -o remount,rw), "
        + "or take a file elsewhere."
      : "Run as the owner of the database, or change the permissions of file and folder."
  }

  private static func denial(
    _ database: String, path: String, remedy: (_ what: String, _ reason: Int32) -> String
  ) -> FlotillaError? {
    let folder = Sidecar.folder(of: database)
    for place in [database, database + "-wal", database + "-shm", folder] {
      guard access(place, W_OK) != 0 else { continue }
      let reason = errno
      guard [EACCES, EROFS, EPERM].contains(reason) else { continue }
      let what = place == database ? path : place
      return FlotillaError(
        .readOnly, "\(what) cannot be written: \(String(cString: strerror(reason)))",
        remedy: remedy(what, reason))
    }
    return nil
  }
}
