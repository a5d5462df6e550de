import Replication
import SQLite
import Store

/// Tables that appear in the file while the node runs.
extension Node {
  /// Where the site takes in new tables by itself, this node sees to those of its file.
  func startTakingIn() {
    work.loop(
      Task {
        var watch = NewTables()
        var seen: Int64?
        repeat {
          await self.takeIn(&watch, &seen)
        } while (try? await Task.sleep(for: .milliseconds(Self.slowPoll))) != nil
      })
  }

  /// One look; `seen` is the version of the schema in which nothing was new.
  private func takeIn(_ watch: inout NewTables, _ seen: inout Int64?) async {
    guard !isStopping, copy.unfinished == nil, trouble.current == nil, rights.isWhole,
      ownEntry?.isMember == true
    else { return }
    do {
      let before = watch.isWaiting ? nil : seen
      let (version, tables) = try await store.patiently { (store) throws(StoreError) in
        try store.untracked.new(since: before)
      }
      seen = version
      let found = tables ?? []
      let names = watch.receive(
        Dictionary(
          found.filter { $0.kind == .new }.map { ($0.name, $0.definition) },
          uniquingKeysWith: { $1 }), at: Uptime.now)
      // What speaks against it may go without a change of the schema.
      if found.contains(where: \.isRefused) { seen = nil }
      guard !names.isEmpty else { return }
      try await store.patiently { (store) throws(StoreError) in
        try store.track(names, rule: nil, at: self.clock.now)
      }
      log("replicating new tables from now on: \(names.joined(separator: ", "))")
      try await foldAll()
      await announce()
    } catch {
      if !note(error) { warn("could not take in new tables: \(error.message)") }
    }
  }

  /// Every table of the file, and every one that the site tracks.
  func tables() async throws(FlotillaError) -> TablesReport {
    try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        try TableChoice(store: store, clock: self.clock).list()
      }
    }
  }
}
