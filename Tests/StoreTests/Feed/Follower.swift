import Replication
import SQLite
import Testing

@testable import Store

/// Reads the changes of a replica and does to a copy of its rows what they say.
final class Follower {
  private let replica: TestReplica
  private let tables: [String]
  private(set) var cursor: ChangeCursor?
  private(set) var resets = 0
  private(set) var told: [ChangedRow] = []
  private var rows: [String: [String: String]] = [:]

  init(_ replica: TestReplica, _ tables: [String]) throws {
    (self.replica, self.tables) = (replica, tables)
    try readTables(from: try replica.store.feed.changes(after: nil, limit: 1, at: 0).cursor)
  }

  /// What a consumer does at first, and when changes were missed.
  private func readTables(from cursor: ChangeCursor) throws {
    self.cursor = cursor
    for table in tables {
      rows[table] = [:]
      let statement = try replica.application.prepare("SELECT * FROM \(quoted(table))")
      let names = try replica.application.rows(
        "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1", [.string(table)]
      ).compactMap { $0[0].string }
      let keys = try replica.application.rows(
        "SELECT name FROM pragma_table_info(?) WHERE pk > 0", [.string(table)]
      ).compactMap { $0[0].string }
      while try statement.step() {
        let values = names.indices.map { Replication.Value(statement.value($0)) }
        let pairs = zip(names, values).map { (name: $0, value: $1) }
        let key = pairs.filter { keys.contains($0.name) }
        rows[table]?[Self.text(key)] = Self.text(pairs)
      }
    }
  }

  private static func text(_ pairs: [(name: String, value: Replication.Value)]) -> String {
    pairs.map { "\($0.name)=\($0.value)" }.sorted().joined(separator: " ")
  }

  /// Reads on, to the end or so many pages.
  func follow(pages: Int = .max, limit: Int = 3) throws {
    var left = pages
    while left > 0 {
      left -= 1
      let page = try replica.store.feed.changes(after: cursor, limit: limit, at: 0)
      if page.isAnew {
        resets += 1
        try readTables(from: page.cursor)
        continue
      }
      for change in page.changes {
        let key = Self.text(change.key.map { ($0.key, $0.value) })
        rows[change.table]?[key] = change.row.map(Self.text)
        told.append(change)
      }
      cursor = page.cursor
      if !page.hasMore { return }
    }
  }

  /// Reads to the end, and expects the rows to be those of the tables.
  func expectEqual(_ comment: Comment? = nil) throws {
    try follow()
    let copy = rows
    try readTables(from: try #require(cursor))
    #expect(copy == rows, comment)
  }
}
