import Glibc

/// A client of a PostgreSQL server: simple queries over its socket, one after the other
/// (PostgreSQL, Frontend/Backend Protocol).
final class PostgresClient {
  private let descriptor: Int32
  private var messages = PostgresMessages()
  private var buffer = [UInt8](repeating: 0, count: 64 << 10)

  init(folder: String) throws {
    let path = "\(folder)/.s.PGSQL.5432"
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard path.utf8.count < room else { throw BenchError("\(path) is too long for a socket") }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let code = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard code == 0 else { throw BenchError("nobody listens at \(path)") }
    try send(PostgresMessages.startup(user: "postgres", database: "postgres"))
    _ = try answer()
  }

  deinit { close(descriptor) }

  /// Runs statements; gives the first column of the last row.
  @discardableResult
  func run(_ sql: String) throws -> String? {
    try send(PostgresMessages.query(sql))
    return try answer()
  }

  /// Reads until the server is ready for more.
  private func answer() throws -> String? {
    var (value, failure): (String?, String?)
    while true {
      while let message = messages.next() {
        switch message.kind {
        case UInt8(ascii: "D"): value = PostgresMessages.firstColumn(of: message.body)
        case UInt8(ascii: "E"): failure = PostgresMessages.text(ofError: message.body)
        case UInt8(ascii: "Z"):
          if let failure { throw BenchError("PostgreSQL: \(failure)") }
          return value
        default: break
        }
      }
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { throw BenchError(failure ?? "PostgreSQL has hung up") }
      messages.append(buffer[..<count])
    }
  }

  private func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw BenchError("PostgreSQL has hung up") }
      sent += count
    }
  }
}

/// Cuts what a PostgreSQL server sends into messages, and writes those of a client.
struct PostgresMessages {
  struct Message: Equatable {
    let kind: UInt8
    let body: [UInt8]
  }

  private var bytes: [UInt8] = []

  mutating func append(_ more: some Sequence<UInt8>) { bytes += more }

  /// A kind, the length of the rest with itself, and the rest.
  mutating func next() -> Message? {
    guard bytes.count >= 5 else { return nil }
    let length = Int(Self.integer(bytes[1..<5]))
    guard length >= 4, bytes.count > length else { return nil }
    let message = Message(kind: bytes[0], body: Array(bytes[5...length]))
    bytes.removeFirst(length + 1)
    return message
  }

  static func startup(user: String, database: String) -> [UInt8] {
    let words: [[UInt8]] = ["user", user, "database", database].map { Array($0.utf8) + [0] }
    let rest = big(196_608) + words.joined() + [0]
    return big(Int32(rest.count + 4)) + rest
  }

  static func query(_ sql: String) -> [UInt8] {
    let text = Array(sql.utf8) + [0]
    return [UInt8(ascii: "Q")] + big(Int32(text.count + 4)) + text
  }

  /// Of a row: how many columns, then of each its length (-1: NULL) and its bytes.
  static func firstColumn(of row: [UInt8]) -> String? {
    guard row.count >= 6 else { return nil }
    let length = Int(integer(row[2..<6]))
    guard length >= 0, row.count >= 6 + length else { return nil }
    return String(decoding: row[6..<(6 + length)], as: UTF8.self)
  }

  /// Of an error: fields of a letter and a text; M is what people read.
  static func text(ofError body: [UInt8]) -> String {
    let fields = body.split(separator: 0)
    let message = fields.first { $0.first == UInt8(ascii: "M") }
    return String(decoding: message?.dropFirst() ?? [], as: UTF8.self)
  }

  private static func integer(_ bytes: ArraySlice<UInt8>) -> Int32 {
    Int32(bitPattern: bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
  }

  private static func big(_ value: Int32) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
  }
}
