import Flotilla
import Foundation
import Glibc
import Synchronization
import Testing

@testable import Mirror

/// A program that has the port of a server which is away.
@Suite struct `A server that is none` {
  /// "HandshakeV10 […] plugin name", and an "AuthSwitchRequest" (mariadb.com, "Connection").
  private static let greeting: [UInt8] =
    [10] + Array("10.11.0-MariaDB".utf8) + [0, 1, 0, 0, 0] + Array(repeating: 65, count: 8) + [
      0, 0xFE, 0xF7, 45, 2, 0, 0xFF, 0x81, 21,
    ] + Array(repeating: 0, count: 10) + Array(repeating: 66, count: 12) + [0]
    + Array("mysql_native_password".utf8) + [0]

  private static func packet(_ body: [UInt8], _ number: UInt8) -> [UInt8] {
    [UInt8(body.count & 0xFF), UInt8(body.count >> 8), 0, number] + body
  }

  @Test(arguments: ["mysql_clear_password", "dialog", "caching_sha2_password"])
  func `does not get the password by asking for it`(_ plugin: String) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let port = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { place -> Int in
        guard bind(listener, place, length) == 0, listen(listener, 4) == 0,
          getsockname(listener, place, &length) == 0
        else { return 0 }
        return 1
      }
    }
    try #require(port == 1)
    let number = Int(UInt16(bigEndian: address.sin_port))
    let heard = Mutex<[UInt8]>([])
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      defer { done.signal() }
      let client = accept(listener, nil, nil)
      guard client >= 0 else { return }
      defer { close(client) }
      var patience = timeval(tv_sec: 20, tv_usec: 0)
      setsockopt(
        client, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
      func hear() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = read(client, &bytes, bytes.count)
        guard count > 0 else { return false }
        heard.withLock { $0 += bytes.prefix(count) }
        return true
      }
      func say(_ bytes: [UInt8]) { _ = send(client, bytes, bytes.count, 0x4000) }
      say(Self.packet(Self.greeting, 0))
      guard hear() else { return }
      let words = [0xFE] + Array(plugin.utf8) + [0] + Array(repeating: UInt8(67), count: 20) + [0]
      say(Self.packet(words, 2))
      // A dialog asks a question.
      while hear() { say(Self.packet([0x02] + Array("password".utf8), 4)) }
    }
    let url = try ServerAddress("mysql://flo@127.0.0.1:\(number)/shop")
    #expect(throws: ServerError.self) { try ServerConnection(url, password: "tell-nobody") }
    #expect(done.wait(timeout: .now() + 60) == .success)
    let bytes = heard.withLock { $0 }
    #expect(!bytes.isEmpty)
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains("flo") && !text.contains("tell-nobody"), "\(text.debugDescription)")
  }
}
