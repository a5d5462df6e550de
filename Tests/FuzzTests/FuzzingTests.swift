import Foundation
import Testing

private let fuzzSeconds = ProcessInfo.processInfo.environment["FLOTILLA_FUZZ_SECONDS"]

/// A second or two of fuzzing for each target.
@Suite(
  .timeLimit(.minutes(30)),
  .enabled(if: fuzzSeconds != nil, "needs FLOTILLA_FUZZ_SECONDS, as make test sets it"))
struct `Fuzzing` {
  @Test func `finds nothing that harms a reader of foreign bytes`() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.currentDirectoryURL = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    process.arguments = [
      "nice", "-n", "5", "scripts/fuzz.sh", "--quick", "--seconds", fuzzSeconds ?? "1",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let start = ContinuousClock.now
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    print("\(FuzzTarget.allCases.count) targets in \((ContinuousClock.now - start))")
    for target in FuzzTarget.allCases {
      #expect(text.contains("\n\(target.rawValue) "), "\(target) was not fed")
    }
    #expect(process.terminationStatus == 0, "\(text.suffix(4_000))")
  }
}
