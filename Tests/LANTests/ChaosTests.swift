import Foundation
import Testing

extension LANTests {
  /// Five nodes that are killed, cut off and given wrong clocks, while programs in four languages
  /// write and note what they were told.
  ///
  /// What happens is drawn from FLOTILLA_CHAOS_SEED and goes on for FLOTILLA_CHAOS_SECONDS. The
  /// machine's own timing cannot be repeated: the same seed gives the same plan, not the same run.
  @Suite struct ChaosTests {
    static let driver = "\(ThreeHostTests.fixtures)/chaos/chaos.py"

    /// What this machine lacks for it, or nil.
    static let obstacle: String? = {
      let process = Process()
      let output = Pipe()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = ["python3", driver, "can"]
      process.standardOutput = output
      guard (try? process.run()) != nil else { return "python3 cannot be started" }
      let words = (try? output.fileHandleForReading.readToEnd()) ?? Data()
      process.waitUntilExit()
      guard process.terminationStatus != 0 else { return nil }
      return String(decoding: words, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }()

    @Test(.enabled(if: obstacle == nil, "\(obstacle ?? "")"))
    func `no acknowledged write is lost in a minute of kills, cuts and wrong clocks`() async throws
    {
      let environment = ProcessInfo.processInfo.environment
      let seconds = environment["FLOTILLA_CHAOS_SECONDS"].flatMap { Int($0) } ?? 60
      let seed =
        environment["FLOTILLA_CHAOS_SEED"].flatMap { UInt64($0) } ?? .random(in: 1...999_999)
      try await Lab.with(hosts: 5) { lab in
        let limit = "\(seconds * 2 + 400)"
        let outcome = try await Program(
          "/usr/bin/timeout",
          ["-k", "10", limit, "python3", Self.driver, "\(seed)", "\(seconds)"],
          environment: ["FLOTILLA_LAB": lab.folder, "FLOTILLA_BIN": Lab.programs]
        ).run()
        let again = """
          FLOTILLA_CHAOS_SEED=\(seed) FLOTILLA_CHAOS_SECONDS=\(seconds) \
          swift test --disable-xctest --filter ChaosTests
          """
        #expect(
          outcome.status == 0,
          "\(outcome.output)\n\(outcome.error)\nto repeat the plan: \(again)")
      }
    }
  }
}
