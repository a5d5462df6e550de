import Replication
import SQLite

/// A tracked table as `flotilla schema` shows it.
package struct TableColumns: Sendable, Equatable {
  package struct Column: Sendable, Equatable {
    package var name: String
    /// The name under which the site knows it.
    package var first: String
  }

  package var table: String
  /// The name under which the site knows it.
  package var first: String
  /// In the order of the table; generated ones are left out, for they do not travel.
  package var columns: [Column]
  /// Values that rows hold for columns which the table does not have.
  package var kept: [KeptColumns]
}

/// Columns by the names that they have here and at the site, and values for which there are none.
package struct ColumnSurvey {
  let file: ReplicaFile
  let tables: Tables
  let shelf: Shelf

  var connection: Connection { file.connection }

  /// The tracked tables that are here.
  package func all() throws(StoreError) -> [TableColumns] {
    let kept = try kept()
    return tables.tracked.compactMap { table in
      guard let schema = table.schema, let statements = table.statements else { return nil }
      let columns = schema.shippedColumns.compactMap { index -> TableColumns.Column? in
        let name = schema.columns[index].name
        return statements.column(here: name).map {
          TableColumns.Column(name: name, first: statements.shape.columns[$0])
        }
      }
      return TableColumns(
        table: table.nameHere, first: table.name, columns: columns,
        kept: kept.filter { $0.table == table.nameHere })
    }
  }

  private func untracked(_ name: String) -> StoreError {
    let all = tables.tracked.filter { !$0.isSettings && $0.isHere }
    let names = all.map { quoted($0.nameHere) }.sorted().joined(separator: ", ")
    return StoreError(
      .table, "\(quoted(name)) is no tracked table of \(file.path)",
      remedy: names.isEmpty ? "No tracked table is here." : "Those that are: \(names)")
  }

  /// The table, and the first name of the column that was called `old`.
  func mapping(
    _ name: String, _ old: String, _ new: String
  ) throws(StoreError) -> (ReplicaTable, first: String) {
    guard let table = tables.table(called: name), table.isTracked, let statements = table.statements
    else { throw untracked(name) }
    let (label, all) = (
      quoted(table.nameHere), statements.names.map(quoted).joined(separator: ", ")
    )
    guard let column = statements.column(here: new) else {
      throw StoreError(
        .table, "\(label) has no column \(quoted(new)) here", remedy: "Its columns: \(all)")
    }
    if statements.column(here: old) != nil {
      throw StoreError(
        .table, "\(label) has both \(quoted(old)) and \(quoted(new)) here",
        remedy: "Copy the values with SQL, and drop the old column on every machine.")
    }
    guard old.utf8.count <= Limits.name else {
      throw StoreError(.table, "a column name has more than \(Limits.name) bytes")
    }
    let settings = try reporting { () throws(SQLiteError) in
      try tables.renames.read(table.name).settings
    }
    let first = settings.first { isSameName($0.key, old) }?.value ?? old
    if let other = statements.column(named: first, at: nil), other != column {
      throw StoreError(
        .table,
        "\(quoted(old)) of \(label) is called \(quoted(statements.names[other])) here already")
    }
    return (table, first)
  }

  /// Lets go of values that are kept for a column which a table does not have; gives the number of
  /// rows.
  ///
  /// Their share of the content hash stays, so the rows keep their versions, and an edit here still
  /// leaves the column as it is where it exists.
  package func letGo(of column: String, in name: String) throws(StoreError) -> Int {
    guard let table = tables.table(called: name), table.isTracked, let statements = table.statements
    else { throw untracked(name) }
    return try file.transaction {
      var lighter: [(Key, Shelf.Entry)] = []
      try eachKept(table) { (key, entry) throws(SQLiteError) in
        let kept = statements.unknown(in: entry)
        let gone = kept.filter { isSameName($0.name, column) }
        guard !gone.isEmpty else { return }
        var (entry, share) = (entry, ContentHash())
        entry.values = kept.filter { !isSameName($0.name, column) }
        entry.standIns.removeAll { statements.columns(for: [$0.name]) == [nil] }
        for (name, value) in gone { share.add(column: ContentHash.column(name), value) }
        entry.rest &+= ContentHash().rest(to: share.value)
        lighter.append((key, entry))
      }
      for (key, entry) in lighter { try shelf.put(entry, table: table.id, key: key) }
      return lighter.count
    }
  }
}
