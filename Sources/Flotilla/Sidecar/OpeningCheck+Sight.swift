import CLinux
import Glibc

/// What this user cannot see, or sees under another name.
extension OpeningCheck {
  /// Refuses a path that this user may not look at: whether there is a file is not known then.
  func refuseUnseen() throws(FlotillaError) {
    guard access(path, R_OK) != 0, errno == EACCES else { return }
    let reason = String(cString: strerror(EACCES))
    guard let folder = shutFolder else {
      throw FlotillaError(
        .readOnly, "\(path) cannot be read: \(reason)", remedy: Self.asOwner(of: path))
    }
    throw FlotillaError(
      .readOnly, "\(path) cannot be looked at: the folder \(folder) is closed to you (\(reason))",
      remedy: Self.asOwner(of: folder))
  }

  /// The first folder on the way that this user may not enter.
  private var shutFolder: String? {
    var folder = path.hasPrefix("/") ? "/" : "."
    for part in path.split(separator: "/").dropLast() {
      folder = folder == "/" ? "/\(part)" : "\(folder)/\(part)"
      guard access(folder, X_OK) != 0, errno == EACCES else { continue }
      return folder.hasPrefix("./") ? String(folder.dropFirst(2)) : folder
    }
    return nil
  }

  private static func asOwner(of place: String) -> String {
    var status = stat()
    guard stat(place, &status) == 0 else {
      return "Run this as the owner of the file, or let its owner open the way to it for you."
    }
    let owner = name(of: status.st_uid)
    return "\(place) belongs to \(owner), and you are \(name(of: getuid())): run this as \(owner) "
      + "(sudo -u \(shellWord(owner)) flotilla …)."
  }

  /// Refuses another name of a replica: to take Flotilla out of this one takes it out of that one.
  func refuseOtherName(of database: String?) throws(FlotillaError) {
    guard let database, database != sidecar.database,
      FileIdentity(path: database) == FileIdentity(path: sidecar.database)
    else { return }
    throw FlotillaError(
      .linked, "\(path) is another name (a hard link) of \(database), which is a replica",
      remedy: "Use that name, and remove this one: rm \(shellWord(path)) takes the name alone, and "
        + "no row.")
  }
}
