import Flotilla
import Foundation
import Glibc
import Synchronization
import Testing

@testable import Mirror

/// A program that has the port of a server which is away.
@Suite struct `A server that is none` {
  @Test(arguments: ["mysql_clear_password", "dialog", "caching_sha2_password"])
  func `does not get the password by asking for it`(_ plugin: String) throws {
    let words = [0xFE] + Array(plugin.utf8) + [0] + Array(repeating: UInt8(67), count: 20) + [0]
    let server = try FalseServer { client in
      guard client.hear() else { return }
      client.say(words, 2)
      // A dialog asks a question.
      while client.hear() { client.say([0x02] + Array("password".utf8), 4) }
    }
    #expect(throws: ServerError.self) { try server.connected(by: "tell-nobody") }
    let bytes = server.end()
    #expect(!bytes.isEmpty)
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains("flo") && !text.contains("tell-nobody"), "\(text.debugDescription)")
  }

  @Test(arguments: [false, true])
  func `fills no memory with rows that nobody asked for`(_ isPrepared: Bool) throws {
    let text: [UInt8] = [0xFD, 0x00, 0x00, 0x10] + Array(repeating: 120, count: 1 << 20)
    let number: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0]
    let server = try FalseServer { client in
      guard client.hear() else { return }
      client.say(FalseServer.done, 2)
      while let question = client.question() {
        switch question {
        case 0x03 where isPrepared: client.say(FalseServer.done, 1)
        case 0x16: client.say([0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0], 1)
        case 0x03, 0x17: client.say([isPrepared ? 3 : 1], 1)
        default: continue
        }
        guard question != 0x03 || !isPrepared else { continue }
        let types: [UInt8] = isPrepared ? [253, 8, 253] : [253]
        for (place, type) in types.enumerated() {
          client.say(FalseServer.column(type), UInt8(2 + place))
        }
        client.say(FalseServer.end, UInt8(2 + types.count))
        guard question != 0x16 else { continue }
        // It ends some time, so that nobody waits for ever.
        let row = isPrepared ? [0, 0] + text + number + text : text
        for turn in 0..<300 {
          guard client.say(row, UInt8(truncatingIfNeeded: 3 + types.count + turn)) else { return }
        }
      }
    }
    let error = #expect(throws: ServerError.self) { try server.connected(by: "x") }
    _ = server.end()
    #expect(error == ServerError.tooMuch)
    #expect(error?.kind == .lost)
  }
}

/// Listens on a port of this machine, and tells whoever comes what a server would.
private final class FalseServer: Sendable {
  /// "OK_Packet", "EOF_Packet" and "Column Definition" (mariadb.com, "Server Response Packets").
  static let done: [UInt8] = [0, 0, 0, 2, 0, 0, 0]
  static let end: [UInt8] = [0xFE, 0, 0, 2, 0]
  static func column(_ type: UInt8) -> [UInt8] {
    [3] + Array("def".utf8) + [0, 1, 116, 1, 116, 1, 120, 1, 120, 12, 45, 0]
      + (type == 8 ? [20, 0, 0, 0] : [0, 0, 0, 64]) + [type, 0, 0, 0, 0, 0]
  }

  /// "HandshakeV10 […] plugin name", and an "AuthSwitchRequest" (mariadb.com, "Connection").
  private static let greeting: [UInt8] =
    [10] + Array("10.11.0-MariaDB".utf8) + [0, 1, 0, 0, 0] + Array(repeating: 65, count: 8) + [
      0, 0xFE, 0xF7, 45, 2, 0, 0xFF, 0x80, 21,
    ] + Array(repeating: 0, count: 10) + Array(repeating: 66, count: 12) + [0]
    + Array("mysql_native_password".utf8) + [0]

  /// Whoever came.
  struct Client {
    let socket: Int32
    let server: FalseServer

    func hear() -> Bool {
      var bytes = [UInt8](repeating: 0, count: 4_096)
      let count = read(socket, &bytes, bytes.count)
      guard count > 0 else { return false }
      server.heard.withLock { $0 += bytes.prefix(count) }
      return true
    }

    /// What it asks for; nil when it is gone.
    func question() -> UInt8? {
      var bytes = [UInt8](repeating: 0, count: 65_536)
      let count = read(socket, &bytes, bytes.count)
      return count > 4 ? bytes[4] : nil
    }

    @discardableResult
    func say(_ body: [UInt8], _ number: UInt8) -> Bool {
      let size = body.count
      var rest = [UInt8(size & 0xFF), UInt8(size >> 8 & 0xFF), UInt8(size >> 16), number] + body
      while !rest.isEmpty {
        let count = send(socket, rest, rest.count, 0x4000)
        guard count > 0 else { return false }
        rest.removeFirst(count)
      }
      return true
    }
  }

  private let listener: Int32
  private let port: Int
  private let heard = Mutex<[UInt8]>([])
  private let isDone = DispatchSemaphore(value: 0)

  init(_ story: @escaping @Sendable (Client) -> Void) throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let isOpen = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { place -> Bool in
        bind(listener, place, length) == 0 && listen(listener, 4) == 0
          && getsockname(listener, place, &length) == 0
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    guard isOpen else { throw POSIXError(.EADDRNOTAVAIL) }
    Thread.detachNewThread { [self] in
      defer { isDone.signal() }
      let socket = accept(listener, nil, nil)
      guard socket >= 0 else { return }
      defer { close(socket) }
      var patience = timeval(tv_sec: 20, tv_usec: 0)
      // A program that another test starts meanwhile may hold the connection open.
      for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
        setsockopt(socket, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
      }
      let client = Client(socket: socket, server: self)
      client.say(Self.greeting, 0)
      story(client)
    }
  }

  deinit { close(listener) }

  func connected(by password: String) throws {
    let url = try ServerAddress("mysql://flo@127.0.0.1:\(port)/shop")
    _ = try ServerConnection(url, password: password)
  }

  /// What it was told, once nobody is there any more.
  func end() -> [UInt8] {
    #expect(isDone.wait(timeout: .now() + 60) == .success)
    return heard.withLock { $0 }
  }
}
