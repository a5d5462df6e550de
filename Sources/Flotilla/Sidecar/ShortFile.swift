import Glibc

/// A file of a few lines that a person names: a key, a password, a cursor.
package enum ShortFile {
  /// No file of these is as long.
  static let longest = 64 << 10

  /// All that it holds. Of one that is longer, or has no end, such as `/dev/zero`, no more is read.
  package static func read(_ path: String) throws(FlotillaError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .file("cannot read \(path)") }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: longest + 1)
    var count = 0
    while count < bytes.count {
      let read = bytes.withUnsafeMutableBytes {
        Glibc.read(descriptor, $0.baseAddress! + count, $0.count - count)
      }
      if read < 0, errno == EINTR { continue }
      guard read >= 0 else { throw .file("cannot read \(path)") }
      if read == 0 { return Array(bytes.prefix(count)) }
      count += read
    }
    throw .file("cannot read \(path)", EFBIG)
  }
}
