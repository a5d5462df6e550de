import Network
import Replication
import SQLite
import Store

extension TouchedRow {
  /// About how many bytes its values hold.
  var size: Int {
    (values ?? []).reduce(0) { sum, value in
      switch value {
      case .text(let text): sum + text.utf8.count
      case .blob(let bytes), .malformedText(let bytes): sum + bytes.count
      default: sum + 8
      }
    }
  }
}

/// For a program that keeps a connection of its own and writes plain SQL in transactions of its
/// own: which rows one has touched, and what becomes of them.
extension Replica {
  /// Where the journal and the own edits stand as a transaction begins.
  package struct EditMark: Sendable {
    fileprivate let journal: Int64
    fileprivate let edits: UInt64
  }

  /// The rows that a transaction has touched.
  package struct Edit: Sendable, Codable {
    package let rows: [TouchedRow]
    /// Whether these are all of them.
    package let isWhole: Bool
    fileprivate let before: UInt64
  }

  /// What is known of an edit after a wait.
  package struct EditOutcome: Sendable {
    package var verdicts: [RowVerdict]
    /// The same rows as they stand now.
    package var standing: [TouchedRow]
    /// Why there is no verdict, beyond that the anchor is away.
    package var obstacle: String?
  }

  /// About how many edits programs have written and the node has not folded yet.
  package func unfolded(
    on connection: Connection
  ) throws(SQLiteError) -> Int64 {
    let ends = try connection.row(
      "SELECT (SELECT min(id) FROM _flotilla_journal), (SELECT max(id) FROM _flotilla_journal)")
    guard let first = ends?[0].integer, let last = ends?[1].integer else { return 0 }
    // Somebody else may have written any numbers.
    let (span, isAbsurd) = last.subtractingReportingOverflow(first)
    return isAbsurd ? .max : span &+ 1
  }

  /// To be taken inside the transaction, before it writes.
  package func editMark(on connection: Connection) throws(SQLiteError) -> EditMark {
    EditMark(
      journal: try lastJournalEntry(on: connection), edits: try ownEdits(on: connection))
  }

  /// The rows that were touched since, inside the same transaction: the first `limit` of them, and
  /// no more once they hold so many bytes.
  package func edit(
    since mark: EditMark, limit: Int, bytes: Int, on connection: Connection
  ) throws(SQLiteError) -> Edit {
    let rows = try touched(after: mark.journal, limit: limit + 1, bytes: bytes, on: connection)
    let size = rows.reduce(0) { $0 + $1.size }
    return Edit(
      rows: rows, isWhole: rows.count <= limit && size <= bytes, before: mark.edits)
  }

  /// Waits for what the anchor says of an edit that is committed. Without an anchor an error of
  /// code `no-anchor`.
  package func outcome(
    of edit: Edit, within timeout: Duration
  ) async throws(FlotillaError) -> EditOutcome {
    let rows = edit.rows.filter { !$0.isKeyless }
    let mark = try await askNode(.mark, as: Mark.self, within: .seconds(10))
    let (verdicts, end) = try await verdicts(on: rows, after: edit.before, within: timeout) {
      (rest) async throws(FlotillaError) in
      try await askNode(
        .verdicts(
          after: edit.before, through: mark.seq, milliseconds: Int(rest.milliseconds)),
        as: Mark.self, within: rest)
    }
    return EditOutcome(
      verdicts: verdicts, standing: try await standing(rows), obstacle: end.obstacle)
  }

  /// The node that made the edit of a row which stands, and when; nil where nobody knows.
  package func lastEdit(
    of table: String, _ key: [SQLite.Value], on connection: Connection
  ) throws(FlotillaError) -> (author: String?, at: String?) {
    let edit = try reporting(path) { () throws(StoreError) in
      try RowEdit.read(table, key, on: connection)
    }
    return (edit?.author, edit?.at.map { Node.fineText($0.millisecondsSince1970) })
  }

  /// SHA-256 of a content, the first 128 bits as text.
  package static func fingerprint(_ content: [UInt8]) -> String {
    Hashing.sha256(content).prefix(16).map { byte in
      String(UInt16(byte) + 0x100, radix: 16).dropFirst()
    }.joined()
  }
}
