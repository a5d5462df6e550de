import SQLite

/// An INSERT of a row that a person can edit: `INSERT INTO "t"("id") VALUES ('a');`.
package func insertion(of row: [String: SQLValue], into table: String) -> String {
  let columns = row.sorted { $0.key < $1.key }
  let names = columns.map { quoted($0.key) }.joined(separator: ", ")
  let values = columns.map { literal($0.value) }.joined(separator: ", ")
  return "INSERT INTO \(quoted(table))(\(names)) VALUES (\(values));"
}

private func literal(_ value: SQLValue) -> String {
  switch value {
  case .null: "NULL"
  case .integer(let number): "\(number)"
  case .real(let number): SQLite.literal(number)
  case .text(let text) where text.utf8.contains(0):
    "CAST(\(SQLite.literal(Array(text.utf8))) AS TEXT)"
  case .text(let text): SQLite.literal(text)
  case .blob(let bytes): SQLite.literal(bytes)
  case .malformedText(let bytes): "CAST(\(SQLite.literal(bytes)) AS TEXT)"
  }
}
