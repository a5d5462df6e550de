import Glibc
import Store

/// A file or folder that is made beside a database: it belongs to the owner of the database.
///
/// `sudo flotilla sync clinic.db` writes `node.json`. If that were root's, the node, which runs as
/// the owner of the database, could not read it. SQLite does the same for `-wal` and `-shm`
/// (`robustFchown` in os_unix.c).
package enum OwnFile {
  /// Opens a file in the folder beside a database, or makes it for the owner of that folder alone;
  /// negative, with the reason in `errno`, if that fails. See `OpenFolder.open`.
  package static func open(_ path: String, _ flags: Int32) -> Int32 {
    guard let place = OpenFolder(folder(of: path)) else { return -1 }
    return place.open(name(of: path), flags)
  }

  /// Begins a file anew, to be written at its end; what was there goes on as `.old`. Negative if
  /// that fails. The new file is open before the old one loses its name.
  package static func begin(_ path: String) -> Int32 {
    guard let folder = OpenFolder(folder(of: path)) else { return -1 }
    let name = name(of: path)
    let (new, old) = (name + ".new", name + ".old")
    folder.remove(new)
    let next = folder.open(new, O_WRONLY | O_EXCL | O_APPEND)
    guard next >= 0 else { return -1 }
    if folder.rename(name, to: old) {
      if folder.rename(new, to: name) { return next }
      _ = folder.rename(old, to: name)
    }
    folder.remove(new)
    close(next)
    return -1
  }

  /// The folder in which a file is; the path may be relative.
  package static func folder(of path: String) -> String {
    path.contains("/") ? Sidecar.folder(of: path) : "."
  }

  /// How a file is called there.
  package static func name(of path: String) -> String {
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    return String(path[(slash.map(path.utf8.index(after:)) ?? path.startIndex)...])
  }
}
