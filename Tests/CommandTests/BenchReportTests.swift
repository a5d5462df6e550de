import Foundation
import SQLite
import Testing

@testable import FlotillaBench

/// What the benchmark makes of its figures: percentiles, forms, comparisons.
@Suite struct `The reports of the benchmark` {
  private func report(_ figures: Figure...) -> JSONReport {
    var report = Report(measurement: "test")
    report.figures = figures
    return JSONReport([report], on: nil)
  }

  @Test(arguments: [
    (50.0, 50.0), (99, 99), (100, 100), (1, 1), (0.5, 1), (0, 1), (98.5, 99),
  ])
  func `a percentile is one of the values, by nearest rank`(percent: Double, expected: Double) {
    #expect(Samples((1...100).map(Double.init).shuffled()).percentile(percent) == expected)
  }

  @Test func `few samples have percentiles, and none have no number`() {
    #expect(Samples([3, 1, 2]).median == 2)
    #expect(Samples([2, 1]).median == 1)
    #expect(Samples([7]).percentile(99) == 7)
    #expect(Samples([]).median.isNaN)
  }

  @Test(arguments: [
    (0.0, "0"), (2, "2"), (2.5, "2.50"), (12.34, "12.3"), (999, "999"), (1_000, "1,000"),
    (123_456.7, "123,457"), (1_000_000, "1,000,000"), (-4_500, "-4,500"), (.nan, "-"),
  ])
  func `numbers for people`(value: Double, text: String) {
    #expect(Report.grouped(value) == text)
  }

  @Test func `a report is the same once it was written and read`() throws {
    var report = Report(measurement: "test")
    report.figures = [
      Figure("rate", "rows/s", [3, 1, 2]).target(.median, atLeast: 2),
      Figure("none", "ms", .nan),
    ]
    report.plots = [Self.plot]
    report.line("what", "rate", partner: "bare", bound: "why")
    report.failure = "it broke"
    let machine = Self.machine
    let written = JSONReport([report], on: machine)
    let read = try JSONReport(reading: Data(written.text.utf8))
    #expect(read.text == written.text)
    #expect(read.figures[0].p50 == 2 && read.figures[1].p50 == nil)
    #expect(read.machine == machine && read.plots == [Self.plot])
    #expect(read.lines == written.lines && read.remarks.first?.failure == "it broke")
  }

  @Test func `a report of earlier days can be read`() throws {
    let text = """
      {"figures": [{"measurement": "idle", "name": "share", "unit": "%", "count": 2, "min": 0.1,
        "p50": 0.1, "p99": 0.1, "max": 0.1,
        "targets": [{"statistic": "max", "at_most": 0.5, "at_least": null, "met": true}]}],
       "remarks": []}
      """
    let report = try JSONReport(reading: Data(text.utf8))
    #expect(report.figures.count == 1 && report.lines == nil && report.machine == nil)
  }

  @Test(arguments: [
    // Ratios and bytes from a tenth on, in the direction in which they are worse.
    ("×", 2.0, 2.2, true), ("×", 2.0, 2.19, false), ("×", 2.2, 2.0, false),
    ("B/row", 100, 110, true), ("bytes", 693, 693, false), ("MB", 40, 60, true),
    // Machines differ.
    ("ms", 2, 20, false), ("s", 1, 9, false), ("rows/s", 100_000, 1_000, false),
    ("B", 0, 5, true), ("B", 0, 0, false),
  ])
  func `what got worse`(unit: String, before: Double, now: Double, isWorse: Bool) {
    let comparison = Comparison(
      before: report(Figure("it", unit, before)), now: report(Figure("it", unit, now)))
    #expect(comparison.worse.map(\.name) == (isWorse ? ["it"] : []))
  }

  @Test func `a ratio that is to be high is worse when it falls`() {
    func figure(_ value: Double) -> Figure {
      Figure("speed beside a partner", "×", value).target(.median, atLeast: 2)
    }
    let fell = Comparison(before: report(figure(2)), now: report(figure(1.5)))
    #expect(fell.worse.count == 1 && fell.text.contains("-25 % worse"))
    #expect(Comparison(before: report(figure(1.5)), now: report(figure(2))).worse.isEmpty)
  }

  @Test func `medians stand side by side, also where one is missing`() {
    let comparison = Comparison(
      before: report(Figure("old", "ms", 1), Figure("both", "ms", [1, 2, 3])),
      now: report(Figure("both", "ms", [4, 5, 6]), Figure("new", "ms", 7)))
    #expect(comparison.rows.map(\.name) == ["both", "new"])
    #expect(comparison.rows[0].before == 2 && comparison.rows[0].now == 5)
    #expect(comparison.rows[0].change == 1.5 && comparison.rows[1].change == nil)
    #expect(comparison.text.hasSuffix("nothing that can be compared got worse by a tenth"))
  }

  @Test func `the table of the page`() {
    var report = Report(measurement: "test")
    report.figures = [
      Figure("own", "rows/s", [90_000, 100_000, 120_000]).target(.median, atLeast: 150_000),
      Figure("theirs", "rows/s", 50_000), Figure("ratio", "×", 2).target(.median, atLeast: 2),
      Figure("waits", "ms", (1...100).map(Double.init)).target(.p99, atMost: 60)
        .target(.maximum, atMost: 250),
    ]
    report.line("a", "own", partner: "P", beside: "theirs", ratio: "ratio", bound: "b")
    report.line("c", "waits", bound: "d")
    report.line("e", "own", partner: "Q", beside: "not there", ratio: "nor this", bound: "f")
    report.line("g", "not measured", bound: "h")
    report.failure = "it broke"
    let lines = MarkdownTable(report: JSONReport([report], on: nil)).text.split(separator: "\n")
    #expect(
      lines.dropFirst(2) == [
        "| a | 100,000 rows/s (90,000 to 120,000) | P: 50,000 rows/s | 2 × "
          + "| ≥ 150,000 rows/s: missed, ≥ 2 × | b |",
        "| c | p50 50, p99 99, max 100 ms |  |  | p99 ≤ 60 ms: missed, max ≤ 250 ms | d |",
        "| e | 100,000 rows/s (90,000 to 120,000) | Q: not installed here |  "
          + "| ≥ 150,000 rows/s: missed | f |",
        "Not measured, for it failed: `test`.",
      ])
  }

  @Test func `the table takes the place of the one in the page`() throws {
    var report = Report(measurement: "test")
    report.figures = [Figure("own", "ms", 2)]
    report.line("a", "own", bound: "b")
    let table = MarkdownTable(report: JSONReport([report], on: nil))
    let (start, end) = MarkdownTable.marks
    let page = "# Title\n\n\(start)\n\nold\n\n\(end)\n\nThe rest.\n"
    let placed = try table.placed(in: page)
    #expect(placed == "# Title\n\n\(start)\n\n\(table.text)\n\n\(end)\n\nThe rest.\n")
    #expect(try table.placed(in: placed) == placed)
    #expect(throws: BenchError.self) { try table.placed(in: "\(end)\n\(start)\n") }
  }

  @Test func `columns are as wide as they must be`() {
    #expect(Report.aligned([["a", "1"], ["bcd", "20"]], left: [0]) == ["a     1", "bcd  20"])
  }

  // MARK: Plots

  static let plot = Plot(
    name: "rows", title: "Rows & <more>", x: Plot.Axis(label: "rows", isLogarithmic: true),
    y: Plot.Axis(label: "rows a second", isLogarithmic: true),
    series: [
      Plot.Series(
        name: "one",
        points: [
          Plot.Point(1_000, Samples([40_000, 50_000, 60_000])),
          Plot.Point(100_000, Samples([90_000])),
        ])
    ])

  @Test func `an axis of powers lies around its values`() {
    let scale = PlotScale(around: [300, 45_000], isLogarithmic: true)
    #expect(scale.ticks == [200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000])
    #expect(scale.place(200) == 0 && scale.place(50_000) == 1)
    #expect(abs(scale.place(3_162) - 0.5) < 0.001)
  }

  @Test func `an axis of equal steps begins with nothing`() {
    let scale = PlotScale(around: [30, 88], isLogarithmic: false)
    #expect(scale.ticks == [0, 20, 40, 60, 80, 100])
    #expect(scale.place(50) == 0.5)
    #expect(PlotScale(around: [], isLogarithmic: false).high == 1)
    #expect(PlotScale(around: [0.5], isLogarithmic: true).ticks.count > 1)
    #expect(PlotScale(around: [100], isLogarithmic: true).ticks.contains(100))
  }

  @Test func `measured places have labels`() {
    let scale = PlotScale(through: [8, 2, 4], isLogarithmic: false)
    #expect(scale.ticks == [2, 4, 8] && scale.place(2) == 0 && scale.place(8) == 1)
    #expect(PlotScale(through: [3], isLogarithmic: true).place(3) == 0.5)
  }

  @Test func `a plot is well-formed, and says what its axes are`() throws {
    let svg = Self.plot.svg
    #expect(svg.contains("Rows &amp; &lt;more&gt;") && !svg.contains("<more>"))
    #expect(svg.contains(">rows a second</text>") && svg.contains(">100,000</text>"))
    #expect(svg.contains("prefers-color-scheme:dark"))
    let file = FileManager.default.temporaryDirectory.appending(component: "\(UUID()).svg")
    try Data(svg.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let reader = Process()
    reader.executableURL = URL(filePath: "/usr/bin/python3")
    reader.arguments = ["-c", "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])", file.path]
    try reader.run()
    reader.waitUntilExit()
    #expect(reader.terminationStatus == 0)
  }

  @Test func `a point lies where its value is, with its range`() {
    // The frame is 596 wide from 84 on, and 288 high from 340 upwards; 40,000 to 90,000 lie
    // between the ticks 20,000 and 100,000.
    let svg = Self.plot.svg
    #expect(svg.contains("<circle cx=\"84\" cy=\"176\" r=\"4\""))
    #expect(svg.contains("<circle cx=\"680\" "))
    #expect(svg.contains("stroke-opacity=\".5\" x1=\"84\" x2=\"84\" y1=\"216\""))
  }

  // MARK: The machine

  private static let machine = MachineFacts(
    date: "2026-01-02", commit: "abcdef12+", cores: 2, processor: "P", kernel: "6.1",
    sqlite: "3.40.1", openssl: "OpenSSL 3.0.19", postgresql: nil, rsync: nil)

  @Test func `facts of the machine are read from what it says`() {
    let text = "processor\t: 0\nmodel name\t: Some  Processor: at 3 GHz\nflags\t: a b\n"
    #expect(MachineFacts.processor(in: text) == "Some Processor: at 3 GHz")
    #expect(MachineFacts.processor(in: "").hasPrefix("a processor"))
    #expect(
      MachineFacts.postgresql(in: "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n")
        == "PostgreSQL 15.18")
    #expect(MachineFacts.postgresql(in: "postgres") == nil)
    #expect(Self.machine.text.contains("no PostgreSQL, no sqlite3_rsync"))
  }

  @Test func `bytes of connections are those of the ports that are asked for`() {
    let text = """
      ESTAB 0      0       127.0.0.1:7001     127.0.0.1:50312
      \t cubic wscale:7,7 rto:201 bytes_sent:900 bytes_acked:800 bytes_received:70 segs_out:9
      ESTAB 0      0       127.0.0.1:50312    127.0.0.1:7001
      \t cubic bytes_sent:70 bytes_acked:70 bytes_received:800
      ESTAB 0      0       127.0.0.1:7002     127.0.0.1:50400
      \t cubic bytes_acked:5
      """
    #expect(SocketFacts.bytes(to: ["127.0.0.1:7001"], in: text) == 870)
    #expect(SocketFacts.bytes(to: ["127.0.0.1:7001", "127.0.0.1:7002"], in: text) == 875)
    #expect(SocketFacts.bytes(to: ["127.0.0.1:1"], in: text) == 0)
  }

  // MARK: Rows

  @Test func `a row has the bytes that SQLite stores`() {
    // Header of 6 bytes: its length, then a type for each; the note's takes two bytes.
    let values: [Value] = [
      .blob(Array(repeating: 1, count: 16)), .string("item 7"), .integer(7), .real(0.125),
      .string(String(repeating: "x", count: 80)),
    ]
    #expect(Items.size(of: values) == 7 + 16 + 6 + 1 + 8 + 80)
    #expect(Items.size(of: [.null, .integer(0), .integer(1)]) == 4)
    let sizes: [(Int64, Int)] = [
      (127, 1), (-128, 1), (128, 2), (-129, 2), (32_768, 3), (1 << 23, 4), (1 << 31, 6),
      (1 << 47, 8), (.min, 8), (.max, 8),
    ]
    for (integer, size) in sizes { #expect(Items.size(of: [.integer(integer)]) == 2 + size) }
  }

  @Test func `notes have the length that was asked for`() {
    #expect(Items.noteText.utf8.count == 80)
    let row = Items.row(3, key: [1], noteOf: 400)
    #expect(row.count == 5 && row[4].string?.count == 400)
  }
}
