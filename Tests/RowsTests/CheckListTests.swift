import Flotilla
import FlotillaRows
import Foundation
import Testing

/// The example program, on two machines.
@Suite(.serialized) struct `The check-list` {
  @Test func `shows on one machine what is done on the other`() async throws {
    try await Lists.with { folder, path, open in
      let invitation = try await open.replica.invite(timeToLive: .seconds(600), role: "writer")
      let address = "127.0.0.1:\(try #require(invitation.port))"
      _ = try await Replica(path: folder + "/b.db").join(
        code: invitation.code, node: "b", at: address, progress: { _ in })
      async let watched = checkList([folder + "/b.db", "watch", "1"], peer: address)
      // The node of `a` is this process; the program works through it.
      #expect(try await checkList([path, "add", "ropes"]).hasPrefix("added:"))
      #expect(try await checkList([path, "add", "sails"]).hasPrefix("added:"))
      #expect(try await checkList([path, "done", "ropes"]) == "done: 1\n")
      #expect(try await watched.contains("x ropes"))
      let rows = try await open.rows([String: SQLValue].self, "SELECT title FROM item WHERE isDone")
      #expect(rows == [["title": "ropes"]])
    }
  }

  /// What the program prints; it is ended after two minutes.
  private func checkList(_ words: [String], peer: String? = nil) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try Self.run(words, peer) })
      }
    }
  }

  private static func run(_ words: [String], _ peer: String?) throws -> String {
    let program = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: "CheckList").path
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/timeout")
    process.arguments = ["120", program] + words
    var environment = ProcessInfo.processInfo.environment
    environment["LISTEN"] = "127.0.0.1:0"
    environment["PEER"] = peer
    environment["SWIFT_BACKTRACE"] = "enable=no"
    process.environment = environment
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    try process.run()
    let said = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw FlotillaError(.system, "checklist \(words) ended with \(process.terminationStatus)")
    }
    return String(decoding: said, as: UTF8.self)
  }
}
