/// What became of every edit, told by marks alone.
struct EditTrail {
  /// A row by its table and its key as SQL shows it.
  typealias Row = String

  /// What replaced a mark in its row: another one, or nothing.
  private enum Successor {
    case mark(String)
    case deleted(Row)
  }

  private var committed: Set<String> = []
  private var successors: [String: [Successor]] = [:]

  /// A program has committed: these rows stood when it began, and those when it ended.
  mutating func add(before: [Row: String], after: [Row: String]) {
    for (row, mark) in before where after[row] != mark {
      successors[mark, default: []].append(after[row].map(Successor.mark) ?? .deleted(row))
    }
    for (row, mark) in after where before[row] != mark { committed.insert(mark) }
  }

  /// A migration may only carry marks along.
  mutating func migrated(before: [Row: String], after: [Row: String]) -> [String] {
    Set(before.values).subtracting(after.values).sorted().map { "a migration loses \($0)" }
  }

  /// What is wrong in the end.
  func faults(standing: [Row: String], held: Set<String>, deleted: Set<Row>) -> [String] {
    let present = Set(standing.values).union(held)
    let lost = committed.filter { !present.contains($0) && successors[$0] == nil }
    let undone = Set(standing.values).filter { mark in
      // A mark that a trigger made may be made twice.
      !mark.hasSuffix(">") && (successors[mark] ?? []).contains { !isExplained($0, held, deleted) }
    }
    return lost.sorted().map { "the edit \($0) is nowhere" }
      + undone.sorted().map { "\($0) stands though it was replaced" }
  }

  /// Whether what replaced an edit that stands has lost, and a log says so.
  private func isExplained(
    _ successor: Successor, _ held: Set<String>, _ deleted: Set<Row>
  ) -> Bool {
    switch successor {
    case .deleted(let row): return deleted.contains(row)
    case .mark(let mark):
      if held.contains(mark) || mark.hasSuffix(">") { return true }
      guard let next = successors[mark] else { return false }
      return next.allSatisfy { isExplained($0, held, deleted) }
    }
  }
}
