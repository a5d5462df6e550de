import SQLite

/// A trigger of one table that computes a value of another one from what was there: a stock that
/// goes down with each sale, an order's number of lines.
///
/// Where both tables are replicated the totals of two machines replace each other, and neither
/// counts what the other one has: `n = n - 1` at both, from 10, gives 9. A trigger that writes what
/// the row itself says (a log, a time of change) is none.
package struct TotalTrigger: Sendable, Equatable {
  package var name: String
  /// On which table it is, and which one it computes something of.
  package var source: String
  package var target: String
  package var column: String

  /// What the statements of a trigger compute; empty for most.
  static func all(name: String, on source: String, sql: String) -> [TotalTrigger] {
    let text = SQLText(sql)
    guard let statements = DerivedTrigger.statements(text.tokens) else { return [] }
    return statements.compactMap { statement in
      guard let target = DerivedTrigger.target(statement), !isSameName(target, source),
        let column = computed(statement, of: target)
      else { return nil }
      return TotalTrigger(name: name, source: source, target: target, column: column)
    }
  }

  /// The first column that the statement sets to something that is computed.
  private static func computed(
    _ statement: ArraySlice<SQLToken>, of target: String
  ) -> String? {
    guard let set = statement.firstIndex(where: { $0.isWord("SET") }) else { return nil }
    var names = [target]
    if let alias = statement[..<set].firstIndex(where: { $0.isWord("AS") }) {
      names.append(statement[alias + 1].name)
    }
    var start = set + 1
    var depth = 0
    for index in start...statement.endIndex {
      let token = index < statement.endIndex ? statement[index] : nil
      if token?.isSymbol("(") == true { depth += 1 }
      if token?.isSymbol(")") == true { depth -= 1 }
      let isEnd =
        token.map { token in
          depth == 0 && ["WHERE", "FROM", "RETURNING"].contains { token.isWord($0) }
        } ?? true
      guard isEnd || depth == 0 && token?.isSymbol(",") == true else { continue }
      let part = statement[start..<index]
      if let column = part.first, column.kind == .word || column.kind == .quoted,
        isComputed(column.name, of: names, from: part.dropFirst(2))
      {
        return column.name
      }
      if isEnd { return nil }
      start = index + 1
    }
    return nil
  }

  /// Whether the value of a column comes of what stood in it, or of many rows.
  private static func isComputed(
    _ column: String, of names: [String], from value: ArraySlice<SQLToken>
  ) -> Bool {
    // In a query a name alone may be that of another table's column.
    var areQueries: [Bool] = []
    return value.indices.contains { index in
      let token = value[index]
      let next = index + 1 < value.endIndex ? value[index + 1] : nil
      if token.isSymbol("(") { areQueries.append(next?.isWord("SELECT") ?? false) }
      if token.isSymbol(")") { _ = areQueries.popLast() }
      if next?.isSymbol("(") == true { return sums.contains { token.isWord($0) } }
      guard token.kind == .word || token.kind == .quoted, isSameName(token.name, column) else {
        return false
      }
      // NEW.n is what the program wrote; of stock.n and n alone the old value is meant.
      guard index - 2 >= value.startIndex, value[index - 1].isSymbol(".") else {
        return !areQueries.contains(true)
      }
      return names.contains { isSameName($0, value[index - 2].name) }
    }
  }

  private static let sums = ["count", "sum", "total", "avg", "group_concat"]
}
