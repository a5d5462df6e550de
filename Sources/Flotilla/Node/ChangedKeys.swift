import FoundationEssentials
import Replication
import SQLite
import Store

/// Rows that have changed, by their keys, for who reads them with SQL.
package struct ChangedKeys: Sendable {
  /// A table as its file has it.
  package struct Table: Codable, Sendable {
    package var name: String
    /// Its key's columns, in the order of a row's values.
    package var columns: [String]
  }

  /// A row that has changed.
  package struct Row: Sendable {
    /// Its place among `tables`.
    package var table: Int
    package var key: [SQLite.Value]
    /// Of the newest edit of it, in ms since 1970; nil if nobody knows, or it was not asked for.
    package var stamp: Int64?
  }

  package var tables: [Table]
  /// Each once.
  package var rows: [Row]
  /// After the last of them.
  package var cursor: String
  /// What came before cannot be told: read the tables, then what follows the cursor.
  package var reset: Bool
  /// Whether there is more by now.
  package var more: Bool
  /// How many entries follow; a row may have several.
  package var waiting: Int

  /// As the node answers: the rows are bytes, for a JSON object each would take longer than all
  /// else together.
  struct Answer: Codable, Sendable {
    var tables: [Table]
    var rows: Data
    var cursor: String
    var reset: Bool
    var more: Bool
    var waiting: Int

    init(_ page: ChangedKeyPage) {
      tables = page.tables.map { Table(name: $0.name, columns: $0.columns) }
      (cursor, reset, more) = (page.cursor.description, page.isAnew, page.hasMore)
      waiting = page.waiting
      var bytes: [UInt8] = []
      for row in page.rows {
        let stamp = row.stamp?.knownMoment ?? .min
        withUnsafeBytes(of: UInt32(row.table).littleEndian) { bytes += $0 }
        withUnsafeBytes(of: stamp.littleEndian) { bytes += $0 }
        withUnsafeBytes(of: UInt32(row.key.bytes.count).littleEndian) { bytes += $0 }
        bytes += row.key.bytes
      }
      rows = Data(bytes)
    }
  }

  init(_ answer: Answer) throws(FlotillaError) {
    (tables, cursor, reset, more) = (answer.tables, answer.cursor, answer.reset, answer.more)
    waiting = max(0, answer.waiting)
    rows = []
    let bytes = Array(answer.rows)
    var place = 0
    func number(_ length: Int) -> UInt64 {
      defer { place += length }
      return (0..<length).reduce(0) { $0 | UInt64(bytes[place + $1]) << UInt64(8 * $1) }
    }
    while bytes.count - place >= 16 {
      let (table, stamp) = (Int(number(4)), Int64(bitPattern: number(8)))
      let length = Int(number(4))
      guard table < tables.count, bytes.count - place >= length else {
        throw FlotillaError(.node, "the running node gave a damaged answer")
      }
      defer { place += length }
      // What names no row is passed over, as in the rest of the feed.
      guard let key = Key(bytes: Array(bytes[place..<place + length])).values else { continue }
      rows.append(Row(table: table, key: key.map(\.sqlite), stamp: stamp == .min ? nil : stamp))
    }
  }
}

extension Stamp {
  /// In ms since 1970; nil if it says that nobody knows.
  var knownMoment: Int64? { self > Stamp.beforeSite ? millisecondsSince1970 : nil }
}

extension Node {
  /// So many entries of the log are looked at in one go.
  private static let keysRead = 16_000

  /// Which rows have changed after a cursor; waits until some have. If it is `isExact`, what was
  /// committed before is folded first, and it is told when each was edited.
  func changedKeys(
    since text: String?, tables names: [String], isExact: Bool, within limit: Duration
  ) async throws(FlotillaError) -> ChangedKeys.Answer {
    var cursor = try changeCursor(text)
    let wanted = try await tables(called: names) ?? []
    if isExact {
      try await foldNow()
      // Without the time of the site nothing is folded, and the feed would keep edits back.
      guard clock.now.site != nil else {
        throw FlotillaError(
          StoreError(.noTime, "\(path) does not know the time of the site yet"), path: path)
      }
    }
    let deadline = Uptime.now + limit.milliseconds
    while true {
      let age = position.age
      let (wall, place) = (Uptime.wall, cursor)
      let page = try await reporting(path) { () async throws(StoreError) in
        try await store.run { (store) throws(StoreError) in
          try store.feed.changedKeys(
            after: place, limit: Self.keysRead, at: wall, tellsStamps: isExact, of: wanted)
        }
      }
      let isNews = cursor == nil || page.isAnew || !page.rows.isEmpty
      cursor = page.cursor
      if isNews || !page.hasMore && Uptime.now >= deadline { return ChangedKeys.Answer(page) }
      if page.hasMore { continue }
      guard await until(deadline, { position.age != age || isStopping }), !isStopping else {
        return ChangedKeys.Answer(page)
      }
    }
  }
}

extension Replica {
  /// The next rows that have changed after a cursor; none, and where they begin, if it is nil.
  ///
  /// If it is `isExact`, all that was committed before is told of, and when each row was edited.
  package func changedKeys(
    since cursor: String?, tables: [String], isExact: Bool, within limit: Duration
  ) async throws(FlotillaError) -> ChangedKeys {
    let request = ControlRequest.changedKeys(
      since: cursor, tables: tables, isExact: isExact, milliseconds: Int(limit.milliseconds))
    // A node that answers has looked at its file and folder; to do so again takes 2 ms.
    let client = try ControlClient(database: sidecar.database)
    if let answer = try await client.ask(request, as: ChangedKeys.Answer.self) {
      return try ChangedKeys(answer)
    }
    let answer = try await perform(request) { node async throws(FlotillaError) in
      try await node.foldNow()
      return try await node.changedKeys(
        since: cursor, tables: tables, isExact: isExact, within: .zero)
    }
    return try ChangedKeys(answer)
  }
}

extension Replica {
  /// When rows were edited last, or deleted, in ms since 1970; nil for those of which nobody knows.
  package func stamps(
    of table: String, _ keys: [[SQLite.Value]]
  ) async throws(FlotillaError) -> [Int64?] {
    try await withFile { store throws(StoreError) in
      try store.feed.stamps(of: table, keys).map { $0?.knownMoment }
    }
  }

  /// Whether a node answers for it.
  package func isServed() async -> Bool {
    guard let client = try? ControlClient(database: sidecar.database) else { return false }
    return (try? await client.ask(.mark, as: Mark.self)).flatMap { $0 } != nil
  }
}
