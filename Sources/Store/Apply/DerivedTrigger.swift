import Replication
import SQLite

/// What a trigger of the application does to keep something derived up to date, such as a full-text
/// index. These are its statements that write to tables that are not tracked.
///
/// What the others do at the author's replica arrives as rows of its own. What these write does
/// not, so they must run here, too.
struct DerivedTrigger: Equatable {
  let name: String
  /// That of the rows.
  let table: String
  /// Of its text, as its maker has written it.
  let mark: UInt64
  /// The part of the text after the name: event, table, condition, body.
  private var rest: String

  /// Nil if no statement writes to a table of the application that is not tracked.
  ///
  /// RAISE(IGNORE) before a row is written keeps it from its table, and nobody is told.
  init?(sql: String, of table: String = "", isTracked: (String) -> Bool) {
    let text = SQLText(sql)
    guard !text.raisesIgnore else { return nil }
    let tokens = text.tokens
    guard let statements = Self.statements(tokens), let nameEnd = Self.nameEnd(tokens)
    else { return nil }
    let targets = statements.map(Self.target)
    guard !targets.contains(where: { $0.map(TableSchema.isReserved) ?? false }) else { return nil }
    let derived = zip(statements, targets).filter { $1.map { !isTracked($0) } ?? false }.map(\.0)
    guard let first = statements.first, !derived.isEmpty else { return nil }
    self.name = tokens[nameEnd].name
    self.table = table
    self.mark = hash64(sql.utf8)
    let bytes = Array(sql.utf8)
    let start = tokens[nameEnd].bytes.upperBound
    let written = derived.map { bytes[tokens[$0.startIndex].bytes.lowerBound..<$0.end] + [0x3B] }
    let head = bytes[start..<tokens[first.startIndex].bytes.lowerBound]
    self.rest = String(decoding: head + written.joined(separator: [0x20]), as: UTF8.self) + " END"
  }

  /// The same trigger for one connection: "Since 3.35 TEMP triggers fire even if triggers are
  /// disabled" in the main schema (sqlite.org/c3ref/c_dbconfig_defensive.html, in other words).
  func temporary(_ number: Int) -> String {
    "CREATE TEMP TRIGGER \(Self.temporaryName(number)) \(rest)"
  }

  static func temporaryName(_ number: Int) -> String { "_flotilla_derived_\(number)" }

  /// Writes names in double quotes that `error` does not find as text, which they are to a program
  /// that has this switched on, as most have; false if there is none.
  ///
  /// Here it is off: a name of ours that is no column must not turn into text.
  mutating func readText(after error: SQLiteError) -> Bool {
    let opening = "no such column: "
    guard error.message.hasPrefix(opening) else { return false }
    let missing = error.message.dropFirst(opening.count)
    let bytes = Array(rest.utf8)
    let tokens = SQLText(rest).tokens
    var (text, position) = ([UInt8](), 0)
    for (index, token) in tokens.enumerated() where token.kind == .quoted {
      let isPart = index > 0 && tokens[index - 1].isSymbol(".")
      // Newer versions of SQLite put the name in quotes, and a piece of advice behind it.
      let isMissing = missing == token.name || missing.hasPrefix(quoted(token.name))
      let isDouble = bytes[token.bytes.lowerBound] == UInt8(ascii: "\"")
      guard isDouble, isMissing, !isPart else { continue }
      text += bytes[position..<token.bytes.lowerBound] + Array(literal(token.name).utf8)
      position = token.bytes.upperBound
    }
    guard position > 0 else { return false }
    rest = String(decoding: text + bytes[position...], as: UTF8.self)
    return true
  }

  /// The statements of the body that are not empty; nil if there is no body.
  static func statements(_ tokens: [SQLToken]) -> [ArraySlice<SQLToken>]? {
    guard let start = tokens.firstIndex(where: { $0.isWord("BEGIN") }),
      let end = tokens.lastIndex(where: { $0.isWord("END") }), start < end
    else { return nil }
    return tokens[(start + 1)..<end].split { $0.isSymbol(";") }
  }

  /// The last token of the trigger's name, which may be qualified and follow IF NOT EXISTS.
  private static func nameEnd(_ tokens: [SQLToken]) -> Int? {
    guard var index = tokens.firstIndex(where: { $0.isWord("TRIGGER") }) else { return nil }
    index += 1
    if index + 3 < tokens.count, tokens[index].isWord("IF"), tokens[index + 1].isWord("NOT") {
      index += 3
    }
    if index + 2 < tokens.count, tokens[index + 1].isSymbol(".") { index += 2 }
    return index < tokens.count ? index : nil
  }

  /// The table that a statement of the body writes to; nil if it is no plain write.
  static func target(_ statement: ArraySlice<SQLToken>) -> String? {
    guard let first = statement.first else { return nil }
    var rest = statement.dropFirst()
    if first.isWord("INSERT") || first.isWord("REPLACE") {
      guard let into = rest.firstIndex(where: { $0.isWord("INTO") }) else { return nil }
      return rest[(into + 1)...].first?.name
    }
    if first.isWord("DELETE") { return rest.dropFirst().first?.name }
    guard first.isWord("UPDATE") else { return nil }
    if rest.first?.isWord("OR") == true { rest = rest.dropFirst(2) }
    return rest.first?.name
  }
}

extension ArraySlice<SQLToken> {
  /// Where the last of them ends.
  fileprivate var end: Int { last?.bytes.upperBound ?? 0 }
}
