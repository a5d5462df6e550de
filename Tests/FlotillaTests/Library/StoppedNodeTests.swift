import Foundation
import Network
import SQLite
import Testing

@testable import Flotilla

@Suite(.serialized) struct `An open replica whose node is stopped by a person` {
  private var options: RunOptions {
    var options = RunOptions()
    options.listen = "127.0.0.1:0"
    options.discovery = false
    return options
  }

  private func refusal(_ open: OpenReplica) async -> FlotillaError? {
    do throws(FlotillaError) {
      _ = try await open.nextChanges(since: nil, within: .zero)
      return nil
    } catch {
      return error
    }
  }

  @Test func `does not start it again, and says so; flotilla run does`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let own = try await Replica.open(a.path, options: options)
      let other = try await Replica.open(a.path, options: options)
      _ = try await other.save(["id": .text("1")], in: "item")
      try await a.library.stop()
      for _ in 0..<3 {
        let error = await refusal(other)
        #expect(error?.code == .node && error?.message.contains("was stopped with") == true)
        #expect(await refusal(own)?.code == .node)
        // Writing goes on, and asks for the node afterwards.
        _ = try await other.update("item", key: ["id": .text("1")], set: ["text": .text("x")])
        try await Task.sleep(for: .milliseconds(50))
      }
      let status = try await a.library.status(all: false)
      #expect(!status.running && status.stopped?.hasPrefix("20") == true)
      let finding = try await a.library.doctor(repair: false).findings.first { $0.check == "node" }
      #expect(finding?.text.contains("it was stopped with flotilla stop at 20") == true)

      let (ready, continuation) = AsyncStream<Void>.makeStream()
      let run = Task { [options] in
        try await Replica.run(
          [a.library], options: options, log: { _ in }, ready: { _ in continuation.finish() })
      }
      for await _ in ready {}
      #expect(await refusal(other) == nil)
      run.cancel()
      try await run.value
      // That node has ended and was not stopped: the next who asks takes its place.
      #expect(await refusal(other) == nil)
      let after = try await a.library.status(all: false)
      #expect(after.running && after.stopped == nil)
      await other.close()
      #expect(try await a.library.status(all: false).stopped == nil)
      await own.close()
    }
  }

  @Test(arguments: [false, true])
  func `starts it with resume, and a program does that opens the file`(opens: Bool) async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let own = try await Replica.open(a.path, options: options)
      let other = try await Replica.open(a.path, options: options)
      try await a.library.stop()
      #expect(await refusal(other) != nil)
      var third: OpenReplica?
      if opens {
        third = try await Replica.open(a.path, options: options)
      } else {
        try await other.resume()
      }
      #expect(await refusal(other) == nil)
      let status = try await a.library.status(all: false)
      #expect(status.running && status.stopped == nil)
      for open in [own, other, third] { await open?.close() }
    }
  }

  @Test func `tries ever less often what fails`() async throws {
    var pause = RetryPause()
    let times = (0..<7).map { _ in pause.next() / .milliseconds(1) }
    #expect(times == [200, 400, 800, 1_600, 3_200, 5_000, 5_000])
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let node = try await site.run(a)
      let open = try await Replica.open(a.path, options: options)
      _ = try await open.nextChanges(since: nil)
      await node.stop()
      // The socket of the next node cannot be made.
      let socket = try ControlSocket.path(database: a.library.sidecar.database)
      try FileManager.default.createDirectory(
        atPath: socket + "/x", withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: socket) }
      let before = try a.count("_flotilla_run")
      let reading = Task { for try await _ in open.peers() {} }
      try await Task.sleep(for: .seconds(3))
      let tries = try a.count("_flotilla_run") - before
      #expect((2...6).contains(tries), "\(tries)")
      await open.close()
      _ = await reading.result
    }
  }
}
