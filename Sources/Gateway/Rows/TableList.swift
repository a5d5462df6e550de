import Flotilla
import SQLite

/// The tables that a client may read, with their columns and keys.
enum TableList {
  static func read(
    _ database: GatewayDatabase, for token: AccessToken
  ) async throws(Problem) -> JSON {
    let standing = try await database.standing()
    let shapes = try await database.reader.run { file throws(Problem) in
      try reporting { () throws(SQLiteError) in try TableShape.all(on: file.connection) }
    }
    let entries = shapes.compactMap { shape -> JSON? in
      let right = min(standing.right(to: shape.name), token.right(to: shape.name))
      return right < .read ? nil : entry(shape, right)
    }
    return .object(["tables": .array(entries)])
  }

  private static func entry(_ shape: TableShape, _ right: TableRight) -> JSON {
    .object([
      "name": .text(shape.name), "right": .text(right.rawValue),
      "key": .array(shape.keyColumns.map { .text($0.name) }),
      "columns": .array(
        shape.columns.map { column in
          .object([
            "name": .text(column.name), "typed": .bool(!column.isUntyped),
            "computed": .bool(column.isGenerated),
          ])
        }),
    ])
  }
}

extension TableShape {
  /// All replicated tables, by name.
  static func all(on connection: Connection) throws(SQLiteError) -> [TableShape] {
    let names = try connection.rows(
      """
      SELECT name FROM main.sqlite_schema
      WHERE type = 'table' AND name NOT GLOB '_flotilla_*' ORDER BY name COLLATE NOCASE
      """, [])
    var shapes: [TableShape] = []
    for name in names {
      if let shape = try read(name[0].string ?? "", on: connection) { shapes.append(shape) }
    }
    return shapes
  }
}
