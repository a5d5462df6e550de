/// What `sql` has to know of a statement before it runs it: its first word.
struct StatementKind: Sendable, Equatable {
  /// In capitals; empty if the text begins with no word.
  let keyword: String
  /// Whether it would take the file out of WAL mode.
  private let leavesLog: Bool

  init(_ sql: String) {
    let start = Self.start(of: sql)
    keyword = start.prefix { $0.isASCII && $0.isLetter }.uppercased()
    // "PRAGMA schema.journal_mode = MODE", or with the mode in parentheses (sqlite.org, Pragmas).
    let plain = keyword == "PRAGMA" ? start.lowercased().filter(Self.isOfMode) : ""
    let mode = plain.firstRange(of: "journal_mode").map { plain[$0.upperBound...] } ?? ""
    leavesLog = (mode.first == "=" || mode.first == "(") && !mode.dropFirst().hasPrefix("wal")
  }

  private static func isOfMode(_ character: Character) -> Bool {
    character.isLetter || "_=(".contains(character)
  }

  /// True for statements that edit rows and may run inside a transaction; WITH may begin a query,
  /// too, which SQLite knows when it is prepared.
  var isEdit: Bool { editsRows || keyword == "WITH" }

  /// Whether the first word alone says that rows are edited.
  var editsRows: Bool { ["INSERT", "UPDATE", "DELETE", "REPLACE"].contains(keyword) }

  /// Why the statement makes no sense by itself; nil if it does.
  ///
  /// Each call has a connection of its own: what is begun, saved or attached there ends with it.
  var objection: String? {
    switch keyword {
    case "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE":
      "\(keyword) has no effect here, for each statement is a transaction of its own; nothing was "
        + "run"
    case "ATTACH", "DETACH":
      "\(keyword) has no effect here, for each statement has a connection of its own; nothing was "
        + "run"
    case _ where leavesLog: "a replica stays in WAL mode; nothing was run"
    default: nil
    }
  }

  /// The text without the blanks, comments and empty statements before the first word.
  static func start(of sql: String) -> Substring {
    var rest = sql[...]
    while let first = rest.unicodeScalars.first {
      if first == ";" || first.properties.isWhitespace {
        rest.unicodeScalars.removeFirst()
      } else if rest.hasPrefix("--") {
        // "extend to and include the next newline character (ASCII code point 0x0a)"
        // (sqlite.org, SQL Comments).
        rest = Substring(rest.unicodeScalars.drop { $0 != "\n" })
      } else if rest.hasPrefix("/*") {
        let end = rest.dropFirst(2).firstRange(of: "*/")?.upperBound
        rest = rest[(end ?? rest.endIndex)...]
      } else {
        break
      }
    }
    return rest
  }
}
