import CLinux
import Glibc
import Store

/// A folder for its owner alone: looked at before anything is written into it.
///
/// Another user who may write beside the database can make DB-flotilla first, or a link of that
/// name to a place of his own, and would be given the keys.
enum OwnFolder {
  static func isThere(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Makes it for the owner of what else is in the same folder by the name `neighbour`, "." for
  /// that folder itself; false if it was there, and is that owner's alone.
  static func make(_ path: String, forOwnerOf neighbour: String) throws(FlotillaError) -> Bool {
    guard let place = OpenFolder(OwnFile.folder(of: path)) else {
      throw FlotillaError.file("cannot make the folder \(path)")
    }
    let name = OwnFile.name(of: path)
    if place.makeFolder(name, forOwnerOf: neighbour) == 0 {
      guard place.sync() else {
        let error = FlotillaError.file("cannot make the folder \(path)")
        place.removeFolder(name)
        throw error
      }
      return true
    }
    guard errno == EEXIST else { throw FlotillaError.file("cannot make the folder \(path)") }
    guard let status = place.status(of: name) else {
      throw FlotillaError.file("cannot look at \(path)")
    }
    // Root acts for the owner.
    let isOwn =
      status.st_uid == geteuid()
      || geteuid() == 0 && status.st_uid == place.status(of: neighbour)?.st_uid
    guard status.st_mode & S_IFMT == S_IFDIR, isOwn else {
      let isLink = status.st_mode & S_IFMT == S_IFLNK
      throw FlotillaError(
        .permissions,
        isLink
          ? "\(path) is a symbolic link, and keys are not put where it leads"
          : "\(path) is no folder of yours, and keys are not put there",
        remedy: "Look who has made it, and move it away: mv \(shellWord(path)) "
          + shellWord(path + ".other"))
    }
    guard status.st_mode & 0o077 == 0 else {
      throw FlotillaError(
        .permissions, "other users of this machine may look into \(path)",
        remedy: "chmod 700 \(shellWord(path))")
    }
    return false
  }

  /// Gives what is there another name: `keys.old`, `keys.old-2`, …
  static func setAside(_ path: String) throws(FlotillaError) {
    guard let place = OpenFolder(OwnFile.folder(of: path)) else {
      throw FlotillaError.file("cannot move \(path) away")
    }
    let name = OwnFile.name(of: path)
    guard place.status(of: name) != nil else { return }
    var (aside, number) = (name + ".old", 1)
    while place.status(of: aside) != nil {
      number += 1
      aside = "\(name).old-\(number)"
    }
    guard place.rename(name, to: aside) else {
      throw FlotillaError.file("cannot move \(path) away")
    }
  }
}
