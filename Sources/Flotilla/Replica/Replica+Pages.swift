import SQLite
import Store

/// A first copy as pages, before a node begins with the rest.
extension Replica {
  /// Whether no program has made a table in the file yet.
  func holdsNothing() throws(FlotillaError) -> Bool {
    let connection = try OpeningCheck(path: path, sidecar: sidecar).open()
    do {
      return try connection.row("SELECT 1 FROM main.sqlite_schema LIMIT 1") == nil
    } catch {
      throw FlotillaError(error, path: path)
    }
  }

  /// What came as pages.
  struct Pages: Equatable {
    var bytes = 0
    /// Whether its inviter is not to be waited for: rows come from whoever has them.
    var isFromAnybody = false
  }

  /// Fetches the pages, if the copy may come so. What does not come so comes by rows. The caller
  /// holds the lock of the database.
  ///
  /// With `persists` a copy that was cut off is an error, and goes on with the next command.
  func fetchPages(
    _ copy: FirstCopy, from address: String, persists: Bool = true,
    log: @escaping @Sendable (String) -> Void = { _ in },
    progress: @escaping @Sendable (JoinProgress) -> Void = { _ in }
  ) async throws(FlotillaError) -> Pages {
    guard copy.mayBePages else { return Pages() }
    let rows = copy.rows
    let fetch = PageFetch(sidecar: sidecar, copy: copy, address: address) { received, of in
      let share = Double(received) / Double(max(1, of))
      progress(
        .copying(
          rows: Int(Double(rows) * min(1, share)), of: Int(clamping: rows), bytes: received))
    }
    let outcome = try await fetch.run(persists: persists)
    switch outcome {
    case .adopted(let bytes): return Pages(bytes: bytes)
    case .rows(let reason), .failed(let reason):
      log("the first copy goes row by row: \(reason)")
      progress(.goingByRows(reason: reason))
      return Pages(isFromAnybody: outcome == .failed(reason))
    case .cut(let reason):
      log("the first copy was cut off: \(reason)")
      // A node must not wait for its inviter alone.
      guard persists else { return Pages() }
      throw FlotillaError(
        .peer, "the first copy from \(copy.name) stopped: \(reason)",
        remedy: "This node is a member now and \(StatusRemarks.continuation(path))")
    }
  }
}
