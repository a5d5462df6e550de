import Testing

@testable import Flotilla
@testable import Store

/// What the doctor says about the room that Flotilla takes.
@Suite struct `A finding about size` {
  private func size(_ parts: [(String, bytes: Int, rows: Int)]) -> StoreSize {
    StoreSize(
      parts: parts.map { StoreSize.Part(table: $0.0, bytes: $0.bytes, rows: $0.rows) },
      isEstimate: false, fileBytes: 12_000_000, freeBytes: 0, rows: 48_000, deletedRows: 0,
      origins: 3, earlierLives: 0)
  }

  private func findings(_ size: StoreSize, isNodeRunning: Bool = true) -> [DoctorReport.Finding] {
    var examination = Examination(path: "clinic.db")
    examination.judge(size, isNodeRunning: isNodeRunning)
    return examination.report.findings
  }

  @Test func `says what is whose`() {
    let usual = size([("version", 2_640_000, 48_000), ("journal", 4_096, 0)])
    #expect(
      findings(usual).map(\.text) == [
        "Flotilla's own tables take 2.6 MB, 22 % of the file: 55 bytes for each row",
        "most of that: what is known of each row 100 %",
      ])
    #expect(findings(usual).allSatisfy { $0.level == .ok })
  }

  /// Tables that are nearly empty take their pages, whatever is in them.
  @Test func `says nothing of a row where there are few`() {
    var few = size([("version", 16_384, 3), ("verdict", 8_192, 0), ("conflict", 12_288, 0)])
    few.rows = 3
    #expect(
      findings(few).map(\.text) == ["Flotilla's own tables take 37 kB, <1 % of the file"])
  }

  @Test func `has a remedy where something is out of proportion`() {
    var large = size([
      ("conflict", 5_000_000, 9_000), ("pending", 4_000_000, 8_000), ("version", 2_640_000, 48_000),
      ("journal", 300_000, 20_000),
    ])
    (large.earlierLives, large.origins, large.freeBytes) = (200, 210, 4_000_000)
    let warnings = findings(large).filter { $0.level == .warning }
    #expect(
      warnings.map(\.text) == [
        "20,000 edits wait in the journal", "the conflict log takes 5.0 MB",
        "8,000 edits wait for the anchor and take 4.0 MB",
        "200 of 210 origins belong to lives that ended", "4.0 MB of the file hold nothing",
      ])
    #expect(warnings.allSatisfy { $0.remedy != nil })
    let stopped = findings(large, isNodeRunning: false).first { $0.level == .warning }
    #expect(stopped?.remedy == "Start the node: flotilla run clinic.db --background")
  }
}
