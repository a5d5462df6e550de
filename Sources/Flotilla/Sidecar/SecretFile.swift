import Glibc
import Store

/// A file that appears whole or not at all, readable by its owner alone.
package enum SecretFile {
  /// Writes a file in the folder beside a database, for the owner of that folder.
  package static func write(_ bytes: [UInt8], to path: String) throws(FlotillaError) {
    guard let place = OpenFolder(OwnFile.folder(of: path)) else {
      throw FlotillaError.file("cannot write \(path)")
    }
    // All names in that folder are Flotilla's: what is there was left by a process that was killed.
    let new = OwnFile.name(of: path) + ".new"
    place.remove(new)
    try put(bytes, into: place.open(new, O_WRONLY | O_EXCL), place, new, to: path)
  }

  /// Writes a file that a person names, for who runs this. What else is there stays, but for what a
  /// process that was killed has left: one name for all, for it may be a copy of the site key.
  package static func write(_ bytes: [UInt8], toNamed path: String) throws(FlotillaError) {
    guard let place = OpenFolder(named: OwnFile.folder(of: path)) else {
      throw FlotillaError.file("cannot write \(path)")
    }
    // A name has 255 bytes at most.
    let name = String(decoding: OwnFile.name(of: path).utf8.prefix(200), as: UTF8.self)
    var new = ".\(name).flotilla-new"
    place.remove(new)
    var file = place.create(new, O_WRONLY)
    if file < 0, errno == EEXIST {
      // Somebody else's, in a folder where each removes only files of their own.
      new += "-" + String(UInt64.random(in: 0 ... .max), radix: 36)
      file = place.create(new, O_WRONLY)
    }
    try put(bytes, into: file, place, new, to: path)
  }

  /// Fills the file `new`, which was opened, and gives it its name. All is on disk then.
  private static func put(
    _ bytes: [UInt8], into file: Int32, _ place: borrowing OpenFolder, _ new: String,
    to path: String
  ) throws(FlotillaError) {
    guard file >= 0 else { throw FlotillaError.file("cannot write \(path)") }
    let count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
    // The new name may reach the disk before the bytes do; then a power cut would leave an empty
    // file.
    var code = count == bytes.count && fsync(file) == 0 ? 0 : errno
    close(file)
    if code == 0, !place.rename(new, to: OwnFile.name(of: path)) { code = errno }
    guard code == 0 else {
      place.remove(new)
      throw FlotillaError.file("cannot write \(path)", code)
    }
    guard place.sync() else { throw FlotillaError.file("cannot write in the folder of \(path)") }
  }
}

extension FlotillaError {
  /// What the last call on a file left in `errno`, as a person understands it.
  static func file(_ what: String) -> FlotillaError { file(what, errno) }

  /// The same by the number of the error.
  package static func file(_ what: String, _ code: Int32) -> FlotillaError {
    let reason = String(cString: strerror(code))
    switch code {
    case EACCES, EROFS, EPERM:
      return FlotillaError(
        .readOnly, "\(what): \(reason)", remedy: WriteAccess.remedy(code))
    case ENOSPC, EDQUOT:
      return FlotillaError(.diskFull, "\(what): \(reason)", remedy: "Make room and try again.")
    case ELOOP, ENXIO:
      return FlotillaError(
        .permissions,
        "\(what): it is a link, or no file, or its folder is a link; nothing is written there",
        remedy: "Look who has made it, and take it away.")
    case ENAMETOOLONG:
      return FlotillaError(.refused, "\(what): \(reason)", remedy: "Use a shorter file name.")
    case ENOENT, ENOTDIR:
      return FlotillaError(
        .system, "\(what): \(reason)", remedy: "Name a folder that is there, or make it first.")
    default: return FlotillaError(.system, "\(what): \(reason)")
    }
  }
}
