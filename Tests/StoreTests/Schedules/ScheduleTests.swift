import Replication
import Testing

@testable import Store

/// Random lives of a few replicas in real files; a failure names the command that repeats it.
@Suite struct ScheduleTests {
  @Test(arguments: Seeded.seeds(300))
  func `replicas end equal after any schedule`(seed: UInt64) throws {
    var schedule = try Schedule(seed: seed)
    do {
      try schedule.live(steps: 120 + Int(seed % 4) * 60)
      let isQuiet = try schedule.settle()
      var faults = try Verdict(schedule.nodes.map(\.replica), schedule.tables).faults
      if !isQuiet { faults.append("they never fall silent") }
      if !schedule.byes.isEmpty { faults.append("\(schedule.byes)") }
      faults += try schedule.history.faults + schedule.lost()
      guard !faults.isEmpty else { return }
      Issue.record(
        "\(Self.command(seed))\n\(schedule.tail)\n\(faults.joined(separator: "\n"))")
    } catch {
      Issue.record("\(Self.command(seed))\n\(schedule.tail)\n\(error)")
    }
  }

  static func command(_ seed: UInt64) -> String {
    "repeat with: FLOTILLA_SEED=\(seed) swift test --disable-xctest --filter ScheduleTests"
  }
}

extension Schedule {
  /// The end of the story; all of it if one seed is repeated.
  var tail: String {
    story.suffix(Seeded.seeds(300).count == 1 ? 400 : 6).joined(separator: "\n")
  }

  /// Rows that do not show the newest of all versions that were ever made of them.
  func lost() throws -> [String] {
    var faults: [String] = []
    for node in nodes {
      let versions = try Witness.versions(node.replica, tables)
      for (name, made) in history.newest
      where versions[name].map({ $0.rank < made.version.rank }) ?? true {
        let held = versions[name].map { "\($0.dot)" } ?? "nothing"
        faults.append(
          "\(node.replica.store.nodeName) has \(held) of \(name), not \(made.version.dot)")
      }
    }
    return faults
  }
}
