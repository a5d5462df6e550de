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
    #expect(figures.count == 7)
    #expect(figures.allSatisfy { $0.measurement == "capture" && $0.p50 > 0 })
  }

  @Test(arguments: [
    ("handshake", 5), ("bulk", 4), ("join", 3), ("crowd", 4), ("verdicts", 20),
    ("updates", 14),
  ])
  func `measures what the security costs, and the verdicts`(name: String, count: Int) throws {
    let figures = try measured(name)
    #expect(figures.count == count)
    #expect(figures.allSatisfy { $0.measurement == name && $0.p50 > 0 })
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

  private func measured(_ name: String) throws -> [Figures.Figure] {
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(component: "FlotillaBench")
    process.arguments = ["--quick", "--json", name]
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return try JSONDecoder().decode(Figures.self, from: data).figures
  }
}
