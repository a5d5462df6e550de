import Replication
import SQLite

/// Rows that were written by somebody who had not seen what stood there.
///
/// A mirror takes a row in from a server whose program had not got what another machine has written
/// meanwhile. To the fold that would be an edit by who saw what he wrote over, and its author would
/// lose it without a word. So the mirror marks the row, in the transaction that writes it.
///
/// A mark is of the row's next fold, and gone with it; with the last entry of the journal all go.
/// Whoever marks what it has seen does harm to its own edits alone: they may lose where they had
/// stood. What a mark says of the row that stood counts only if it gives the hash of its version.
final class UnseenMarks: FilePart {
  /// The row that stood, by the names of its columns in this file; nil if there was none, or that
  /// was too long.
  struct Mark {
    fileprivate let entry: Shelf.Entry?
  }

  private let connection: Connection
  /// Nothing was marked when the transaction began; nobody else can do so before it ends.
  private var isKnownEmpty = false
  /// Whether the file has the table, which came later.
  private var isHere = false

  init(_ connection: Connection) { self.connection = connection }

  func locked() throws(SQLiteError) { isKnownEmpty = try areNone }

  func committed() { isKnownEmpty = false }

  func rolledBack() { (isKnownEmpty, isHere) = (false, false) }

  var areNone: Bool {
    get throws(SQLiteError) {
      if !isHere { isHere = try Layout.hasTable("_flotilla_unseen", on: connection) }
      guard isHere else { return true }
      return try connection.row("SELECT 1 FROM main._flotilla_unseen LIMIT 1") == nil
    }
  }

  /// The mark of a row that is folded now; there is none any more.
  func take(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Mark? {
    if isKnownEmpty || !isHere { return nil }
    let place: [SQLite.Value] = [.integer(table.id), .blob(key.bytes)]
    let row = try connection.row(
      "SELECT row FROM main._flotilla_unseen WHERE tbl = ? AND key = ?", place)
    guard let row else { return nil }
    try connection.run("DELETE FROM main._flotilla_unseen WHERE tbl = ? AND key = ?", place)
    return Mark(entry: row[0].blob.flatMap { Shelf.decode($0, .constraint) })
  }

  /// The journal is empty: what is marked now nobody has written.
  func clear() throws(SQLiteError) {
    if isKnownEmpty || !isHere { return }
    try connection.run("DELETE FROM main._flotilla_unseen")
    isKnownEmpty = true
  }
}

extension UnseenMarks.Mark {
  /// What a version says whose row stood, with what is kept beside it; nil if it says something
  /// else than the mark.
  func content(
    of version: Version, _ statements: RowStatements, beside shelved: Shelf.Entry?
  ) throws(SQLiteError) -> Shelf.Entry? {
    guard let entry else { return nil }
    let said = Dictionary(
      entry.values.map { (folded($0.name), $0.value) }, uniquingKeysWith: { first, _ in first })
    let values = statements.names.compactMap { said[folded($0)] }
    guard values.count == statements.names.count else { return nil }
    let beside = try statements.beside(shelved, values)
    guard statements.sum(values, beside).value == version.hash else { return nil }
    let names = statements.shape(with: beside.extras).columns
    return Shelf.Entry(
      why: .constraint, values: zip(names, beside.said(values)).map { (name: $0, value: $1) },
      keyCount: statements.shape.keyCount, rest: beside.rest)
  }
}

/// Marks rows beside a node that may run, in the transactions of who writes them.
package struct UnseenWriter: Sendable {
  /// Under which this node writes, and wrote in earlier lives.
  let own: Set<Origin>
  let authors: RowAuthors

  /// So many of the newest entries of a table are looked at: triggers may have followed.
  private static let newest = 256

  /// Says of a row that the open transaction has written: who made that had not seen what stood,
  /// `standing`, nil if it was deleted. Columns go by their names in this file.
  ///
  /// False, and nothing is marked, unless another node has made what stood. What this one has made
  /// no other node can tell from what it has seen: who writes over that keeps it himself.
  package func mark(
    _ name: String, key values: [SQLite.Value], over standing: OutsideLog.Row?,
    on connection: Connection
  ) throws(SQLiteError) -> Bool {
    guard let (table, key) = authors.place(name, values),
      let author = try authors.maker(of: name, values, on: connection)?.author,
      !own.contains(author),
      try isWritten(table, key, values.count, on: connection)
    else { return false }
    var bytes = standing.map { row in
      Shelf.encode(
        Shelf.Entry(
          why: .constraint, values: row.map { (name: $0.name, value: Replication.Value($0.value)) },
          keyCount: values.count))
    }
    // No push could carry it, and its author has it.
    if let count = bytes?.count, count > Limits.wholeBytes { bytes = nil }
    // Of two in one fold the first has what its version says.
    try connection.run(
      "INSERT OR IGNORE INTO main._flotilla_unseen(tbl, key, row) VALUES (?, ?, ?)",
      [.integer(table.id), .blob(key.bytes), bytes.map { .blob($0) } ?? .null])
    return true
  }

  private func isWritten(
    _ table: RowAuthors.Table, _ key: Key, _ keyCount: Int, on connection: Connection
  ) throws(SQLiteError) -> Bool {
    try Journal.readNewest(of: table.id, limit: Self.newest, on: connection).contains { entry in
      let noted = entry.key.prefix(keyCount).map(Replication.Value.init)
      return Key(noted, collations: table.collations) == key
    }
  }
}

extension Store {
  /// What is needed to mark rows of these tables beside a node.
  package func unseenWriter(of names: [String]) -> UnseenWriter {
    UnseenWriter(own: earlier.union([own]), authors: rowAuthors(of: names))
  }
}
