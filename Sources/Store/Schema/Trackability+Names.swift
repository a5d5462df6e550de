import Replication
import SQLite

extension Trackability {
  /// Refuses names that no peer would read, or that this program would take for one another.
  static func refusalByNames(
    _ schema: TableSchema, alike: String?
  ) -> Trackability? {
    let table = shown(schema.name)
    if schema.name.utf8.count > Limits.name {
      return .refused(
        reason: "the name of table \(table) has \(schema.name.utf8.count) bytes",
        remedy: "Give it one of at most \(Limits.name): ALTER TABLE … RENAME TO ….")
    }
    if let alike {
      return .refused(
        reason: "the names of the tables \(table) and \(shown(alike)) are spelled otherwise, and "
          + "read the same",
        remedy: "Give one of them another name: ALTER TABLE … RENAME TO ….")
    }
    var names = ShapeNames()
    for column in schema.shippedColumns.map({ schema.columns[$0].name }) {
      switch names.take(column) {
      case nil: continue
      case .alike(let other):
        return .refused(
          reason: "the names of the columns \(shown(other)) and \(shown(column)) of \(table) are "
            + "spelled otherwise, and read the same",
          remedy: "Give one of them another name: ALTER TABLE … RENAME COLUMN ….")
      case .tooLong where column.utf8.count > Limits.name:
        return .refused(
          reason: "the name of column \(shown(column)) of \(table) has "
            + "\(column.utf8.count) bytes",
          remedy: "Give it one of at most \(Limits.name): ALTER TABLE … RENAME COLUMN ….")
      case .tooLong:
        return .refused(
          reason: "the names of the columns of \(table) are longer than \(Limits.namesBytes) bytes "
            + "together",
          remedy: "Give them shorter names, or divide the table.")
      case .tooMany:
        return .refused(
          reason: "\(table) has more than \(Limits.columns) columns", remedy: "Divide the table.")
      }
    }
    return nil
  }

  /// Another table of the file whose name differs from this one in how its letters are spelled:
  /// é may be one character, or an e and an accent.
  static func alike(
    _ name: String, on connection: Connection
  ) throws(SQLiteError) -> String? {
    let spellings = ShapeNames.spellings(of: name)
    // Names of ASCII letters alone are not spelled otherwise than others of these.
    let isPlain = name.utf8.allSatisfy { $0 < 0x80 }
    return try connection.rows(
      """
      SELECT name FROM main.sqlite_schema
      WHERE type = 'table' AND (NOT ?1 OR name GLOB '*[^' || char(1) || '-' || char(127) || ']*')
      """, [.integer(isPlain ? 1 : 0)]
    ).lazy.compactMap { $0[0].string }.first { other in
      !isSameName(other, name) && !spellings.isDisjoint(with: ShapeNames.spellings(of: other))
    }
  }

  private static func shown(_ name: String) -> String {
    name.utf8.count > Limits.name ? quoted(name.prefix(40) + "…") : quoted(name)
  }
}
