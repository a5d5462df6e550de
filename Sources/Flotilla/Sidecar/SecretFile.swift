import Glibc

/// A file that appears whole or not at all, readable by its owner alone.
package enum SecretFile {
  package static func write(_ bytes: [UInt8], to path: String) throws(FlotillaError) {
    let new = path + ".new"
    // Somebody else may have made it, to read what is written into it.
    unlink(new)
    let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FlotillaError.file("cannot write \(path)") }
    let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    // The new name may reach the disk before the bytes do; then a power cut would leave an empty
    // file.
    guard count == bytes.count, fsync(descriptor) == 0 else {
      let error = FlotillaError.file("cannot write \(path)")
      close(descriptor)
      unlink(new)
      throw error
    }
    close(descriptor)
    guard rename(new, path) == 0 else { throw FlotillaError.file("cannot write \(path)") }
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
    case ENAMETOOLONG:
      return FlotillaError(.refused, "\(what): \(reason)", remedy: "Use a shorter file name.")
    case ENOENT, ENOTDIR:
      return FlotillaError(
        .system, "\(what): \(reason)", remedy: "Name a folder that is there, or make it first.")
    default: return FlotillaError(.system, "\(what): \(reason)")
    }
  }
}
