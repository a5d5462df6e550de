import Foundation

/// One run of this program: measures, or reads what was measured, and shows it in the form that was
/// asked for.
struct Bench {
  /// All measurements, in the order in which they run.
  static let measurements = [
    Burst.measurement, Apply.measurement, Capture.measurement, Million.measurement,
    Commits.measurement, Latency.measurement, Wire.measurement, Reconnect.measurement,
    CatchUp.measurement, Verdicts.measurement, Curves.measurement, Idle.measurement,
    Handshake.measurement, Crowd.measurement, Bulk.measurement, Join.measurement,
    Updates.measurement, RowPath.measurement, Heal.measurement, Whole.measurement,
    Growth.measurement, Year.measurement, Gateway.measurement, Feed.measurement,
    OfficeServer.measurement,
  ]

  private let options: Options

  init(_ options: Options) { self.options = options }

  /// Gives false if a measurement failed.
  func run() throws -> Bool {
    if options.isHelp {
      print(Options.usage)
      return true
    }
    if options.isList {
      for measurement in Self.measurements {
        print("\(measurement.name)\t\(measurement.summary)")
      }
      return true
    }
    // What cannot be read is told before an hour of measuring.
    let before = try options.compare.map(Self.read)
    if let path = options.page {
      _ = try MarkdownTable(report: JSONReport([], on: nil)).placed(in: Self.text(path))
    }
    let now = try options.from.map(Self.read) ?? measured()
    if let path = options.save { try Self.write(now.text + "\n", to: path) }
    if let folder = options.plots { try draw(now.plots ?? [], in: folder) }
    let table = MarkdownTable(report: now)
    if let path = options.page { try Self.write(table.placed(in: Self.text(path)), to: path) }
    if options.isJSON { print(now.text) }
    if options.isMarkdown { print(table.text) }
    if let before { show(Comparison(before: before, now: now).text) }
    return !now.remarks.contains { $0.failure != nil }
  }

  /// Whether tables for people are on standard output.
  private var isForPeople: Bool { !options.isJSON && !options.isMarkdown }

  private func measured() throws -> JSONReport {
    let machine = try MachineFacts.here()
    show("\(machine.text)\n")
    var reports: [Report] = []
    for measurement in Self.measurements
    where options.names.isEmpty || options.names.contains(measurement.name) {
      let report = measurement.run(options.extent)
      reports.append(report)
      show("\(report.table)\n")
    }
    return JSONReport(reports, on: machine)
  }

  /// Unbuffered, for the next one takes its time; beside another form on standard error.
  private func show(_ text: String) {
    let output = isForPeople ? FileHandle.standardOutput : FileHandle.standardError
    output.write(Data("\(text)\n".utf8))
  }

  private func draw(_ plots: [Plot], in folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for plot in plots { try Self.write(plot.svg, to: "\(folder)/\(plot.name).svg") }
    if plots.isEmpty { show("nothing to draw: `curves` was not measured") }
  }

  private static func read(_ path: String) throws -> JSONReport {
    do {
      return try JSONReport(reading: Data(contentsOf: URL(filePath: path)))
    } catch {
      throw BenchError("\(path) cannot be read as a report: \(error)")
    }
  }

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: URL(filePath: path), encoding: .utf8)
  }

  private static func write(_ text: String, to path: String) throws {
    do {
      try Data(text.utf8).write(to: URL(filePath: path))
    } catch {
      throw BenchError("cannot write \(path): \(error)")
    }
  }
}
