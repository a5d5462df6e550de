/// Writes a name as an SQL identifier: in double quotes, quotes inside doubled.
package func quoted(_ name: String) -> String {
  "\"" + name.replacing("\"", with: "\"\"") + "\""
}

/// Writes a text as an SQL string literal.
package func literal(_ text: String) -> String {
  "'" + text.replacing("'", with: "''") + "'"
}
