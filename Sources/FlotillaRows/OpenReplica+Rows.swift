import Flotilla

/// Rows as types of one's own: properties are columns, by their names.
extension OpenReplica {
  /// The rows of a query, as they are here.
  public func rows<Row: Decodable>(
    _ type: Row.Type = Row.self, _ query: String, _ values: [SQLValue] = []
  ) async throws(FlotillaError) -> [Row] {
    let changed = ChangedValues()
    let rows = try RowDecoder.values(type, of: try await read(query, values), noting: changed)
    if !changed.isEmpty { try changed.refuse(type, in: try await keys(readBy: query)) }
    return rows
  }

  /// Adds a row. A property that is nil becomes NULL.
  public func save(
    _ row: some Encodable, in table: String
  ) async throws(FlotillaError) -> Receipt {
    try await save(try RowEncoder.row(of: row), in: table)
  }

  /// Sets every column of the row that has the key of this one; there must be such a row.
  public func update(
    _ row: some Encodable, in table: String
  ) async throws(FlotillaError) -> Receipt {
    let (key, values) = try split(
      try RowEncoder.row(of: row), table, key: try await read(keyColumns, [.text(table)]))
    return try await update(table, key: key, set: values)
  }
}

extension Transaction {
  /// The rows of a query, as this transaction sees them.
  public func rows<Row: Decodable>(
    _ type: Row.Type = Row.self, _ query: String, _ values: [SQLValue] = []
  ) throws(FlotillaError) -> [Row] {
    let changed = ChangedValues()
    let rows = try RowDecoder.values(type, of: try run(query, values), noting: changed)
    if !changed.isEmpty { try changed.refuse(type, in: try keys(readBy: query)) }
    return rows
  }

  /// Adds a row. A property that is nil becomes NULL.
  public func save(_ row: some Encodable, in table: String) throws(FlotillaError) {
    try save(try RowEncoder.row(of: row), in: table)
  }

  /// Sets every column of the row that has the key of this one; there must be such a row.
  public func update(_ row: some Encodable, in table: String) throws(FlotillaError) {
    let (key, values) = try split(
      try RowEncoder.row(of: row), table, key: try run(keyColumns, [.text(table)]))
    try update(table, key: key, set: values)
  }
}

private let keyColumns = "SELECT name FROM pragma_table_info(?) WHERE pk > 0"

/// The key of a row, and its other columns.
private func split(
  _ row: [String: SQLValue], _ table: String, key report: SQLReport
) throws(FlotillaError) -> (key: [String: SQLValue], values: [String: SQLValue]) {
  let columns = report.rows.compactMap { row -> String? in
    if case .text(let name)? = row.first { name } else { nil }
  }
  guard !columns.isEmpty else {
    throw FlotillaError(.table, "there is no table \(table) with a PRIMARY KEY")
  }
  let (names, own) = (Set(columns.map { $0.lowercased() }), Set(row.keys.map { $0.lowercased() }))
  if let missing = columns.first(where: { !own.contains($0.lowercased()) }) {
    throw FlotillaError(
      .usage, "the row has no property \(missing), which is in the key of \(table)")
  }
  let key = row.filter { names.contains($0.key.lowercased()) }
  return (key, row.filter { key[$0.key] == nil })
}
