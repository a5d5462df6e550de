import Replication
import SQLite

/// Changes as those want them who read the rows themselves: keys alone, many at a time.
package struct ChangedKeyPage: Sendable {
  /// A table as its file has it.
  package struct Table: Sendable {
    package var name: String
    /// Its key's columns, in the order in which a key has their values.
    package var columns: [String]
  }

  /// A row that has changed.
  package struct Row: Sendable {
    /// Its place among the tables of the page.
    package var table: Int
    package var key: Key
    /// Of the newest edit of it; nil if nobody knows, or it was not asked for.
    package var stamp: Stamp?
  }

  package var tables: [Table] = []
  package var rows: [Row] = []
  package var cursor: ChangeCursor
  /// What came before cannot be told: read the tables, then what follows the cursor.
  package var isAnew = false
  /// Whether more can be read now.
  package var hasMore = false
  /// How many entries follow those of the page.
  package var waiting = 0
}

extension ChangeFeed {
  /// About so many bytes of keys are told at a time.
  private static let mostKeyBytes = 1 << 20

  /// The same as `changes`, without the rows, and without those of which only the anchor's word is
  /// new. When each was edited last is told if it `tellsStamps`.
  package func changedKeys(
    after cursor: ChangeCursor?, limit: Int, at wall: Int64, tellsStamps: Bool,
    of wanted: Set<Int64>
  ) throws(StoreError) -> ChangedKeyPage {
    let end = try end(at: wall)
    guard let cursor else { return ChangedKeyPage(cursor: end) }
    do throws(SQLiteError) {
      guard let entries = try log.entries(after: cursor, limit: limit) else {
        return ChangedKeyPage(cursor: end, isAnew: true)
      }
      return try keys(of: entries, after: cursor, tellsStamps: tellsStamps, of: wanted)
    } catch {
      throw StoreError(error)
    }
  }

  private func keys(
    of entries: [ChangeLog.Entry], after cursor: ChangeCursor, tellsStamps: Bool,
    of wanted: Set<Int64>
  ) throws(SQLiteError) -> ChangedKeyPage {
    var page = ChangedKeyPage(cursor: cursor)
    // The place of each table in the page; nil if nothing of it is told.
    var places: [Int64: Int?] = [:]
    var known: Set<Export.RowID> = []
    var room = Self.mostKeyBytes
    for entry in entries {
      page.cursor = entry.cursor
      guard !entry.isOfAnchor else { continue }
      if places[entry.row.table] == nil {
        places[entry.row.table] = .some(place(of: entry.row.table, in: &page, of: wanted))
      }
      guard case .some(.some(let place)) = places[entry.row.table],
        known.insert(entry.row).inserted
      else { continue }
      var row = ChangedKeyPage.Row(table: place, key: entry.row.key)
      if tellsStamps {
        row.stamp = try versions.version(table: entry.row.table, key: entry.row.key)?.stamp
      }
      page.rows.append(row)
      room -= entry.row.key.bytes.count + 16
      if room <= 0 { break }
    }
    page.hasMore = !entries.isEmpty && page.cursor != log.last
    let last = log.last?.number ?? page.cursor.number
    page.waiting = Int(clamping: max(0, last &- page.cursor.number))
    return page
  }

  private func place(
    of id: Int64, in page: inout ChangedKeyPage, of wanted: Set<Int64>
  ) -> Int? {
    // A table that is being changed: the log begins anew when that is noticed.
    guard let table = tables.byID[id], table.isTracked,
      ownRights.rights.right(to: table.name) != .none,
      wanted.contains(id), let statements = table.statements
    else { return nil }
    page.tables.append(
      ChangedKeyPage.Table(name: table.nameHere, columns: statements.keyNames))
    return page.tables.count - 1
  }
}

extension ChangeFeed {
  /// When the rows of these keys were edited last, or deleted, by the time of the site; nil for
  /// those of which nobody knows.
  package func stamps(
    of table: String, _ keys: [[SQLite.Value]]
  ) throws(StoreError) -> [Stamp?] {
    guard let table = tables.table(called: table) else { return keys.map { _ in nil } }
    do throws(SQLiteError) {
      var stamps: [Stamp?] = []
      for key in keys {
        guard let key = table.key(key.map(Replication.Value.init)) else {
          stamps.append(nil)
          continue
        }
        stamps.append(try versions.version(table: table.id, key: key)?.stamp)
      }
      return stamps
    } catch {
      throw StoreError(error)
    }
  }
}
