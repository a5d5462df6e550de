import Foundation
import Glibc
import Synchronization

/// Stands between a mirror and its server, on a socket of its own, and cuts a connection at a
/// COMMIT when it is told to: before the server has it, or after it was carried out. It may also
/// have a COMMIT wait.
final class CuttingProxy: Sendable {
  enum Cut: Sendable {
    /// The server never hears of it.
    case before
    /// The server has carried it out, and nobody hears of that.
    case after
    /// It is carried out, and told only when something else has been done.
    case late
    /// The server has it only when something else has been done. Nothing is cut.
    case waiting
  }

  /// What is done at a COMMIT that is cut, while nothing has been answered.
  typealias Meanwhile = @Sendable () -> Void

  private struct State {
    var cut: Cut?
    /// So many are let through before.
    var passing = 0
    var meanwhile: Meanwhile?
    var cuts = 0
    var reply: [UInt8] = []
    var isOver = false
  }

  let path: String
  private let server: String
  private let listener: Int32
  /// Whether the server seems to be one without array binding.
  private let hidesArrays: Bool
  private let state = Mutex(State())

  init(at path: String, before server: String, hidesArrays: Bool = false) throws {
    (self.path, self.server, self.hidesArrays) = (path, server, hidesArrays)
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let bound = Self.with(path) { bind(listener, $0, $1) }
    guard listener >= 0, bound == 0, listen(listener, 16) == 0 else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
    Thread.detachNewThread { self.accept() }
  }

  /// Cuts at a COMMIT after so many of them.
  func arm(_ cut: Cut, passing: Int = 0, _ meanwhile: Meanwhile? = nil) {
    state.withLock { ($0.cut, $0.passing, $0.meanwhile) = (cut, passing, meanwhile) }
  }

  /// How often it has cut.
  var cuts: Int { state.withLock(\.cuts) }

  /// The error that the server answered to the COMMIT at which it cut last; nil if it was carried
  /// out. "int<1> 0xFF: ERR_Packet header, int<2> error code" (mariadb.com, "ERR_Packet").
  var error: Int? {
    let reply = state.withLock(\.reply)
    return reply.count > 6 && reply[4] == 0xFF ? Int(reply[5]) | Int(reply[6]) << 8 : nil
  }

  func end() {
    state.withLock { $0.isOver = true }
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  private static func with(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8) + [0]
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes.prefix($0.count)) }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  private func accept() {
    while !state.withLock(\.isOver) {
      let client = Glibc.accept(listener, nil, nil)
      guard client >= 0 else { return }
      _ = fcntl(client, F_SETFD, FD_CLOEXEC)
      let other = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard Self.with(server, { connect(other, $0, $1) }) == 0 else {
        close(client)
        close(other)
        continue
      }
      Thread.detachNewThread { self.serve(client, other) }
    }
  }

  /// Moves bytes until one side is gone. A request that begins with COMMIT is one of the protocol's
  /// packets: "3 bytes length, 1 byte sequence, 0x03 for COM_QUERY" (mariadb.com, "COM_QUERY").
  private func serve(_ client: Int32, _ other: Int32) {
    defer {
      close(client)
      close(other)
    }
    var isFirst = hidesArrays
    while true {
      var places = [
        pollfd(fd: client, events: Int16(POLLIN), revents: 0),
        pollfd(fd: other, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&places, 2, 120_000) > 0 else { return }
      if places[0].revents != 0 {
        guard let bytes = Self.read(client) else { return }
        guard bytes.count == 11, bytes[4] == 3, Array(bytes[5...]) == Array("COMMIT".utf8),
          let (cut, meanwhile) = due()
        else {
          guard Self.write(bytes, to: other) else { return }
          continue
        }
        var reply: [UInt8]?
        if cut == .waiting { meanwhile?() }
        if cut != .before {
          guard Self.write(bytes, to: other) else { return }
          reply = Self.read(other)
        }
        if cut != .waiting { meanwhile?() }
        state.withLock { ($0.cuts, $0.reply) = ($0.cuts + 1, reply ?? []) }
        guard cut == .late || cut == .waiting, let reply, Self.write(reply, to: client) else {
          return
        }
      }
      if places[1].revents != 0 {
        guard var bytes = Self.read(other) else { return }
        if isFirst { Self.hideArrays(&bytes) }
        isFirst = false
        guard Self.write(bytes, to: client) else { return }
      }
    }
  }

  /// Takes STMT_BULK_OPERATIONS out of what a server says it can. Its version ends with 0. Behind
  /// that are 27 bytes of other things, and then the 4 with what MariaDB alone can (mariadb.com,
  /// "Connection").
  private static func hideArrays(_ greeting: inout [UInt8]) {
    guard let end = greeting[5...].firstIndex(of: 0), greeting.count > end + 31 else { return }
    greeting[end + 28] &= ~UInt8(1 << 2)
  }

  private func due() -> (Cut, Meanwhile?)? {
    state.withLock { state in
      guard let cut = state.cut else { return nil }
      guard state.passing == 0 else {
        state.passing -= 1
        return nil
      }
      state.cut = nil
      return (cut, state.meanwhile)
    }
  }

  private static func read(_ descriptor: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    return count > 0 ? Array(bytes.prefix(count)) : nil
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0x4000) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
