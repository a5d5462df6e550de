import Replication
import SQLite

/// The foreign keys between tracked tables, and whether they hold.
struct References {
  private struct Reference {
    var child: String
    var columns: [String]
    var parent: String
    /// The columns of the parent that are referred to.
    var parentColumns: [String]

    /// Rows of the child that refer to nothing; its rows are called `c`.
    var dangling: String {
      let present = columns.map { "c.\(quoted($0)) IS NOT NULL" }
      let matches = zip(parentColumns, columns).map { "p.\(quoted($0)) = c.\(quoted($1))" }
      return """
        SELECT 1 FROM main.\(quoted(child)) AS c WHERE \(present.joined(separator: " AND "))
        AND NOT EXISTS (SELECT 1 FROM main.\(quoted(parent)) AS p
          WHERE \(matches.joined(separator: " AND ")))
        """
    }
  }

  private let connection: Connection
  private let references: [Reference]

  init(_ tables: [ReplicaTable], on connection: Connection) throws(SQLiteError) {
    self.connection = connection
    var references: [Reference] = []
    for table in tables {
      guard let schema = table.schema else { continue }
      var byNumber: [Int64: Reference] = [:]
      // "to" is NULL where the primary key is meant.
      for row in try connection.rows(
        """
        SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?, 'main') ORDER BY id, seq
        """, [.string(schema.name)])
      {
        guard let id = row[0].integer, let name = row[1].string, let column = row[2].string,
          let parent = tables.first(where: { isSameName($0.name, name) })?.schema
        else { continue }
        var reference =
          byNumber[id]
          ?? Reference(child: schema.name, columns: [], parent: parent.name, parentColumns: [])
        let place = reference.columns.count
        guard
          let to = row[3].string
            ?? (place < parent.key.count ? parent.columns[parent.key[place]].name : nil)
        else { continue }
        reference.columns.append(column)
        reference.parentColumns.append(to)
        byNumber[id] = reference
      }
      references += byNumber.sorted { $0.key < $1.key }.map(\.value)
    }
    self.references = references
  }

  /// What other rows refer to in one row: by reference, the values in the columns referred to.
  struct Referred {
    fileprivate var values: [(reference: Int, values: [SQLite.Value])] = []
  }

  func referred(
    of table: ReplicaTable, _ statements: RowStatements, _ key: [SQLite.Value]
  ) throws(SQLiteError) -> Referred {
    var referred = Referred()
    for (number, reference) in references.enumerated()
    where isSameName(reference.parent, table.name) {
      let names = reference.parentColumns.map(quoted).joined(separator: ", ")
      let row = try connection.row(statements.select(names), key)
      if let row, !row.contains(.null) { referred.values.append((number, row)) }
    }
    return referred
  }

  /// Which references lead nowhere, from this row or from those that referred to it.
  func broken(
    _ table: ReplicaTable, _ statements: RowStatements, _ key: [SQLite.Value],
    _ before: Referred
  ) throws(SQLiteError) -> Set<Int> {
    var broken: Set<Int> = []
    for (number, reference) in references.enumerated()
    where isSameName(reference.child, table.name) {
      let sql = "\(reference.dangling) AND \(statements.keyCondition)"
      if try connection.row(sql, key) != nil { broken.insert(number) }
    }
    for (number, values) in before.values {
      let reference = references[number]
      let matches = reference.columns.map { "c.\(quoted($0)) = ?" }
      let sql = "\(reference.dangling) AND \(matches.joined(separator: " AND ")) LIMIT 1"
      if try connection.row(sql, values) != nil { broken.insert(number) }
    }
    return broken
  }

  /// Whether a row of this table can break one.
  func concern(_ table: ReplicaTable) -> Bool {
    references.contains { isSameName($0.child, table.name) || isSameName($0.parent, table.name) }
  }
}
