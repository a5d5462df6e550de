import Glibc

/// The door of systemd's journal, through which a line comes with fields of its own.
///
/// "The basic format is a newline-separated list of environment-like key-value assignments in a
/// single datagram" (Native Journal Protocol, systemd.io). It is not waited for: what finds no room
/// is written as a line of text.
final class JournalSocket: Sendable {
  /// Where systemd listens. No variable says so: a process that could set one would read the log.
  static let place = "/run/systemd/journal/socket"

  private let descriptor: Int32
  private let path: String

  /// Nil where no socket can be made, or the path is too long for one.
  init?(path: String = place) {
    guard path.utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return nil }
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.path = path
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  /// Sends one entry; false if it did not get there.
  func send(_ fields: [(name: String, value: String)]) -> Bool {
    let datagram = Self.datagram(fields)
    var place = sockaddr_un()
    place.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: path.utf8) }
    let sent = withUnsafePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(
          descriptor, datagram, datagram.count,
          Int32(MSG_DONTWAIT | MSG_NOSIGNAL),
          $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    return sent == datagram.count
  }

  /// A value with a line end in it has its length before it: "a 64-bit little endian encoded
  /// unsigned integer".
  static func datagram(_ fields: [(name: String, value: String)]) -> [UInt8] {
    fields.flatMap { name, value -> [UInt8] in
      let (name, bytes) = (Array(name.utf8), Array(value.utf8))
      guard bytes.contains(UInt8(ascii: "\n")) else {
        return name + [UInt8(ascii: "=")] + bytes + [UInt8(ascii: "\n")]
      }
      let length = withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { Array($0) }
      return name + [UInt8(ascii: "\n")] + length + bytes + [UInt8(ascii: "\n")]
    }
  }
}
