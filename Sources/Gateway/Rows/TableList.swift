import Flotilla
import SQLite

/// The tables that a client may read, with their columns and keys.
enum TableList {
  static func read(
    _ database: GatewayDatabase, for token: AccessToken
  ) async throws(Problem) -> JSON {
    let tables = try await readable(database, for: token)
    return .object(["tables": .array(tables.map { entry($0.shape, $0.right) })])
  }

  static func names(
    _ database: GatewayDatabase, for token: AccessToken
  ) async throws(Problem) -> [String] {
    try await readable(database, for: token).map(\.shape.name)
  }

  /// The tables, and what the client may do there.
  static func readable(
    _ database: GatewayDatabase, for token: AccessToken
  ) async throws(Problem) -> [(shape: TableShape, right: TableRight)] {
    let standing = try await database.standing()
    let shapes = try await database.reader.run { file throws(Problem) in
      try reporting { () throws(SQLiteError) in try TableShape.all(on: file.connection) }
    }
    return shapes.compactMap { shape in
      let right = min(standing.right(to: shape.name), token.right(to: shape.name))
      return right < .read ? nil : (shape, right)
    }
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
