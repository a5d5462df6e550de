import SQLite
import Store

/// An INSERT of a row that a person can edit: `INSERT INTO "t"("id") VALUES ('a');`.
package func insertion(of row: [String: SQLValue], into table: String) -> String {
  let columns = row.sorted { $0.key < $1.key }
  let names = columns.map { quoted($0.key) }.joined(separator: ", ")
  let values = columns.map { literal($0.value) }.joined(separator: ", ")
  return "INSERT INTO \(quoted(table))(\(names)) VALUES (\(values));"
}

/// The same where the row may be there: `… ON CONFLICT("id") DO UPDATE SET "v" = excluded."v";`.
/// Of a table that is replicated no more the columns of the key are not known.
package func writing(
  of row: [String: SQLValue], key: [String], into table: String
) -> String {
  guard key.allSatisfy({ name in row.keys.contains { isSameName($0, name) } })
  else { return insertion(of: row, into: table) }
  let others = row.keys.sorted().filter { name in !key.contains { isSameName($0, name) } }
  let settings = others.map { "\(quoted($0)) = excluded.\(quoted($0))" }.joined(separator: ", ")
  let action = others.isEmpty ? "NOTHING" : "UPDATE SET \(settings)"
  return insertion(of: row, into: table).dropLast()
    + " ON CONFLICT(\(key.map(quoted).joined(separator: ", "))) DO \(action);"
}

/// A DELETE of a row by its key: `DELETE FROM "t" WHERE "id" = 'a';`.
package func deletion(of key: [String: SQLValue], from table: String) -> String {
  let terms = key.sorted { $0.key < $1.key }.map { "\(quoted($0.key)) = \(literal($0.value))" }
  return "DELETE FROM \(quoted(table)) WHERE \(terms.joined(separator: " AND "));"
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
