import Foundation
import Testing

extension LANTests {
  /// Programs made with the frameworks that people use, on two hosts. They write all the time, are
  /// migrated apart, and cut off from each other; then their tables are looked at with plain SQL.
  ///
  /// FLOTILLA_APPLICATION_SEED draws the order of migrations and cuts, FLOTILLA_APPLICATION_SECONDS
  /// says how long it goes on. What the machines do in between cannot be repeated.
  @Suite struct ApplicationTests {
    static let folder = "\(ThreeHostTests.fixtures)/applications"

    /// What this machine lacks for an application, or nil.
    static func obstacle(_ name: String) -> String? {
      let process = Process()
      let output = Pipe()
      process.executableURL = URL(filePath: "/usr/bin/python3")
      process.arguments = ["-B", "\(folder)/drive.py", "can", name]
      process.standardOutput = output
      guard (try? process.run()) != nil else { return "python3 cannot be started" }
      let words = (try? output.fileHandleForReading.readToEnd()) ?? Data()
      process.waitUntilExit()
      guard process.terminationStatus != 0 else { return nil }
      return String(decoding: words, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static let django = obstacle("django")
    private static let alembic = obstacle("alembic")
    private static let php = obstacle("php")

    @Test(.enabled(if: django == nil, "\(django ?? "")"))
    func `nothing is lost while two hosts with Django migrate apart`() async throws {
      try await migrateApart("django")
    }

    @Test(.enabled(if: alembic == nil, "\(alembic ?? "")"))
    func `nothing is lost while two hosts with SQLAlchemy migrate apart`() async throws {
      try await migrateApart("alembic")
    }

    @Test(.enabled(if: php == nil, "\(php ?? "")"))
    func `nothing is lost while two hosts with PHP migrate apart`() async throws {
      try await migrateApart("php")
    }

    @Test(
      .enabled(if: isThere("chinook"), "the samples are not here"),
      arguments: ["chinook", "northwind"])
    func `numbers that two hosts give twice keep their children`(sample: String) async throws {
      let count = ProcessInfo.processInfo.environment["FLOTILLA_TWINS"] ?? "60"
      try await run(["twins.py", sample, "\(ThreeHostTests.samples)/\(sample).db", count])
    }

    private static func isThere(_ sample: String) -> Bool {
      FileManager.default.isReadableFile(atPath: "\(ThreeHostTests.samples)/\(sample).db")
    }

    private func migrateApart(_ name: String) async throws {
      let environment = ProcessInfo.processInfo.environment
      let seconds = environment["FLOTILLA_APPLICATION_SECONDS"] ?? "8"
      let seed = environment["FLOTILLA_APPLICATION_SEED"] ?? "\(Int.random(in: 1...999_999))"
      try await run(["drive.py", name, seed, seconds])
    }

    private func run(_ words: [String]) async throws {
      try await Lab.with(hosts: 2) { lab in
        let outcome = try await Program(
          "/usr/bin/timeout",
          ["-k", "10", "900", "/usr/bin/python3", "-B", "\(Self.folder)/\(words[0])"]
            + words.dropFirst(),
          environment: ["FLOTILLA_LAB": lab.folder, "FLOTILLA_BIN": Lab.programs]
        ).run()
        #expect(
          outcome.status == 0,
          "\(words.joined(separator: " "))\n\(outcome.output)\n\(outcome.error)")
      }
    }
  }
}
