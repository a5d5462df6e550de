import Foundation
import Testing

private let fuzzSeconds = ProcessInfo.processInfo.environment["FLOTILLA_FUZZ_SECONDS"]

/// Of each kind of member so many messages, and from which seed on.
private let wholeMessages = ProcessInfo.processInfo.environment["FLOTILLA_MESSAGES"].flatMap(
  Int.init)
private let wholeSeed = ProcessInfo.processInfo.environment["FLOTILLA_SEED"].flatMap(UInt64.init)

/// A node with a real file, and a member that says anything.
@Suite struct `A node to which a member lies` {
  @Test(arguments: WholeSession.Part.allCases)
  func `says what can be read, and goes on`(part: WholeSession.Part) throws {
    var (seed, heard, said, merged, sessions) = (wholeSeed ?? 1, 0, 0, 0, 0)
    while heard < wholeMessages ?? 3_000 {
      var whole = try WholeSession(as: part, seed: seed)
      while whole.heard < 1_000 { try whole.step() }
      try whole.expectGoingOn()
      (heard, said) = (heard + whole.heard, said + whole.said)
      (merged, sessions) = (merged + whole.merged, sessions + whole.sessions)
      seed += 1
    }
    print("\(part): heard \(heard), said \(said), merged \(merged), in \(sessions) sessions")
    // Who may write is taken in; who may not is not.
    #expect(part == .reader ? merged == 0 : merged > heard / 200)
    #expect(said > heard / 10)
  }
}

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
