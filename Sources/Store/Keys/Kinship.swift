import Replication
import SQLite

/// What one replica knows of rows that refer to each other by numbers: which tables, which rows had
/// to leave their numbers, and what is yet to be made again.
final class Kinship: FilePart {
  /// A place that rows have yet to leave.
  struct Unfinished {
    var place: FormerKeys.Place
    /// The version that has lost its number there, under which the conflict log counts them.
    var loser: Dot?
  }

  let former: FormerKeys
  let moving: MovingRows
  let unnoted: UnnotedRows
  /// Origins of members that have left for good: nobody makes their rows again but others.
  var gone: Set<Origin> = []
  /// Of these, the ones that were shut out: what they have lost goes to the conflict log. Nobody
  /// makes it again in a name of its own, under which it would outlast an undo.
  var revoked: Set<Origin> = []
  /// Rows that go on under another key, and of which that was heard, or a child came, since rows
  /// were made again last.
  private(set) var news: [FormerKeys.Place] = []
  /// Rows that have their former key again after all: the anchor has given it to them.
  var returns: [(from: FormerKeys.Place, to: FormerKeys.Place)] = []
  /// What more rows follow than one transaction writes goes on in the next one.
  private var unfinished: [Unfinished] = []
  private(set) var isUnfinished = false
  /// The open transaction has written as much as it is to.
  private(set) var isLaidDown = false
  /// The file was opened or read again: what was unfinished is found by the rows that wait.
  var isReread = true
  /// Whether all that belongs together is here: an exchange has ended in the open transaction.
  var isComplete = false
  /// What is among the news: many rows may tell of one place.
  private var heard: Set<FormerKeys.Place> = []
  private let connection: Connection
  private var known: Parentage?
  private var knownVersion = -1

  init(_ connection: Connection, _ versions: VersionTable) throws(SQLiteError) {
    self.connection = connection
    former = try FormerKeys(connection, origins: versions.origins)
    moving = try MovingRows(connection, versions: versions)
    unnoted = try UnnotedRows(connection)
  }

  func reload() throws(SQLiteError) {
    try former.reload()
    try moving.reload()
    try unnoted.reload()
    end()
    (unfinished, isUnfinished, isReread) = ([], false, true)
    known = nil
  }

  /// A transaction begins.
  func begin() { (isComplete, isLaidDown) = (false, false) }

  /// More is to be done than the open transaction is to write.
  func goOn(with more: [Unfinished]) {
    unfinished += more
    (isUnfinished, isLaidDown) = (true, true)
  }

  /// What was left by the transaction before.
  func takeUnfinished() -> [Unfinished] {
    defer { (unfinished, isUnfinished) = ([], false) }
    return unfinished
  }

  /// Whether another transaction is to go on, or to look for what was left.
  var hasMore: Bool { isUnfinished || isReread && !former.isEmpty }

  /// What was due is done.
  func end() {
    (news, heard, returns) = ([], [], [])
    moving.hasNew = false
  }

  /// There is news of a row that was at this place.
  func hear(of place: FormerKeys.Place) {
    if heard.insert(place).inserted { news.append(place) }
  }

  /// Whether there is anything to make again now.
  var isDue: Bool {
    !news.isEmpty || !returns.isEmpty || hasMore
      || moving.count > 0 && (isComplete || moving.hasNew)
  }

  /// The tables, as the schema and the site's choice are now.
  func parentage(_ tables: Tables) throws(SQLiteError) -> Parentage {
    if let known, knownVersion == tables.age { return known }
    let read = try Parentage(
      tables.tracked, tables.names, seen: tables.seen, on: connection)
    (known, knownVersion) = (read, tables.age)
    return read
  }

  /// Rows have other names in a new life.
  func rename(_ names: inout Reissue, _ numbers: inout Edits) throws(SQLiteError) {
    try moving.rename(&names, &numbers)
    try former.rename(&names, &numbers)
  }

  func forget(table: Int64) throws(SQLiteError) {
    try former.forget(table: table)
    try moving.forget(table: table)
  }
}
