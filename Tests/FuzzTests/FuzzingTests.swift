import Foundation
import Testing

private let fuzzSeconds = ProcessInfo.processInfo.environment["FLOTILLA_FUZZ_SECONDS"]

/// A few seconds of fuzzing: of the readers of the wire, whose program is built in a minute.
@Suite(
  .timeLimit(.minutes(15)),
  .enabled(if: fuzzSeconds != nil, "needs FLOTILLA_FUZZ_SECONDS, as make test sets it"))
struct `Fuzzing` {
  @Test func `finds nothing that harms the readers of the wire`() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.currentDirectoryURL = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    process.arguments = [
      "scripts/fuzz.sh", "--seconds", fuzzSeconds ?? "1", "frame", "message", "batch", "key",
      "session", "code",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text.suffix(4_000))")
  }
}
