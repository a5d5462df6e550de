import Replication
import SQLite

/// Values of one table that its columns do not show as they came, by what is in the way.
package struct KeptColumns: Sendable, Equatable {
  package enum Fate: Sendable, Equatable {
    /// This replica never had such columns.
    case notHereYet
    /// It had them: they were dropped or renamed here.
    case dropped
    /// The columns are here. They are of another type.
    case shownOtherwise
    /// The columns are here. They show a default for NULL, which they do not take, or a number in
    /// the form of their type.
    case inItsForm
    /// The values are not known here, or were let go: only their share of the hash is kept.
    case letGo
  }

  package var table: String
  package var fate: Fate
  /// In the order of their names, which are those of the site where the columns are not here; empty
  /// once they are let go.
  package var columns: [String]
  package var rows: Int
}

extension ColumnSurvey {
  /// What is kept beside rows that stand in their tables.
  package func kept() throws(StoreError) -> [KeptColumns] {
    var kept: [KeptColumns] = []
    for table in tables.tracked {
      guard let statements = table.statements else { continue }
      let dropped = try reporting { () throws(SQLiteError) in try tables.dropped(table.name) }
      var found: [(fate: KeptColumns.Fate, columns: Set<String>, rows: Int)] = [
        (.notHereYet, [], 0), (.dropped, [], 0), (.shownOtherwise, [], 0),
        (.inItsForm, [], 0), (.letGo, [], 0),
      ]
      try reporting { () throws(SQLiteError) in
        try eachKept(table) { (_, entry) throws(SQLiteError) in
          let names = statements.unknown(in: entry).map(\.name)
          let isDropped = { dropped.contains(ContentHash.column($0)) }
          let columns = { (standIns: [StandIn]) in
            statements.columns(for: standIns.map(\.name))
              .compactMap { $0.map { statements.names[$0] } }
          }
          let parts = [
            names.filter { !isDropped($0) }, names.filter(isDropped),
            columns(entry.standIns.filter { !$0.isShown && !$0.saysAll }),
            columns(entry.standIns.filter { !$0.isShown && $0.saysAll }),
          ]
          for (index, part) in parts.enumerated() where !part.isEmpty {
            found[index].columns.formUnion(part)
            found[index].rows += 1
          }
          if names.isEmpty, entry.rest != 0 { found[4].rows += 1 }
        }
      }
      for (fate, columns, rows) in found where rows > 0 {
        kept.append(
          KeptColumns(table: table.nameHere, fate: fate, columns: columns.sorted(), rows: rows))
      }
    }
    return kept
  }

  /// Rows of which not all values are known here, as a column was dropped: so many after one of
  /// them. Where the column is here again, others may have them.
  package func incompleteRows(
    after last: RowName?, limit: Int = 16 * Limits.wantedRows
  ) throws(StoreError) -> [RowName] {
    try reporting { () throws(SQLiteError) in
      let place = last.flatMap { name in tables.table(name.table).map { ($0.id, name.key) } }
      return try connection.with(
        """
        SELECT tbl, key, row FROM _flotilla_shelf
        WHERE why = 'columns' AND (tbl, key) > (?, ?) ORDER BY tbl, key
        """, [.integer(place?.0 ?? -1), .blob(place?.1 ?? [])]
      ) { (statement) throws(SQLiteError) in
        var rows: [RowName] = []
        while rows.count < limit, try statement.step() {
          guard let table = tables.byID[statement.integer(0)], table.isTracked,
            let entry = Shelf.decode(statement.bytes(2), .columns), entry.rest != 0
          else { continue }
          rows.append(RowName(table: table.name, key: statement.bytes(1)))
        }
        return rows
      }
    }
  }

  /// Goes through the rows of a table that have something beside them.
  func eachKept(
    _ table: ReplicaTable, _ body: (Key, Shelf.Entry) throws(SQLiteError) -> Void
  ) throws(SQLiteError) {
    try connection.with(
      "SELECT key, row FROM _flotilla_shelf WHERE tbl = ? AND why = 'columns'",
      [.integer(table.id)]
    ) { (statement) throws(SQLiteError) in
      while try statement.step() {
        guard let entry = Shelf.decode(statement.bytes(1), .columns) else { continue }
        try body(Key(bytes: statement.bytes(0)), entry)
      }
    }
  }
}
