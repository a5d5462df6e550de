import Foundation
import SQLite

/// A node that lacks very many rows: as a newcomer, and after an absence with an application at
/// work beside it.
enum CatchUp {
  static let measurement = Measurement(
    name: "catchup", summary: "a million rows for a newcomer and for one who was away",
    body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let rows = extent.isQuick ? 20_000 : 1_000_000
    let place = try Workplace()
    let first = try BenchReplica("a", in: place)
    let second = try BenchReplica("b", in: place)
    try Connection(path: first.path, mode: .create).execute(Items.schema)
    let syncs = try Disk.syncTimes(in: place.folder, count: 50)
    report.figures.append(Figure("4 KiB and fdatasync on this disk", "ms", syncs))
    try place.role(.insert, first.path, "\(rows)", "10000").wait(within: .seconds(120))
    try takeOver(first, rows, &report)
    try join(first, second, rows, &report)
    try second.run(peer: first.address)
    try waitUntilEqual(first, second)
    try second.stop()
    try insertAway(first, rows, place, &report)
    try comeBack(first, second, rows, place, &report)
    try second.stop()
    try first.stop()
  }

  /// The first replica is made of a file with rows.
  private static func takeOver(_ first: BenchReplica, _ rows: Int, _ report: inout Report) throws {
    let start = Clock.now
    try first.initialise()
    let node = try first.run()
    try first.settle()
    let speed = Double(rows) / (Clock.now - start).seconds
    report.figures += [
      Figure("init: existing rows taken over", "rows/s", speed),
      Figure("init: peak memory of the node", "MiB", ProcessFacts(pid: node.pid).peakMiB),
    ]
  }

  private static func join(
    _ first: BenchReplica, _ second: BenchReplica, _ rows: Int, _ report: inout Report
  ) throws {
    guard let node = first.node else { return }
    let facts = ProcessFacts(pid: node.pid)
    try facts.resetPeak()
    let start = Clock.now
    let ended = try second.join(first)
    let speed = Double(rows) / (Clock.now - start).seconds
    report.figures += [
      Figure("join: rows copied", "rows/s", speed),
      Figure("join: peak memory of the newcomer", "MiB", ended.peakMiB)
        .target(.maximum, atMost: 64),
      Figure("join: peak memory of the inviter", "MiB", facts.peakMiB)
        .target(.maximum, atMost: 64),
    ]
  }

  /// An application fills the first replica while the second is away.
  private static func insertAway(
    _ first: BenchReplica, _ rows: Int, _ place: Workplace, _ report: inout Report
  ) throws {
    let start = Clock.now
    try place.role(.insert, first.path, "\(rows)", "1000").wait(within: .seconds(600))
    let written = Clock.now
    try first.settle()
    report.figures += [
      Figure("away: rows inserted at the peer", "rows/s", Double(rows) / (written - start).seconds),
      Figure("away: folded after the last insert", "s", (Clock.now - written).seconds),
    ]
  }

  /// The second comes back; an application writes to its file all the while.
  private static func comeBack(
    _ first: BenchReplica, _ second: BenchReplica, _ rows: Int, _ place: Workplace,
    _ report: inout Report
  ) throws {
    guard let peer = first.node else { return }
    try ProcessFacts(pid: peer.pid).resetPeak()
    let wanted = try first.frontier(try first.connect())
    let stop = "\(place.folder)/stop"
    let start = Clock.now
    let node = try second.run(peer: first.address)
    let application = try place.role(.share, second.path, stop, "900")
    let reader = try second.connect()
    try Clock.wait("the catch-up", within: .seconds(900), every: .milliseconds(20)) {
      let held = try second.frontier(reader)
      return wanted.allSatisfy { held[$0.key, default: 0] >= $0.value }
    }
    let speed = Double(rows) / (Clock.now - start).seconds
    _ = FileManager.default.createFile(atPath: stop, contents: nil)
    let output = try application.wait(within: .seconds(60)).output
    report.figures += [
      Figure("away: rows caught up beside an application", "rows/s", speed),
      Figure("away: peak memory of the one behind", "MiB", ProcessFacts(pid: node.pid).peakMiB)
        .target(.maximum, atMost: 64),
      Figure("away: peak memory of the peer", "MiB", ProcessFacts(pid: peer.pid).peakMiB)
        .target(.maximum, atMost: 64),
    ]
    report.figures += politeness(output)
    report.line(
      "a program's transaction at a node that catches up with as many rows",
      "politeness: whole transaction",
      bound: "the node's hold of the lock, and the naps of SQLite's busy handler")
    let begin = Clock.now
    try waitUntilEqual(first, second)
    report.figures.append(Figure("away: equal after that", "s", (Clock.now - begin).seconds))
  }

  /// What the application beside the node found; see `ShareRole`.
  private static func politeness(_ output: String) -> [Figure] {
    var values: [Substring: [Double]] = [:]
    for line in output.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count == 2, let value = Double(words[1]) else { continue }
      values[words[0], default: []].append(value / 1e6)
    }
    let (holds, frees) = (values["hold"] ?? [], values["free"] ?? [])
    let free = frees.reduce(0, +)
    return [
      Figure("politeness: writes that failed", "", Double(values["failed"]?.count ?? 0))
        .target(.maximum, atMost: 0),
      Figure("politeness: wait for the lock", "ms", values["lock"] ?? [])
        .target(.maximum, atMost: 250),
      Figure("politeness: whole transaction", "ms", values["commit"] ?? [])
        .target(.p99, atMost: 60).target(.maximum, atMost: 250),
      Figure("politeness: the node's hold of the lock", "ms", holds).target(.maximum, atMost: 50),
      Figure("politeness: share of time free", "%", 100 * free / (free + holds.reduce(0, +)))
        .target(.minimum, atLeast: 50),
    ]
  }

  private static func waitUntilEqual(_ first: BenchReplica, _ second: BenchReplica) throws {
    let (one, two) = (try first.connect(), try second.connect())
    try Clock.wait("equality", within: .seconds(300), every: .milliseconds(20)) {
      try first.frontier(one) == second.frontier(two)
    }
  }
}
