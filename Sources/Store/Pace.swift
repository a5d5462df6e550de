import Replication

/// How much the store does in one go, and how long it keeps a snapshot.
package struct Pace: Sendable {
  /// Journal entries folded in one slice: a few ms of the write lock.
  package var journalEntries = 500
  /// So many entries are read and sorted at once, ...
  package var journalWindow = 32_768
  /// ... unless their keys are long: so many bytes of these.
  package var journalBytes = 8 << 20
  /// Whether what is folded goes to somebody: else it is not encoded.
  package var sendsEdits = true
  /// A stretch of it goes out before the rest is folded, if more rows than this wait.
  package var wholeRows = Limits.wholeRows
  /// Rows and bytes merged in one commit of a long exchange.
  package var mergedRows = 500
  package var mergedBytes = Limits.wholeBytes
  /// So many rows are read, or inserted, with one statement.
  package var rowsTogether = 16
  /// Rows compared with their versions, or versions looked through, in one slice.
  package var comparedRows = 500
  /// A batch is sent on once it has this many bytes or rows.
  package var batchBytes = 128 << 10
  package var batchRows = 250
  /// A row of more bytes goes in pieces ...
  package var longRow = Limits.wholeBytes / 2
  /// ... of about this many bytes.
  package var pieceBytes = Limits.wholeBytes / 2
  /// A snapshot keeps the WAL from being reused: after this many ms the export pauses.
  package var snapshotTime: Int64 = 30_000
  /// Or once the WAL has grown by this many bytes ...
  package var walBytes = 64 << 20
  /// ... and by this many where all would have to begin again.
  package var mostWalBytes = 160 << 20
  /// Edits that an anchor judges in the commit that brings them, if they are no more.
  package var judgedAtOnce = 250
  /// Up to so many are judged in the next one, all of them: a small exchange stays whole.
  package var judgedWhole = Limits.wholeRows
  /// Of more, so many are judged in one slice.
  package var judgedRows = 500
  /// Of those that do not fit alone, so many are tried together.
  package var judgedTogether = 5_000
  /// So many of those that wait are put in order at once.
  package var judgedWindow = 32_768
  /// Rows that are remembered for peers who lack little.
  package var recentRows = 20_000

  /// Rows that others put to wait, or let come back, in one commit of theirs.
  package var parkedRows = 500

  /// So many rulings are kept; the oldest go first.
  package var rulings = 100_000

  /// Entries of the change log that are kept, if there are no more rows: who lacks more of them
  /// reads the tables.
  package var changes = 100_000

  package init() {}
}
