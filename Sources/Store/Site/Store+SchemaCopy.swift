import Replication
import SQLite

/// The schema that a first copy starts from.
extension Store {
  /// Every object of the schema that is the application's, tables first.
  package func schemaObjects() throws(StoreError) -> [SchemaObject] {
    let rows = try reporting { () throws(SQLiteError) in
      try connection.rows(
        """
        SELECT s.type, s.name, s.sql FROM main.sqlite_schema AS s
        LEFT JOIN pragma_table_list AS l ON l.schema = 'main' AND l.name = s.name
        WHERE s.sql IS NOT NULL AND coalesce(l.type, '') <> 'shadow'
        ORDER BY s.type = 'trigger', s.type = 'view', s.type = 'index', s.rowid
        """)
    }
    return rows.compactMap { row in
      guard let name = row[1].string, !TableSchema.isReserved(name), let sql = row[2].string
      else { return nil }
      let kind: SchemaObject.Kind? =
        switch row[0].string {
        case "table": .table
        case "index": .index
        case "view": .view
        case "trigger": .trigger
        default: nil
        }
      return kind.map { SchemaObject(kind: $0, name: name, sql: sql) }
    }
  }

  /// Creates what is missing here, in the open transaction; gives a remark for each object that
  /// cannot be made.
  ///
  /// This is the one place where SQL from another node runs: on joining, from the member whose
  /// code the operator has typed. Each text must be a single CREATE statement.
  static func create(
    _ objects: [SchemaObject], on connection: Connection
  ) throws(SQLiteError) -> [String] {
    var remarks: [String] = []
    for object in objects {
      let exists = try connection.row(
        "SELECT 1 FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE",
        [.string(object.name)])
      guard exists == nil, !TableSchema.isReserved(object.name) else { continue }
      guard SQLText(object.sql).isStoredObject else {
        remarks.append("\(object.name) was left out: it is no CREATE statement as stored")
        continue
      }
      do throws(SQLiteError) {
        _ = try connection.prepare(object.sql).step()
      } catch {
        // A full disk says nothing about the object, and may have ended the transaction.
        guard error.isRefusal else { throw error }
        remarks.append("\(object.name) was left out: \(error.message)")
      }
    }
    return remarks
  }
}

extension SQLiteError {
  /// The statement itself is at fault: it is wrong, breaks a constraint or is not allowed.
  fileprivate var isRefusal: Bool { primary == 1 || primary == 23 || isConstraint }
}
