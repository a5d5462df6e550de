import SQLite
import Store

/// Values that a row claims and another one has.
extension Hindrance {
  /// The row that has a unique value already.
  func taken(
    _ table: String, _ key: [String: SQLValue], _ row: [String: SQLValue]
  ) throws(SQLiteError) -> String? {
    for index in try uniqueIndexes(of: table) {
      guard let claimed = try claimed(by: row, in: index) else { continue }
      let terms = index.terms.map { "\($0.sql) = ? COLLATE \(quoted($0.collation))" }
      let condition = (terms + index.conditions).joined(separator: " AND ")
      if let found = try other(table, key, condition, claimed) {
        return "UNIQUE \(index.words): taken by row \(found)"
      }
    }
    return nil
  }

  /// A unique index as SQL over the columns of its table.
  struct Index {
    var table: String
    var terms: [(sql: String, words: String, collation: String)]
    /// The condition of a partial index.
    var predicate: String?
    /// The columns that it looks at.
    var mentions: [String]

    var conditions: [String] { predicate.map { ["(\($0))"] } ?? [] }

    var words: String {
      terms.map(\.words).joined(separator: ", ") + (predicate.map { " WHERE \($0)" } ?? "")
    }

    init(_ index: UniqueIndex, of schema: TableSchema) {
      table = schema.name
      predicate = index.predicate
      var mentions = index.predicateMentions
      terms = index.terms.map { term in
        switch term.source {
        case .column(let column):
          mentions.append(column)
          let name = schema.columns[column].name
          return (quoted(name), name, term.collation)
        case .expression(let sql, let others):
          mentions += others
          return ("(\(sql))", sql, term.collation)
        }
      }
      self.mentions = Set(mentions).map { schema.columns[$0].name }.sorted()
    }
  }

  /// None if the definition of the table needs what only its program has: nothing can be told then.
  private func uniqueIndexes(of table: String) throws(SQLiteError) -> [Index] {
    if let known = uniqueIndexes[table] { return known }
    var found: [Index] = []
    do throws(StoreError) {
      if let schema = try TableSchema.read(table, on: connection) {
        found = schema.uniqueIndexes.filter { !$0.predicateMentionsRowID }
          .map { Index($0, of: schema) }
      }
    } catch {
      guard error.code == .schema else {
        throw error.cause ?? SQLiteError(code: 1, message: error.message)
      }
    }
    uniqueIndexes[table] = found
    return found
  }

  /// What the row would have in an index; nil if it would not be in it, or claims nothing there.
  private func claimed(
    by row: [String: SQLValue], in index: Index
  ) throws(SQLiteError) -> [SQLite.Value]? {
    let values = index.mentions.compactMap { row[$0]?.stored }
    guard values.count == index.mentions.count else { return nil }
    let terms = (index.terms.map(\.sql) + index.conditions).joined(separator: ", ")
    let found = try connection.row("SELECT \(terms)\(candidate(index))", values) ?? []
    let claimed = found.prefix(index.terms.count)
    let isIn = found.dropFirst(index.terms.count).allSatisfy { ($0.integer ?? 0) != 0 }
    return isIn && !claimed.contains(.null) ? Array(claimed) : nil
  }

  /// The row as a subquery. The columns of an empty SELECT go first: from them SQLite takes what
  /// the columns compare by.
  private func candidate(_ index: Index) -> String {
    guard !index.mentions.isEmpty else { return "" }
    let columns = index.mentions.map(quoted).map { "\($0) AS \($0)" }.joined(separator: ", ")
    let values = index.mentions.map { _ in "?" }.joined(separator: ", ")
    return " FROM (SELECT \(columns) FROM main.\(quoted(index.table)) WHERE 0 "
      + "UNION ALL SELECT \(values) LIMIT 1)"
  }
}
