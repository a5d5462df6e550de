import Foundation
import Testing

/// The benchmark runs and tells its figures; how fast anything is is no matter of tests.
@Suite struct `The benchmark` {
  private struct Figures: Decodable {
    struct Figure: Decodable {
      let measurement: String
      let p50: Double
    }
    let figures: [Figure]
  }

  @Test func `measures what capture costs`() throws {
    let figures = try measured("capture")
    #expect(figures.count == 10)
    #expect(figures.allSatisfy { $0.measurement == "capture" && $0.p50 > 0 })
  }

  @Test(arguments: [
    ("handshake", 5), ("bulk", 4), ("join", 3), ("crowd", 4), ("verdicts", 20),
    ("updates", 14), ("apply", 6), ("commits", 5), ("wire", 5), ("path", 4),
  ])
  func `measures what rows cost, and the security, and the verdicts`(name: String, count: Int)
    throws
  {
    let figures = try measured(name)
    #expect(figures.count == count)
    #expect(figures.allSatisfy { $0.measurement == name && $0.p50 > 0 })
  }

  @Test func `measures a large database, also where nothing else copies one`() throws {
    let figures = try measured("million")
    #expect(figures.count >= 14)
    #expect(figures.allSatisfy { $0.measurement == "million" && $0.p50 > 0 })
  }

  @Test func `measures how soon followers are told`() throws {
    let figures = try measured("feed")
    try #require(figures.count == 7)
    #expect(figures[1].p50 > 0 && figures[2].p50 > 0 && figures[4].p50 > 0)
  }

  @Test func `tells what a reconnect says apart from what TLS adds`() throws {
    let values = try measured("reconnect").map(\.p50)
    try #require(values.count == 3)
    // In the order of the table: said, on the wire, of this the handshake.
    #expect(values[0] > 100 && values[1] > values[0] + values[2])
  }

  @Test func `tells of what machine its figures are, and of the table`() throws {
    let report = try JSONDecoder().decode(Whole.self, from: output("--json", "wire"))
    #expect(report.machine.cores > 0 && !report.machine.sqlite.isEmpty)
    #expect(report.lines.allSatisfy { line in report.figures.contains { $0.name == line.figure } })
    #expect(report.lines.count == 2)
  }

  private struct Whole: Decodable {
    struct Machine: Decodable { let cores: Int, sqlite: String }
    struct Line: Decodable { let figure: String }
    struct Named: Decodable { let name: String }
    let machine: Machine
    let lines: [Line]
    let figures: [Named]
  }

  private func measured(_ name: String) throws -> [Figures.Figure] {
    try JSONDecoder().decode(Figures.self, from: output("--json", name)).figures
  }

  private func output(_ words: String...) throws -> Data {
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(component: "FlotillaBench")
    process.arguments = ["--quick"] + words
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return data
  }
}
