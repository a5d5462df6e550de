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
    try await database.read { file, standing throws(Problem) in
      try reporting { () throws(SQLiteError) in try TableShape.names(on: file.connection) }
        .filter { standing.right(of: token, to: $0) >= .read }
    }
  }

  /// The tables, and what the client may do there.
  static func readable(
    _ database: GatewayDatabase, for token: AccessToken
  ) async throws(Problem) -> [(shape: TableShape, right: TableRight)] {
    try await database.read { file, standing throws(Problem) in
      try reporting { () throws(SQLiteError) in
        try TableShape.all(on: file.connection) { standing.right(of: token, to: $0) >= .read }
      }.map { ($0, standing.right(of: token, to: $0.name)) }
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
