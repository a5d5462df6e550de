import SQLite

/// One token of SQL: what it is and which bytes it covers.
struct SQLToken: Equatable {
  enum Kind: Equatable {
    /// A keyword or a bare identifier.
    case word
    /// An identifier in "", [] or ``.
    case quoted
    case string
    case blob
    case number
    /// One byte of punctuation.
    case symbol
  }

  let kind: Kind
  let bytes: Range<Int>
  /// The bytes as text, with quotes removed from identifiers and strings.
  let name: String

  func isWord(_ keyword: String) -> Bool { kind == .word && isSameName(name, keyword) }
  func isSymbol(_ symbol: String) -> Bool { kind == .symbol && name == symbol }
}

/// A stored SQL text cut into tokens, to find the parts that no PRAGMA tells.
///
/// It knows the words of SQL, not its grammar: what it is asked for (the terms and the condition of
/// an index, the expression of a generated column) can be found by counting parentheses.
struct SQLText {
  private let bytes: [UInt8]
  let tokens: [SQLToken]

  init(_ sql: String) {
    bytes = Array(sql.utf8)
    var reader = SQLReader(bytes: bytes)
    var tokens: [SQLToken] = []
    while let token = reader.next() { tokens.append(token) }
    self.tokens = tokens
  }

  /// The text of `range` with names in double quotes that are no columns as what they mean: text.
  ///
  /// "If a keyword in double quotes … is used in a context where it cannot be resolved to an
  /// identifier but where a string literal is allowed, then the token is understood to be a string
  /// literal" (sqlite.org/lang_keywords.html); a connection may have that switched off.
  func text(_ range: Range<Int>, columns: [String]) -> String {
    var text: [UInt8] = []
    var position = range.isEmpty ? 0 : tokens[range.lowerBound].bytes.lowerBound
    for index in range {
      let token = tokens[index]
      text += bytes[position..<token.bytes.lowerBound]
      position = token.bytes.upperBound
      let isCall = index + 1 < range.upperBound && tokens[index + 1].isSymbol("(")
      let isText =
        token.kind == .quoted && bytes[token.bytes.lowerBound] == UInt8(ascii: "\"") && !isCall
        && !columns.contains { isSameName($0, token.name) }
      text += isText ? Array(literal(token.name).utf8) : Array(bytes[token.bytes])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The text of `range` as it is written.
  func raw(_ range: Range<Int>) -> String {
    guard let first = range.first, let last = range.last else { return "" }
    return String(
      decoding: bytes[tokens[first].bytes.lowerBound..<tokens[last].bytes.upperBound],
      as: UTF8.self)
  }

  /// The tokens inside the first parentheses at or after `start`.
  func parenthesised(from start: Int = 0) -> Range<Int>? {
    guard let open = tokens[start...].firstIndex(where: { $0.isSymbol("(") }) else { return nil }
    var depth = 0
    for index in open..<tokens.count {
      if tokens[index].isSymbol("(") { depth += 1 }
      if tokens[index].isSymbol(")") { depth -= 1 }
      if depth == 0 { return open + 1..<index }
    }
    return nil
  }

  /// The parts of `range` between commas that stand in no parentheses.
  func parts(of range: Range<Int>) -> [Range<Int>] {
    var parts: [Range<Int>] = []
    var depth = 0
    var start = range.lowerBound
    for index in range {
      if tokens[index].isSymbol("(") { depth += 1 }
      if tokens[index].isSymbol(")") { depth -= 1 }
      if depth == 0, tokens[index].isSymbol(",") {
        parts.append(start..<index)
        start = index + 1
      }
    }
    parts.append(start..<range.upperBound)
    return parts
  }

  /// The names in `range` that may be columns: words and quoted names, but no function's name.
  func mentions(in range: Range<Int>) -> [String] {
    range.compactMap { index in
      let token = tokens[index]
      guard token.kind == .word || token.kind == .quoted else { return nil }
      let isCall = index + 1 < range.upperBound && tokens[index + 1].isSymbol("(")
      return token.kind == .word && isCall ? nil : token.name
    }
  }

  /// The collations that are named anywhere in the text.
  var collations: [String] {
    tokens.indices.dropLast().compactMap { index in
      tokens[index].isWord("COLLATE") ? tokens[index + 1].name : nil
    }
  }

  /// True for one object's text as SQLite stores it: no TEMP, no schema's name, no other statement.
  ///
  /// "The text … is normalized": tables have lost a query that filled them
  /// (sqlite.org/schematab.html), so a table with one is none that a replica has sent.
  var isStoredObject: Bool {
    guard tokens.first?.isWord("CREATE") == true else { return false }
    let kinds = [
      ["TABLE"], ["VIRTUAL", "TABLE"], ["INDEX"], ["UNIQUE", "INDEX"], ["VIEW"], ["TRIGGER"],
    ]
    let said = tokens.dropFirst()
    let kind = kinds.first { $0.count < said.count && zip($0, said).allSatisfy { $1.isWord($0) } }
    guard let kind, tokens.count > kind.count + 2 else { return false }
    let (name, next) = (tokens[kind.count + 1], tokens[kind.count + 2])
    if kind == ["TABLE"] { return next.isSymbol("(") }
    return !next.isSymbol(".") && !(name.isWord("IF") && next.isWord("NOT"))
  }

  /// True if a trigger with this text may abandon the triggers that run after it.
  var raisesIgnore: Bool {
    tokens.indices.dropLast(2).contains { index in
      tokens[index].isWord("RAISE") && tokens[index + 2].isWord("IGNORE")
    }
  }
}

/// True if SQLite takes both for one name: it folds the case of ASCII letters and nothing else.
///
/// Not `==` of `String`, for which two Unicode spellings of one letter are equal; for SQLite they
/// are two names.
package func isSameName(_ left: String, _ right: String) -> Bool {
  left.utf8.count == right.utf8.count
    && left.utf8.elementsEqual(right.utf8) { folded($0) == folded($1) }
}

/// A name as SQLite compares it: in small letters, of ASCII alone.
func folded(_ name: String) -> String {
  String(decoding: name.utf8.map { folded($0) }, as: UTF8.self)
}

private func folded(_ byte: UInt8) -> UInt8 {
  (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}
