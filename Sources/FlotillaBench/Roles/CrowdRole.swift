import Flotilla
import Foundation
import Glibc
import Network

/// Keeps COUNT half-open connections with HOST:PORT, from a hundred addresses of this host, and
/// replaces those that are let go; ends when it is killed.
///
/// Each says the beginning of a handshake and nothing more. Says on standard error when all were
/// opened once.
struct CrowdRole {
  static let ready = "all were there"

  let address: String
  let count: Int

  init(_ words: [String]) throws {
    let arguments = try RoleArguments(words, count: 2)
    address = words[0]
    count = try arguments.integer(1)
  }

  func run() throws {
    let greeting = try Self.greeting()
    var waiting = try (0..<count).map { number in
      pollfd(fd: try arrive(number, greeting), events: Int16(POLLIN), revents: 0)
    }
    FileHandle.standardError.write(Data("\(Self.ready)\n".utf8))
    var number = 0
    while true {
      poll(&waiting, nfds_t(waiting.count), -1)
      for place in waiting.indices where waiting[place].revents != 0 {
        close(waiting[place].fd)
        number += 1
        waiting[place].fd = try arrive(number, greeting)
        waiting[place].revents = 0
      }
      // A few hundred newcomers a second are enough to keep the door full.
      Clock.sleep(.milliseconds(50))
    }
  }

  /// The first bytes of a handshake, too few to be answered.
  private static func greeting() throws -> [UInt8] {
    let secret = TLSContext.SharedSecret(
      identity: Items.randomKey(), secret: Items.randomKey() + Items.randomKey())
    var engine = try TLSEngine(dialling: try TLSContext(joining: secret), for: .joining)
    return Array(engine.takeOutput().prefix(100))
  }

  private func arrive(_ number: Int, _ greeting: [UInt8]) throws -> Int32 {
    let from = "127.0.1.\(number % 100 + 1)"
    guard let raw = dial(address, from: from) else {
      throw BenchError("no connection from \(from) to \(address)")
    }
    // Whoever was let go at once is noticed by `poll`.
    _ = greeting.withUnsafeBytes {
      send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
    return raw
  }
}
