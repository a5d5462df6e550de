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
    try await requireTables(names)
    let wanted = names.map { Set($0.map(\.foldedForNames)) }
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
    after cursor: ChangeCursor?, _ wanted: Set<String>?
  ) async throws(FlotillaError) -> ChangePage {
    let wall = Uptime.wall
    return try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        try store.feed.changes(after: cursor, limit: Self.entriesRead, at: wall) {
          wanted?.contains($0.foldedForNames) ?? true
        }
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

  func requireTables(_ names: [String]?) async throws(FlotillaError) {
    guard let names else { return }
    let unknown = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        names.first { !store.tables.isTracked($0) }
      }
    }
    if let unknown {
      throw FlotillaError(
        .table, "\(unknown) is not replicated here",
        remedy: "See: flotilla status \(shellWord(path))")
    }
  }
}
