import Foundation
import Glibc

/// All measurements, in the order in which they run.
let measurements = [
  Capture.measurement, Latency.measurement, Reconnect.measurement, Idle.measurement,
  Handshake.measurement, Crowd.measurement, Burst.measurement, Bulk.measurement, Join.measurement,
  CatchUp.measurement, Updates.measurement,
  RowPath.measurement, Heal.measurement, Verdicts.measurement, Whole.measurement, Growth.measurement, Year.measurement,
  Gateway.measurement, Feed.measurement, OfficeServer.measurement,
]

let usage = """
  usage: FlotillaBench [--list] [--quick | --long] [--json] [NAME…]

  Measures what NAME… say, or everything. --quick takes smaller sizes, --long adds cuts of ten
  minutes. The exit status is 1 if a measurement failed; a missed target is no failure.
  """

/// Ends with a message.
func end(_ status: Int32, _ text: String) -> Never {
  FileHandle.standardError.write(Data("\(text)\n".utf8))
  exit(status)
}

let words = Array(CommandLine.arguments.dropFirst())
if words.first == "role", words.count > 1 {
  guard let role = Role(rawValue: words[1]) else { end(2, usage) }
  do {
    try role.run(Array(words.dropFirst(2)))
    exit(0)
  } catch {
    end(1, "\(error)")
  }
}

let (options, names) = (words.filter { $0.hasPrefix("-") }, words.filter { !$0.hasPrefix("-") })
if options.contains("--help") || options.contains("-h") {
  print(usage)
  exit(0)
}
if let unknown = options.first(where: { !["--list", "--quick", "--long", "--json"].contains($0) }) {
  end(2, "\(unknown) is no option\n\(usage)")
}
if let unknown = names.first(where: { name in !measurements.contains { $0.name == name } }) {
  end(2, "there is no measurement \(unknown); see --list")
}
if options.contains("--list") {
  for measurement in measurements { print("\(measurement.name)\t\(measurement.summary)") }
  exit(0)
}

let signals = Leftovers.watch()
let extent: Extent =
  options.contains("--quick") ? .quick : options.contains("--long") ? .long : .usual
let isJSON = options.contains("--json")
var reports: [Report] = []
for measurement in measurements where names.isEmpty || names.contains(measurement.name) {
  let report = measurement.run(extent)
  reports.append(report)
  // Unbuffered, for the next one takes its time.
  if !isJSON { FileHandle.standardOutput.write(Data("\(report.table)\n\n".utf8)) }
}
if isJSON { print(JSONReport(reports).text) }
withExtendedLifetime(signals) {}
exit(reports.contains { $0.failure != nil } ? 1 : 0)
