import Foundation
import Glibc
import Network
import Testing

@testable import Flotilla

extension NodeTests {
  /// The socket on which commands ask the running node.
  @Suite struct `The control socket` {
    private func channel(_ replica: TestReplica) async throws -> SocketChannel {
      try await SocketChannel.connect(
        toLocal: ControlSocket.path(database: replica.library.sidecar.database))
    }

    @Test(arguments: ["garbage\n", "{}\n", "{\"status\":{}}\n", "\n", "\0\u{1}\u{2}\n"])
    func `takes no harm from what is no request`(_ text: String) async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        _ = try await site.run(a)
        let channel = try await channel(a)
        try await channel.write(Array(text.utf8))
        let answer = try await channel.read(upTo: 1_000)
        #expect(answer.isEmpty)
        channel.close()
        #expect(try await a.library.status(all: false).running)
      }
    }

    @Test func `takes no request without end`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        _ = try await site.run(a)
        let channel = try await channel(a)
        let piece = [UInt8](repeating: 0x41, count: ControlServer.longestRequest)
        try? await channel.write(piece + piece)
        let answer = try? await channel.read(upTo: 1_000)
        #expect(answer ?? [] == [])
        channel.close()
        #expect(try await a.library.status(all: false).running)
      }
    }

    @Test func `says that a request is too long`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        _ = try await site.run(a)
        let names = (0..<2_000).map { "table of a very long name, number \($0)" }
        let unknown = await #expect(throws: FlotillaError.self) {
          try await a.library.untrack(names)
        }
        #expect(unknown?.message.contains("number 0") == true)
        let error = await #expect(throws: FlotillaError.self) {
          try await a.library.untrack(Array(repeating: names, count: 20).flatMap { $0 })
        }
        #expect(error?.code == .refused)
        #expect(error?.message.contains("no request of more than 1 MiB") == true)
      }
    }

    @Test func `answers many at once, also beside clients that say nothing`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        _ = try await site.run(a)
        var silent: [SocketChannel] = []
        for _ in 0..<20 { silent.append(try await channel(a)) }
        try await withThrowingTaskGroup(of: Bool.self) { group in
          for _ in 0..<20 { group.addTask { try await a.library.status(all: false).running } }
          for try await isRunning in group { #expect(isRunning) }
        }
        for channel in silent { channel.close() }
      }
    }

    @Test func `of a process that was killed is as if none ran`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let path = try ControlSocket.path(database: a.library.sidecar.database)
        // It takes one connection, and is gone before it has read what was asked.
        let script = """
          import socket, sys
          server = socket.socket(socket.AF_UNIX)
          server.bind(sys.argv[1])
          server.listen()
          print("ready", flush=True)
          peer, _ = server.accept()
          peer.recv(1, socket.MSG_PEEK)
          """
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", script, path]
        process.standardOutput = output
        try process.run()
        defer { unlink(path) }
        // It may come in pieces; that it says anything is enough.
        #expect(output.fileHandleForReading.availableData.starts(with: "r".utf8))
        let client = try ControlClient(database: a.library.sidecar.database)
        let report: StatusReport? = try await client.ask(.status(all: false))
        #expect(report == nil)
        process.waitUntilExit()
      }
    }

    @Test func `of another user is asked nothing, also where a node has noted it`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let listener = try await LocalListener(path: "\(site.folder)/x.sock")
        defer { listener.close() }
        #expect(a.library.sidecar.noteSocket(listener.path))
        var client = try ControlClient(database: a.library.sidecar.database)
        #expect(client.users == [0, geteuid()])
        let channel = Task { try await listener.accept().channel }
        client.users = [geteuid() + 1]
        let nothing: StatusReport? = try await client.ask(.status(all: false))
        #expect(nothing == nil)
        #expect(try await channel.value.read(upTo: 1_000) == [])

        let node = try await site.run(a)
        let silence: StatusReport? = try await client.ask(.status(all: false))
        #expect(silence == nil)
        client.users = [geteuid()]
        let report: StatusReport? = try await client.ask(.status(all: false))
        #expect(report?.node == "a")
        await node.stop()
      }
    }

    @Test func `is in a folder for its owner alone, with a short path`() throws {
      let long = "/" + String(repeating: "folder/", count: 200) + "x.db"
      let path = try ControlSocket.path(database: long)
      #expect(path.utf8.count <= 107)
      #expect(try ControlSocket.path(database: "/a.db") != ControlSocket.path(database: "/b.db"))
      var status = stat()
      let folder = URL(filePath: path).deletingLastPathComponent().path
      #expect(stat(folder, &status) == 0)
      #expect(status.st_mode & 0o777 == 0o700)
    }
  }

  /// Processes at one database.
  @Suite struct `The lock of a database` {
    @Test func `is held by one at a time`() throws {
      let folder = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let sidecar = Sidecar(database: folder + "/x.db")
      try sidecar.create(node: "n")
      var lock = try sidecar.lock()
      #expect(lock != nil)
      #expect(try sidecar.lock() == nil)
      lock = nil
      #expect(try sidecar.lock() != nil)
      var status = stat()
      #expect(stat(sidecar.folder, &status) == 0)
      #expect(status.st_mode & 0o777 == 0o700)
      _ = lock
    }

    @Test func `is waited for while another command holds it for a moment`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<8 { group.addTask { _ = try await a.library.status(all: false) } }
          try await group.waitForAll()
        }
        var lock = try a.library.sidecar.lock()
        async let run: Void = Replica.run(
          [a.library], options: Self.options, log: { _ in }, ready: { _ in })
        try await Task.sleep(for: .milliseconds(200))
        _ = lock
        lock = nil
        #expect(try await eventually { try await a.library.status(all: false).running })
        try await a.library.stop()
        try await run
      }
    }

    private static var options: RunOptions {
      var options = RunOptions()
      options.listen = "127.0.0.1:0"
      options.discovery = false
      return options
    }

    @Test func `keeps a second node out, and says so`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        _ = try await site.run(a)
        let error = await #expect(throws: FlotillaError.self) {
          try await Replica.run(
            [a.library], options: Self.options, log: { _ in }, ready: { _ in })
        }
        #expect(error?.code == .node)
        #expect(error?.remedy?.contains("flotilla stop") == true)
      }
    }
  }
}
