import Replication
import Store

/// A table that waits for a migration of its key, in words.
struct KeyRemark: Sendable, Equatable {
  let text: String
  let remedy: String

  /// Rows of another shape of key that are kept here.
  init(_ waiting: WaitingKey, names: (Identity) -> String?) {
    let known = waiting.authors.compactMap(names)
    let who = known.isEmpty ? "another node" : Self.list(known)
    let (here, there) = Self.words(waiting.here, waiting.there)
    let (kept, are, enter) =
      waiting.rows == 1
      ? ("1 row", "is", "it enters by itself")
      : ("\(waiting.rows) rows", "are", "they enter by themselves")
    if waiting.isBehind {
      text =
        "table \(waiting.table) waits: its key is \(here) here and \(there) on \(who); \(kept) of "
        + "it \(are) kept and passed on, and all other tables go on"
      remedy = "Make the same migration on this machine; nothing is lost, and \(enter)."
    } else {
      text =
        "table \(waiting.table): \(kept) from \(who) with its former key \(there) \(are) kept and "
        + "passed on"
      remedy = "Make the migration to the key \(here) on \(who), too; then \(enter)."
    }
  }

  /// Members that have not made the migration that was made here.
  init(_ table: String, key: KeyShape, behind: [String]) {
    let who = Self.list(behind)
    text =
      "table \(table): its key is \(Self.words(key, key).0) here, and not yet on \(who); there its "
      + "rows wait, and all other tables go on"
    remedy = "Make the same migration on \(who)."
  }

  var sentence: String { "\(text) (\(remedy))" }

  private static func list(_ names: [String]) -> String {
    names.count > 3
      ? names.sorted().prefix(3).joined(separator: ", ") + " and others"
      : names.sorted().joined(separator: ", ")
  }

  /// The names of the columns, with their types where the names say nothing.
  private static func words(_ here: KeyShape, _ there: KeyShape) -> (String, String) {
    let isSame = here != there && here.names == there.names
    func words(_ key: KeyShape) -> String {
      let parts = key.columns.map { column in
        isSame ? "\(column.name) \(column.affinity.word)\(column.collation.word)" : column.name
      }
      return "(\(parts.joined(separator: ", ")))"
    }
    return (words(here), words(there))
  }
}

extension KeyAffinity {
  fileprivate var word: String {
    switch self {
    case .none: "BLOB"
    case .text: "TEXT"
    case .numeric: "NUMERIC"
    case .integer: "INTEGER"
    case .real: "REAL"
    }
  }
}

extension KeyCollation {
  fileprivate var word: String {
    switch self {
    case .binary: ""
    case .nocase: " COLLATE NOCASE"
    case .rtrim: " COLLATE RTRIM"
    }
  }
}
