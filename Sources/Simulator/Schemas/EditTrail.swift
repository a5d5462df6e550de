/// What became of every edit, told by marks alone.
struct EditTrail {
  /// A row by its table and its key as SQL shows it.
  typealias Row = String

  /// What replaced a mark in its row: another one, or nothing.
  private enum Successor {
    case mark(String)
    case deleted(Row)
  }

  private struct Place: Hashable {
    var row: Row
    var mark: String
  }

  private var committed: Set<String> = []
  /// By row, too: where a trigger changes a key, a mark goes on in another row.
  private var successors: [Place: [Successor]] = [:]
  private var replaced: Set<String> = []
  /// What programs have put into rows that were not there.
  private var revived: [Row: [String]] = [:]
  /// Where each edit was made.
  private var places: [String: Row] = [:]
  /// Rows that a program has changed while they showed no mark: it was kept for a column whose new
  /// name nobody had looked at.
  private var covered: Set<Row> = []

  /// A program has committed: these rows stood when it began, and those when it ended; the mark of
  /// one that shows none is empty.
  mutating func add(before: [Row: String], after: [Row: String]) {
    for (row, mark) in before where after[row] != mark {
      if mark.isEmpty { covered.insert(row) }
      successors[Place(row: row, mark: mark), default: []]
        .append(after[row].map(Successor.mark) ?? .deleted(row))
      replaced.insert(mark)
    }
    for (row, mark) in after where before[row] != mark && !mark.isEmpty {
      committed.insert(mark)
      places[mark] = row
      if before[row] == nil { revived[row, default: []].append(mark) }
    }
  }

  /// A program has dropped a table: of its edits there, which another one has, nothing is logged
  /// if they lose meanwhile.
  mutating func dropped(_ table: String, _ rows: [Row: String]) {
    for (row, mark) in rows where row.hasPrefix("\(table) ".lowercased()) { replaced.insert(mark) }
  }

  /// A migration may only carry marks along.
  mutating func migrated(before: [Row: String], after: [Row: String]) -> [String] {
    Set(before.values).subtracting(after.values).subtracting([""]).sorted().map {
      "a migration loses \($0)"
    }
  }

  /// What is wrong in the end. Of a delete that has lost there is nothing to log, so where other
  /// things than programs make versions of a row, which have no marks, `asksForDeletes` is false.
  func faults(
    standing: [Row: String], held: Set<String>, deleted: Set<Row>, asksForDeletes: Bool = true
  ) -> [String] {
    let present = Set(standing.values).union(held)
    let lost = committed.filter { mark in
      !present.contains(mark) && !replaced.contains(mark)
        && !(places[mark].map(covered.contains) ?? false)
    }
    let undone = standing.filter { row, mark in
      // A mark that a trigger made may be made twice.
      !mark.isEmpty && !mark.hasSuffix(">")
        && (successors[Place(row: row, mark: mark)] ?? []).contains {
          !isExplained($0, of: row, held, deleted, asksForDeletes)
        }
    }.values
    return lost.sorted().map { "the edit \($0) is nowhere" }
      + undone.sorted().map { "\($0) stands though it was replaced" }
  }

  /// Whether what replaced an edit that stands, or what was made of that, has lost, and a log or a
  /// parked row says so.
  private func isExplained(
    _ successor: Successor, of row: Row, _ held: Set<String>, _ deleted: Set<Row>,
    _ asksForDeletes: Bool
  ) -> Bool {
    var (waiting, known) = ([successor], Set<String>())
    while let successor = waiting.popLast() {
      switch successor {
      case .deleted(let row):
        if !asksForDeletes || deleted.contains(row) { return true }
        // It may have become a row again, which has lost.
        waiting += (revived[row] ?? []).filter { !known.contains($0) }.map(Successor.mark)
      case .mark(let mark):
        if held.contains(mark) || mark.hasSuffix(">") { return true }
        if known.insert(mark).inserted {
          waiting += successors[Place(row: row, mark: mark)] ?? []
        }
      }
    }
    return false
  }
}
