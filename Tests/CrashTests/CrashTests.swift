import Foundation
import Testing

/// A sample of the points at which processes are killed, and half as many at which their disk
/// fails; another one each day.
@Suite(.serialized) struct CrashTests {
  /// Runs the runner to its end; gives its status and what it said.
  private func run(_ words: String...) async throws -> (status: Int32, text: String) {
    let place = FileManager.default.temporaryDirectory
      .appending(path: "crash-\(UUID().uuidString)").path
    try Data().write(to: URL(filePath: place))
    defer { try? FileManager.default.removeItem(atPath: place) }
    let process = Process()
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: "CrashRunner")
    let seed = ProcessInfo.processInfo.environment["FLOTILLA_CRASH_SEED"]
    process.arguments = words + (seed.map { ["--seed", $0] } ?? [])
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle(forWritingAtPath: place)
    process.standardError = process.standardOutput
    let status = try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
      do {
        try process.run()
      } catch {
        continuation.resume(throwing: error)
      }
    }
    let text = try String(contentsOfFile: place, encoding: .utf8)
    print(text.split(separator: "\n").last.map(String.init) ?? "")
    return (status, text)
  }

  /// How many processes were killed, as the last line has it.
  private func kills(_ text: String) -> Int? {
    text.split(separator: "\n").last?.firstMatch(of: /: (\d+) kills/).flatMap { Int($0.1) }
  }

  @Test(.timeLimit(.minutes(15)))
  func `processes of a script that are cut off lose nothing and leave nothing half`() async throws {
    // A life can be a call shorter than it was: some points are not reached.
    let (status, text) = try await run("--sample", "320")
    #expect(status == 0, "\(text)")
    #expect(try #require(kills(text)) >= 300, "\(text)")
  }

  @Test(.timeLimit(.minutes(15)))
  func `real nodes and commands that are cut off lose nothing`() async throws {
    let (status, text) = try await run("--sample", "0", "--commands", "50")
    #expect(status == 0, "\(text)")
    #expect(try #require(kills(text)) >= 25, "\(text)")
  }
}
