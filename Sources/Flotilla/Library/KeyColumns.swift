import Replication
import SQLite
import Store

/// The columns by which the rows of some tables are found.
package struct KeyColumns: Sendable {
  /// What SQLite does to a value that is compared with one of a column (datatype3.html, 4.2). It
  /// makes a number or a text of it where that is possible, or leaves it as it is.
  package enum Comparison: Sendable { case number, text, asIs }

  private let columns: [(name: String, comparison: Comparison)]

  init(of tables: Set<String>, on connection: Connection) throws(SQLiteError) {
    var columns: [(name: String, comparison: Comparison)] = []
    for table in tables.sorted() {
      let rows = try connection.rows(
        "SELECT name, type FROM pragma_table_info(?) WHERE pk > 0", [.string(table)])
      for row in rows {
        // ANY is none in a STRICT table alone: here it counts for both.
        for isStrict in [false, true] {
          let affinity = Affinity(declared: row[1].string ?? "", isStrict: isStrict)
          columns.append((row[0].string ?? "", Comparison(affinity)))
        }
      }
    }
    self.columns = columns
  }

  /// How values are compared with those of key columns that are called so.
  package func comparisons(of name: String) -> [Comparison] {
    columns.filter { isSameName($0.name, name) }.map(\.comparison)
  }
}

extension KeyColumns.Comparison {
  /// Whether SQLite takes a text for a number where it compares so.
  package static func isNumber(_ text: String) -> Bool {
    KeyAffinity.isNumber(Array(text.utf8))
  }

  fileprivate init(_ affinity: Affinity) {
    self =
      switch affinity {
      case .numeric, .integer, .real: .number
      case .text: .text
      case .blob: .asIs
      }
  }
}

extension OpenReplica {
  /// The keys of the tables that a query reads.
  package func keys(readBy query: String) async throws(FlotillaError) -> KeyColumns {
    try await replica.keys(readBy: query)
  }
}

extension Replica {
  fileprivate func keys(readBy query: String) async throws(FlotillaError) -> KeyColumns {
    let replica = self
    return try await offPool { () throws(FlotillaError) in
      do throws(SQLiteError) {
        let connection = try Connection(path: replica.sidecar.database, mode: .readOnly)
        connection.setBusyTimeout(milliseconds: Int(Self.lockPatience.milliseconds))
        return try KeyColumns(of: try connection.tables(readBy: query), on: connection)
      } catch {
        throw replica.statementError(error)
      }
    }
  }
}

extension Connection {
  /// The tables that a query reads, itself or through views.
  func tables(readBy query: String) throws(SQLiteError) -> Set<String> {
    var found: Set<String> = []
    setAuthorizer { access, _ in
      if case .read(let table, _, _) = access { found.insert(table) }
      return true
    }
    defer { setAuthorizer(nil) }
    _ = try prepare(query)
    return found
  }
}
