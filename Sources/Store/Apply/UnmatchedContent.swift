import Replication
import SQLite

/// What came in a merge and cannot be as its author wrote it.
///
/// A content may not give the hash of its version. So are those of a member that has dropped a
/// column, and counts what it held. A member that lies can tell two nodes two contents of one edit
/// in the same way. So they are told to people, and of two contents the one that gives the hash
/// stands.
package struct UnmatchedContent: Sendable, Equatable {
  /// How many came of tables that have lost no column here.
  package var rows = 0
  /// How many were left out: of more tables that the site does not track, or shapes of a key, than
  /// are kept, or with a key that their table cannot have.
  package var leftOut = 0
  /// The authors of edits of which two contents are about, that differ in a column which both have.
  package var doubled: Set<Origin> = []
  package init() {}

  /// Whether tables have lost a column here: then nothing is noted of them.
  fileprivate var explained: [Int64: Bool] = [:]

  mutating func join(_ other: UnmatchedContent) {
    rows += other.rows
    leftOut += other.leftOut
    doubled.formUnion(other.doubled)
  }
}

extension TableContents {
  /// A row has come, or stands, of which its values do not give the hash.
  func noteUnmatched(_ table: ReplicaTable) throws(SQLiteError) {
    if unmatched.explained[table.id] == nil {
      unmatched.explained[table.id] = try !tables.dropped(table.name).isEmpty
    }
    if unmatched.explained[table.id] == false { unmatched.rows += 1 }
  }

  /// The version that stands has come again, in a repair. True if what came is to stand: it gives
  /// the hash, and what stands does not, or neither does and it is the higher one.
  func isBetter(
    _ placement: Placement, than entry: Shelf.Entry?, by author: Origin,
    _ statements: RowStatements
  ) throws(SQLiteError) -> Bool {
    let (isOurs, isTheirs) = (
      statements.rest(in: entry) == 0, placement.isCounted(by: statements)
    )
    guard !isOurs || !isTheirs,
      let row = try connection.row(statements.selectByKey, placement.keyValues)
    else { return false }
    let shown = row.map(Replication.Value.init)
    let known = placement.parts(in: statements).known.filter { column, value in
      column >= placement.shape.keyCount && statements.takes(value, in: column)
    }
    // A default may stand for what was dropped with its column.
    let isApart = known.contains { column, value in
      value != shown[column] && !statements.isSilent(value, in: column)
        && !statements.isSilent(shown[column], in: column)
    }
    if isApart { unmatched.doubled.insert(author) }
    if isOurs || isTheirs { return isTheirs }
    let mine = known.map { (column: $0.column, value: shown[$0.column]) }
    let saysLess = zip(known, mine).contains { theirs, ours in
      theirs.value != ours.value && statements.isSilent(theirs.value, in: theirs.column)
    }
    return !saysLess && statements.sum(known, []).value > statements.sum(mine, []).value
  }
}
