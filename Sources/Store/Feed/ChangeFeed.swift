import Replication
import SQLite

/// A row that has changed here, as its table shows it when this is read.
package struct ChangedRow: Sendable {
  package var cursor: ChangeCursor
  package var table: String
  /// How the site called the table first.
  package var first: String
  package var key: [String: Replication.Value]
  /// Its columns as the table has them; nil if the table shows no such row.
  package var row: [(name: String, value: Replication.Value)]?
  /// It is there, and longer than what is told of one row.
  package var isTooLarge = false
  /// Who made the newest edit of it, when, and whether an anchor has certified that.
  package var author: String?
  package var stamp: Stamp?
  package var isCertified = false
}

/// Some changes in their order, and where the next ones follow.
package struct ChangePage: Sendable {
  package var changes: [ChangedRow] = []
  package var cursor: ChangeCursor
  /// What came before cannot be told: read the tables, then what follows the cursor.
  package var isAnew = false
  /// Whether more can be read now.
  package var hasMore = false
}

/// The changes of a replica, for those who follow them: the log, and the rows as they are now.
package final class ChangeFeed: FilePart {
  private unowned let file: ReplicaFile
  private let connection: Connection
  let log: ChangeLog
  let tables: Tables
  let ownRights: OwnRights
  let versions: VersionTable
  private let figures: VersionFigures
  private let lives: Lives
  private let nodeName: String
  /// So many entries are kept, at least.
  var kept: Int

  init(
    _ file: ReplicaFile, _ log: ChangeLog, _ tables: Tables, _ ownRights: OwnRights,
    _ versions: VersionTable, _ figures: VersionFigures, _ lives: Lives, nodeName: String,
    kept: Int
  ) {
    (self.file, connection, self.log) = (file, file.connection, log)
    (self.tables, self.ownRights) = (tables, ownRights)
    (self.versions, self.figures) = (versions, figures)
    (self.lives, self.nodeName, self.kept) = (lives, nodeName, kept)
  }

  func save() throws(SQLiteError) {
    try log.save(look: look, limit: max(kept, figures.live(besides: []) ?? 0))
  }

  func reload() throws(SQLiteError) { try log.reload() }

  /// Longer rows are named without their values, in bytes.
  package static let longestChange = 1 << 20
  /// About so much is read at a time, in bytes.
  private static let changesAtOnce = 1 << 20

  /// What has changed after a cursor; nothing yet, and where that begins, if it is none. `wanted`
  /// are the numbers of the tables of which it is told, nil for all; `wall` is the clock of the
  /// machine, in ms since 1970.
  package func changes(
    after cursor: ChangeCursor?, limit: Int, at wall: Int64, of wanted: Set<Int64>? = nil
  ) throws(StoreError) -> ChangePage {
    let end = try end(at: wall)
    guard let cursor else { return ChangePage(cursor: end) }
    do throws(SQLiteError) {
      guard let entries = try log.entries(after: cursor, limit: limit) else {
        return ChangePage(cursor: end, isAnew: true)
      }
      return try page(entries, after: cursor, of: wanted)
    } catch {
      throw StoreError(error)
    }
  }

  /// Sees to it that changes are noted, and that it is known that somebody reads them.
  func end(at wall: Int64) throws(StoreError) -> ChangeCursor {
    try file.recover()
    let isKnown = log.readAt.map { abs(wall - $0) < ChangeLog.readPrecision } ?? false
    if !isKnown {
      try file.transaction {
        if log.isOn {
          try log.noteRead(at: wall)
        } else {
          try log.begin(look: look, at: wall)
        }
      }
    }
    guard let last = log.last else { throw StoreError(.sqlite, "no change log was begun") }
    return last
  }

  /// Who has read so far must read the tables; in the open transaction.
  func beginAnew(at wall: Int64) throws(SQLiteError) {
    if log.isOn { try log.begin(look: look, at: wall) }
  }

  /// Ends a log that nobody has read for long.
  package func tend(at wall: Int64) throws(StoreError) {
    guard let readAt = log.readAt, abs(wall - readAt) > ChangeLog.keepLimit else { return }
    try file.transaction { try log.end() }
  }

  /// A hash over the names, in this file, of the tracked tables that this node may read, and of
  /// their columns.
  private var look: UInt64 {
    tables.tracked.reduce(0) { ownRights.rights.right(to: $1.name) == .none ? $0 : $0 &+ $1.look }
  }

  private func page(
    _ entries: [ChangeLog.Entry], after cursor: ChangeCursor, of wanted: Set<Int64>?
  ) throws(SQLiteError) -> ChangePage {
    // Of several changes of one row the last one is told.
    var last: [Export.RowID: Int] = [:]
    for (index, entry) in entries.enumerated() { last[entry.row] = index }
    var page = ChangePage(cursor: cursor)
    var room = Self.changesAtOnce
    for (index, entry) in entries.enumerated() {
      if last[entry.row] == index, let table = tables.byID[entry.row.table], table.isTracked,
        ownRights.rights.right(to: table.name) != .none, wanted?.contains(table.id) ?? true,
        let change = try change(entry, of: table, &room)
      {
        page.changes.append(change)
      }
      page.cursor = entry.cursor
      if room <= 0 { break }
    }
    // Where nothing could be read there is no more, whatever the log says of its end.
    page.hasMore = !entries.isEmpty && page.cursor != log.last
    return page
  }

  private func change(
    _ entry: ChangeLog.Entry, of table: ReplicaTable, _ room: inout Int
  ) throws(SQLiteError) -> ChangedRow? {
    // A table that is being changed: the log begins anew when that is noticed.
    let key = entry.row.key
    guard let schema = table.schema, let statements = table.statements,
      let values = key.values?.map(\.sqlite), values.count == schema.key.count
    else { return nil }
    var change = ChangedRow(
      cursor: entry.cursor, table: table.nameHere, first: table.name,
      key: tables.named(key, of: table.name))
    let names = schema.columns.map(\.name)
    let text = statements.select(names.map(quoted).joined(separator: ", "))
    try connection.with(text, values) {
      (statement) throws(SQLiteError) in
      guard try statement.step() else { return }
      let size = statement.size(names.count)
      room -= size
      change.isTooLarge = size > Self.longestChange
      guard !change.isTooLarge else { return }
      change.row = zip(names, statement.travelling(names.count)).map { ($0, $1) }
    }
    room -= key.bytes.count + 100
    if let version = try versions.version(table: table.id, key: key) {
      change.stamp = version.stamp
      change.isCertified = version.certificate != nil
      change.author = try authorName(version.edit.origin)
    }
    return change
  }

  private func authorName(_ origin: Origin) throws(SQLiteError) -> String? {
    if origin == lives.own { return nodeName }
    return try connection.with(
      "SELECT name FROM _flotilla_author WHERE origin = ?",
      [.integer(Int64(bitPattern: origin.rawValue))]
    ) { (statement) throws(SQLiteError) in
      try statement.step() ? statement.value(0).string : nil
    }
  }
}
