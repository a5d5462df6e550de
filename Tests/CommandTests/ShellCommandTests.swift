import Flotilla
import Foundation
import Glibc
import Testing

@testable import FlotillaCommand

@Suite struct `A command of the shell` {
  @Test func `reads its input, and gives its status`() async throws {
    let command = ShellCommand(
      text: #"read line; test "$line" = "one $WORD" && exit 7"#, environment: ["WORD": "word"])
    #expect(try await command.run(input: "one word\ntwo\n") == 7)
    #expect(try await command.run(input: "another\n") == 1)
  }

  @Test func `is ended when it takes too long, with what it has started`() async throws {
    let mark = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString)"
    defer { unlink(mark) }
    let command = ShellCommand(
      text: "sleep 600 & echo $! > '\(mark)'; wait", environment: [:], limit: 1)
    let error = await #expect(throws: FlotillaError.self) { try await command.run(input: "") }
    #expect(error?.code == .timedOut && error?.message.hasSuffix("was ended after 1 s") == true)
    let child = try #require(
      pid_t(try String(contentsOfFile: mark, encoding: .utf8).trimmingCharacters(in: .newlines)))
    // It may be a zombie for a moment.
    for _ in 0..<600 where kill(child, 0) == 0 { try await Task.sleep(for: .milliseconds(50)) }
    #expect(kill(child, 0) != 0)
  }

  @Test(arguments: [Int32(3), 124, 137])
  func `with a limit has its own status`(status: Int32) async throws {
    let command = ShellCommand(text: "exit \(status)", environment: [:], limit: 60)
    #expect(try await command.run(input: "") == status)
  }
}
