import SQLite

/// Statements about several rows.
extension RowStatements {
  /// Inserts several rows, until one does not fit.
  func insert(_ columns: [Int], rows: Int) -> String {
    let names = columns.map { quoted(self.names[$0]) }.joined(separator: ", ")
    return "INSERT OR FAIL INTO \(table)(\(names))"
      + RowQueue.values(rows: rows, columns.count)
  }

  /// Every column of so many rows by their keys, and which of the keys each has.
  func select(together count: Int) -> String {
    if let lastTogether, lastTogether.count == count { return lastTogether.text }
    let keys = (0..<keyTerms.count).map { "k\($0)" }
    let rows = (0..<count).map { "(\($0)\(String(repeating: ", ?", count: keys.count)))" }
    let names = self.names.map { "t.\(quoted($0))" }.joined(separator: ", ")
    let condition = zip(keyTerms, keys).map { "t.\($0) = asked.\($1)" }
    let text = """
      WITH asked(number, \(keys.joined(separator: ", ")))
      AS (VALUES \(rows.joined(separator: ", ")))
      SELECT \(names), asked.number FROM asked CROSS JOIN \(table) AS t
      WHERE \(condition.joined(separator: " AND "))
      """
    lastTogether = (count, text)
    return text
  }

  /// Every column of the rows whose columns at these places of the shape hold what is bound.
  func select(where places: [Int]) -> String {
    let names = self.names.map(quoted).joined(separator: ", ")
    let condition = places.map { "\(quoted(self.names[$0])) = ?" }.joined(separator: " AND ")
    return "SELECT \(names) FROM \(table) WHERE \(condition)"
  }
}
