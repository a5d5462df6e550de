import CLinux
import Glibc

/// A folder for its owner alone: looked at before anything is written into it.
///
/// Another user who may write beside the database can make DB-flotilla first, or a link of that
/// name to a place of his own, and would be given the keys.
enum OwnFolder {
  static func isThere(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Makes it for the owner of `place`; false if it was there, and is that owner's alone.
  static func make(_ path: String, forOwnerOf place: String) throws(FlotillaError) -> Bool {
    if mkdir(path, 0o700) == 0 {
      let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      OwnFile.give(folder, toOwnerOf: place)
      close(folder)
      do {
        try sync(OwnFile.folder(of: path))
      } catch {
        rmdir(path)
        throw error
      }
      return true
    }
    guard errno == EEXIST else { throw FlotillaError.file("cannot make the folder \(path)") }
    var status = stat()
    guard lstat(path, &status) == 0 else { throw FlotillaError.file("cannot look at \(path)") }
    guard status.st_mode & S_IFMT == S_IFDIR, OwnFile.isOwner(status.st_uid, of: place) else {
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

  /// Has the names in a folder on disk: without that a power cut may bring back what was replaced.
  ///
  /// "Calling fsync() does not necessarily ensure that the entry in the directory containing the
  /// file has also reached disk" (fsync(2)). Where a file system has no such call (EINVAL), or the
  /// folder may be written and not read (EACCES), nobody can do more.
  static func sync(_ folder: String) throws(FlotillaError) {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { if descriptor >= 0 { close(descriptor) } }
    guard descriptor < 0 || fsync(descriptor) != 0, errno != EINVAL, errno != EACCES else { return }
    throw FlotillaError.file("cannot write in the folder \(folder)")
  }

  /// Gives what is there another name: `keys.old`, `keys.old-2`, …
  static func setAside(_ path: String) throws(FlotillaError) {
    guard isThere(path) else { return }
    var (aside, number) = (path + ".old", 1)
    while isThere(aside) {
      number += 1
      aside = "\(path).old-\(number)"
    }
    guard rename(path, aside) == 0 else {
      throw FlotillaError.file("cannot move \(path) away")
    }
  }
}
