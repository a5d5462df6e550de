import Foundation
import Network
import Replication
import Synchronization
import Testing

@testable import Flotilla

extension NodeTests {
  /// The end of a node.
  @Suite struct `A node that stops` {
    @Test func `may be stopped twice at once, and again afterwards`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        async let first: Void = node.stop()
        async let second: Void = node.stop()
        _ = await (first, second)
        await node.stop()
        await node.untilStopIsWanted()
      }
    }

    @Test func `lets go of the lock and the file at once`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        #expect(try await eventually { await second.connectedCount == 1 })
        #expect(try a.library.sidecar.lock() == nil)
        await first.stop()
        #expect(try a.library.sidecar.lock() != nil)
        // The last one to close the file removes the log.
        #expect(!FileManager.default.fileExists(atPath: a.path + "-wal"))
      }
    }

    @Test func `tells its peers why`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let lines = Lines()
        let first = try await site.run(a, log: { lines.add($0) })
        let second = try await site.run(b, to: [first])
        #expect(try await eventually { await first.connectedCount == 1 })
        await second.stop(Bye(.stopping, "gone for lunch"))
        #expect(try await eventually { await first.connectedCount == 0 })
        #expect(lines.all.contains { $0.contains("gone for lunch") }, "\(lines.all)")
      }
    }

    @Test func `does not wait for a peer that neither reads nor hangs up`() async throws {
      try await TestSite.with { site in
        let node = try await site.run(try await site.replica("a"))
        let silent = try await SocketChannel.connect(to: Endpoint(parsing: node.address))
        #expect(try await eventually { await !node.strangers.isEmpty })
        // The peer hangs up only afterwards: a node that waits for it does not get there.
        await node.stop()
        silent.close()
      }
    }

    @Test func `does not wait for a client that says nothing`() async throws {
      let path = try ControlSocket.path(database: "/\(UUID().uuidString).db")
      let server = try await ControlServer(path: path, patience: .seconds(86_400)) { _, _ in
        Data()
      }
      await server.start()
      let silent = try await SocketChannel.connect(toLocal: path)
      #expect(try await eventually { await server.clientCount == 1 })
      await server.stop()
      silent.close()
    }

    @Test func `ends the run when its file was moved away`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        var options = RunOptions()
        options.listen = "127.0.0.1:0"
        options.discovery = false
        let (ready, continuation) = AsyncStream<Void>.makeStream()
        let run = Task { [options] in
          try await Replica.run(
            [a.library], options: options, log: { _ in }, ready: { _ in continuation.finish() })
        }
        for await _ in ready {}
        try FileManager.default.moveItem(atPath: a.path, toPath: a.path + ".away")
        await #expect(throws: FlotillaError.self) { try await run.value }
      }
    }

    @Test func `of several databases leaves the others at work`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        var options = RunOptions()
        options.listen = "127.0.0.1:19471"
        options.discovery = false
        let (ready, continuation) = AsyncStream<Void>.makeStream()
        let run = Task { [options] in
          try await Replica.run(
            [a.library, b.library], options: options, log: { _ in },
            ready: { _ in continuation.finish() })
        }
        for await _ in ready {}
        try await a.library.stop()
        #expect(try await !a.library.status(all: false).running)
        #expect(try await b.library.status(all: false).running)
        try await b.library.stop()
        try await run.value
      }
    }
  }
}

/// Lines of a log.
final class Lines: Sendable {
  private let lines = Mutex<[String]>([])

  var all: [String] { lines.withLock { $0 } }
  func add(_ line: String) { lines.withLock { $0.append(line) } }
}
