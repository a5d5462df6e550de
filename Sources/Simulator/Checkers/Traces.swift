/// A row of the table whose unique values all nodes claim, without its key.
struct Badge: Hashable, CustomStringConvertible {
  var code: Int64?
  var note: String?

  var description: String { "\(note ?? "NULL") with \(code.map { "\($0)" } ?? "NULL")" }
}

/// What programs have committed in that table, and over what: by content alone, so that it holds
/// for what no version tells of as well.
struct Traces {
  struct Trace: Hashable {
    var row: RowNumber
    var badge: Badge
  }

  /// What one transaction has made of one row.
  struct Write {
    var row: RowNumber
    /// Nil if the row was deleted, or displaced.
    var badge: Badge?
    /// What the program saw of the row before; nil if nothing.
    var over: Badge?
    var node: String
  }

  private(set) var writes: [Write] = []
  /// The rows that anybody has written.
  private(set) var rows: Set<RowNumber> = []
  /// What was seen in a conflict log, and at which nodes.
  private(set) var logged: [Trace: Set<String>] = [:]
  /// What was parked at a node that has made it again: it counts as that one's edit from then on.
  private(set) var madeAgain: [Trace: Set<String>] = [:]

  /// A program has committed: the rows as it reads them now, and as it read them just before.
  mutating func add(_ after: [RowNumber: Badge], over before: [RowNumber: Badge], at node: String) {
    for row in Set(before.keys).union(after.keys).sorted() where before[row] != after[row] {
      writes.append(Write(row: row, badge: after[row], over: before[row], node: node))
    }
  }

  mutating func add(logged traces: [Trace], at node: String) {
    for trace in traces { logged[trace, default: []].insert(node) }
  }

  mutating func add(madeAgain trace: Trace, at node: String) {
    madeAgain[trace, default: []].insert(node)
  }

  /// Takes over what was noted aside.
  mutating func join(_ other: inout Traces) {
    writes += other.writes
    rows.formUnion(other.writes.map(\.row))
    other.writes = []
  }

  /// Some contents, and all that those who wrote them had seen of the row before.
  func lines(of traces: some Sequence<Trace>) -> Set<Trace> {
    var parents: [Trace: [Trace]] = [:]
    for write in writes {
      guard let badge = write.badge, let over = write.over else { continue }
      parents[Trace(row: write.row, badge: badge), default: []]
        .append(Trace(row: write.row, badge: over))
    }
    var (lines, todo) = (Set<Trace>(), Array(traces))
    while let next = todo.popLast() {
      guard lines.insert(next).inserted else { continue }
      todo += parents[next] ?? []
    }
    return lines
  }
}
