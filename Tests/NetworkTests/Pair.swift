import Foundation
import Testing

@testable import Network

/// Two channels that are each other's peer, over TCP on the loopback interface.
struct Pair {
  let here: SocketChannel
  let there: SocketChannel

  init() async throws {
    let listener = try await Listener(host: "127.0.0.1", port: 0)
    let endpoint = try Endpoint(host: "127.0.0.1", port: listener.port)
    async let accepted = listener.accept()
    here = try await SocketChannel.connect(to: endpoint)
    there = try await accepted
    listener.close()
  }

  func close() {
    here.close()
    there.close()
  }
}

/// A folder of its own for one test, removed at the end.
final class Scratch {
  let path: String

  init() {
    var template = Array("/tmp/flotilla-network-XXXXXX".utf8CString)
    path = String(cString: mkdtemp(&template)!)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }
}

extension ByteChannel {
  /// Reads exactly `count` bytes, or fewer if the peer closes before.
  func read(exactly count: Int) async throws(NetworkError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let more = try await read(upTo: count - bytes.count)
      if more.isEmpty { break }
      bytes += more
    }
    return bytes
  }
}
