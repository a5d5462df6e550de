import Flotilla
import Mirror

/// Rows that do not stand where they should: parked ones, and those that a mirror holds. JSON: that
/// of `conflicts`, and `held:[{table, key, direction, reason, at}]`.
struct ParkedList: Encodable {
  private let conflicts: [ConflictReport.Conflict]
  private let parked: [ConflictReport.Parked]
  private let now: String
  private let keeps: ConflictReport.Bounds
  private let gone: Int
  /// The latest of those that fit on one side only.
  let held: [MirrorReport.Held]

  init(_ report: ConflictReport, _ mirror: MirrorReport?, table: String?) {
    (conflicts, parked) = (report.conflicts, report.parked)
    (now, keeps, gone) = (report.now, report.keeps, report.gone)
    held = (mirror?.held ?? []).filter { row in
      table.map { $0.lowercased() == row.table.lowercased() } ?? true
    }
  }
}
