import Replication
import SQLite

/// The shapes of key in which rows of each table have come, and which of them leads.
///
/// Each shape has rows and a number of its own, as if it were a table of its own: the one of the
/// table that is here has the table's name in `_flotilla_local`, each other one a name that no
/// table can have.
final class KeyShapes {
  struct Known {
    /// The local number of the rows of this shape.
    let table: Int64
    let shape: KeyShape
    var generation: UInt64
  }

  /// How the numbers of rows of another shape than the table's are called in `_flotilla_local`.
  static let prefix = "_flotilla_held_"
  /// Of rows that a query gives by their number in `tbl`: those that are of no other shape.
  static let isHere =
    "tbl NOT IN (SELECT id FROM main._flotilla_local WHERE name GLOB '\(prefix)*')"

  private let connection: Connection
  private var byName: [String: [Known]] = [:]
  private var names: [Int64: String] = [:]

  init(_ connection: Connection) { self.connection = connection }

  func reload() throws(SQLiteError) {
    (byName, names) = ([:], [:])
    guard try Layout.hasTable("_flotilla_shape", on: connection) else { return }
    for row in try connection.rows("SELECT tbl, name, shape, generation FROM _flotilla_shape") {
      guard let table = row[0].integer, let name = row[1].string,
        let shape = row[2].blob.flatMap({ KeyShape(bytes: $0) })
      else { continue }
      let known = Known(
        table: table, shape: shape, generation: UInt64(clamping: row[3].integer ?? 0))
      byName[folded(name), default: []].append(known)
      names[table] = name
    }
  }

  func known(_ name: String) -> [Known] { byName[folded(name)] ?? [] }

  func known(_ table: Int64) -> Known? {
    names[table].flatMap { known($0).first { $0.table == table } }
  }

  /// The table whose rows have this number.
  func name(of table: Int64) -> String? { names[table] }

  /// The rows whose shape leads: the one that was made last, as far as is known here. They alone
  /// count in the digest, so that it is the same on nodes before a migration and after it.
  func leading(_ name: String) -> Int64? {
    known(name).max {
      ($0.generation, $0.shape.fingerprint) < ($1.generation, $1.shape.fingerprint)
    }?.table
  }

  /// Remembers the shape of some rows.
  func put(_ known: Known, of name: String) throws(SQLiteError) {
    try connection.run(
      """
      INSERT INTO _flotilla_shape(tbl, name, shape, generation) VALUES (?, ?, ?, ?)
      ON CONFLICT(tbl) DO UPDATE SET shape = excluded.shape, generation = excluded.generation
      """,
      [
        .integer(known.table), .string(name), .blob(known.shape.bytes),
        .integer(Int64(clamping: known.generation)),
      ])
    var all = self.known(name).filter { $0.table != known.table }
    all.append(known)
    byName[folded(name)] = all
    names[known.table] = name
  }

  func remove(_ table: Int64) throws(SQLiteError) {
    try connection.run("DELETE FROM _flotilla_shape WHERE tbl = ?", [.integer(table)])
    guard let name = names.removeValue(forKey: table) else { return }
    byName[folded(name)]?.removeAll { $0.table == table }
  }
}

extension KeyAffinity {
  init(_ affinity: Affinity) {
    self =
      switch affinity {
      case .text: .text
      case .numeric: .numeric
      case .integer: .integer
      case .real: .real
      case .blob: .none
      }
  }
}
