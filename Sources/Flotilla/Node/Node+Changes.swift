import Replication
import Store

/// The change feed, for programs.
extension Node {
  /// So many entries of the log are looked at in one go.
  private static let entriesRead = 1_000

  /// What has changed after a cursor; waits until something has.
  func changes(
    since text: String?, tables names: [String]?, within limit: Duration
  ) async throws(FlotillaError) -> OpenReplica.Changes {
    var cursor = try changeCursor(text)
    let wanted = try await tables(called: names)
    let deadline = Uptime.now + limit.milliseconds
    while true {
      let age = position.age
      let page = try await changes(after: cursor, wanted)
      let isNews = cursor == nil || page.isAnew || !page.changes.isEmpty
      cursor = page.cursor
      if isNews || !page.hasMore && Uptime.now >= deadline { return OpenReplica.Changes(page) }
      if page.hasMore { continue }
      guard await until(deadline, { position.age != age || isStopping }), !isStopping else {
        return OpenReplica.Changes(page)
      }
    }
  }

  private func changes(
    after cursor: ChangeCursor?, _ wanted: Set<Int64>?
  ) async throws(FlotillaError) -> ChangePage {
    let wall = Uptime.wall
    return try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        try store.feed.changes(after: cursor, limit: Self.entriesRead, at: wall, of: wanted)
      }
    }
  }

  /// Where a reader has come to; nil if it has read nothing.
  func changeCursor(_ text: String?) throws(FlotillaError) -> ChangeCursor? {
    guard let text else { return nil }
    guard let cursor = ChangeCursor(text) else {
      throw FlotillaError(
        .usage, "this is no cursor: \(text)",
        remedy: "Take one from a line of: flotilla changes \(shellWord(path))")
    }
    return cursor
  }

  /// The numbers of the replicated tables that are meant by some names; nil means all tables.
  func tables(called names: [String]?) async throws(FlotillaError) -> Set<Int64>? {
    guard let names else { return nil }
    let numbers = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        names.map { store.tables.tracked(called: $0) }
      }
    }
    for (name, number) in zip(names, numbers) where number == nil {
      throw FlotillaError(
        .table, "\(name) is not replicated here",
        remedy: "See: flotilla status \(shellWord(path))")
    }
    return Set(numbers.compactMap { $0 })
  }
}
