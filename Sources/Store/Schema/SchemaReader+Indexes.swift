import SQLite

extension SchemaReader {
  /// The column (negative for an expression) and collation of each term of an index.
  func indexTerms(
    _ name: String
  ) throws(SQLiteError) -> [(column: Int, collation: String)] {
    let rows = try connection.rows(
      "SELECT cid, coll FROM pragma_index_xinfo(?, 'main') WHERE key = 1 ORDER BY seqno",
      [.string(name)])
    return rows.map { (Int($0[0].integer ?? -2), ($0[1].string ?? "BINARY").uppercased()) }
  }

  /// The columns come from PRAGMAs; expressions and condition stand in the stored SQL only.
  func uniqueIndex(
    _ name: String, sql: String?, _ columns: [Column]
  ) throws(SQLiteError) -> UniqueIndex {
    let names = columns.map(\.name)
    let text = SQLText(sql ?? "")
    let inside = text.parenthesised()
    let parts = inside.map(text.parts) ?? []
    let terms = try indexTerms(name).enumerated().map {
      (position, term) throws(SQLiteError) in
      if term.column >= 0 {
        return UniqueIndex.Term(source: .column(term.column), collation: term.collation)
      }
      guard position < parts.count, !parts[position].isEmpty else {
        throw SQLiteError(code: 1, message: "index \(quoted(name)) cannot be read")
      }
      var part = parts[position]
      let last = text.tokens[part.upperBound - 1]
      if last.isWord("ASC") || last.isWord("DESC") { part = part.dropLast(1) }
      return UniqueIndex.Term(
        source: .expression(
          text.text(part, columns: names), mentions: indices(of: text.mentions(in: part), in: names)
        ),
        collation: term.collation)
    }
    // After the closing parenthesis stands WHERE, or nothing.
    let end = text.tokens.count
    let condition = inside.flatMap { $0.upperBound + 2 < end ? $0.upperBound + 2..<end : nil }
    let mentions = condition.map(text.mentions) ?? []
    return UniqueIndex(
      name: name, terms: terms,
      predicate: condition.map { text.text($0, columns: names + rowIDNames) },
      predicateMentions: indices(of: mentions, in: names),
      predicateMentionsRowID: mentions.contains { mention in
        rowIDNames.contains { isSameName($0, mention) }
          && !names.contains { isSameName($0, mention) }
      })
  }
}
