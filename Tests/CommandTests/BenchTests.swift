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
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(component: "FlotillaBench")
    process.arguments = ["--quick", "--json", "capture"]
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let figures = try JSONDecoder().decode(Figures.self, from: data).figures
    #expect(figures.count == 7)
    #expect(figures.allSatisfy { $0.measurement == "capture" && $0.p50 > 0 })
  }
}
