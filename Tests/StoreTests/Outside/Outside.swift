import Replication
import SQLite

@testable import Store

/// The key of a row in a table, the same on every node.
struct RowName: Hashable {
  var table: String
  var key: Key
}

/// Reads replicas from outside, with plain SQL.
enum Outside {
  typealias Content = [String: SQLite.Value]

  /// Every row of the tables, by its key.
  static func rows(
    _ replica: TestReplica, _ tables: [TestTable]
  ) throws -> [RowName: Content] {
    var rows: [RowName: Content] = [:]
    for table in tables {
      let statement = try replica.application.prepare("SELECT * FROM \(table.name)")
      let names = (0..<statement.columnCount).map(statement.columnName)
      while try statement.step() {
        let content = Dictionary(uniqueKeysWithValues: zip(names, statement.row))
        let key = Key(
          table.key.map { Replication.Value(content[$0.column] ?? .null) },
          collations: table.collations)
        guard let key else { continue }
        rows[RowName(table: table.name, key: key)] = content
      }
    }
    return rows
  }

  /// Every version of the tables, read from the file.
  static func versions(
    _ replica: TestReplica, _ tables: [TestTable]
  ) throws -> [RowName: Version] {
    var versions: [RowName: Version] = [:]
    let statement = try replica.application.prepare(
      """
      SELECT l.name, v.key, o.origin, v.seq, v.stamp, v.hash FROM _flotilla_version AS v
      JOIN _flotilla_local AS l ON l.id = v.tbl JOIN _flotilla_origin AS o ON o.id = v.origin
      """)
    while try statement.step() {
      let name = RowName(table: statement.string(0) ?? "", key: Key(bytes: statement.bytes(1)))
      let dot = Dot(
        Origin(rawValue: UInt64(bitPattern: statement.integer(2))), UInt64(statement.integer(3)))
      versions[name] = Version(
        dot: dot, created: dot, stamp: Stamp(rawValue: statement.integer(4)),
        hash: UInt64(bitPattern: statement.integer(5)), isDeleted: statement.isNull(5))
    }
    return versions
  }
}
