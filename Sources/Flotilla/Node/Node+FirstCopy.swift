import Network
import Replication
import Store

/// The first copy after joining: it may be cut off, and goes on whenever a node is at work.
extension Node {
  struct Copied: Sendable {
    var rows: Int
    var bytes: Int
    /// Rows of the file that gave way to the site's.
    var replaced: Int
    var warnings: [String] = []
  }

  /// Whether all has come that the copy must have: what its inviter was last known to hold, whoever
  /// brought it. If the inviter has left the site, what any other member holds.
  private func isComplete(_ copy: FirstCopy) -> Bool {
    guard let inviter = peers[copy.inviter] else {
      return peers.values.contains { hasAll(of: $0) && $0.session != nil && $0.hasSpoken }
    }
    return hasAll(of: inviter, expecting: copy.rows)
  }

  private func hasAll(of peer: PeerRecord, expecting rows: UInt64 = 1) -> Bool {
    // What an earlier session told is a goal as well; nothing told is none.
    let isKnown = peer.holds.isEmpty ? rows == 0 && peer.session != nil : true
    let isSettled = pullTurns.current == nil
    return isKnown && !peer.isReceiving && isSettled && position.frontier.covers(peer.holds)
  }

  /// Waits until the first copy is complete, if it is not, and notes that in the file.
  func awaitFirstCopy() async {
    guard let copy = copy.unfinished else { return }
    let day: Int64 = 86_400_000
    while !(await until(Uptime.now + day) { isComplete(copy) || hasGoal(copy) }) {
      guard !isStopping, !Task.isCancelled else { return }
    }
    // The goal is remembered before a kill can come, for the inviter may be away afterwards.
    await savePeers()
    while !(await until(Uptime.now + day) { isComplete(copy) }) {
      guard !isStopping, !Task.isCancelled else { return }
    }
    do {
      try await store.run { (store) throws(StoreError) in try store.endFirstCopy() }
      self.copy.end()
      // A kill may have left it.
      PairingNote.forget(sidecar)
      await followNumber()
      log("the first copy is complete")
    } catch {
      self.copy.fail(FlotillaError(error, path: path))
      warn("could not note that the first copy is complete: \(error.message)")
    }
  }

  private func hasGoal(_ copy: FirstCopy) -> Bool { peers[copy.inviter]?.hasSpoken ?? false }

  /// Waits until this replica knows the time of the site and its anchor, as its inviter does. From
  /// now on it may be alone, and an edit that is made without these gets no verdict.
  private func settle() async {
    _ = await until(Uptime.now + Self.patience) {
      clock.now.site != nil || sessions.isEmpty || isStopping
    }
    await followOffice()
  }

  /// Waits until this replica holds all that its inviter holds; `hasPages`: most of it is here.
  func finish(
    _ copy: FirstCopy, hasPages: Bool, progress: @Sendable (JoinProgress) -> Void
  ) async throws(FlotillaError) -> Copied {
    await store.stopSharing()
    var watch = CopyWatch(at: Uptime.now)
    var lastSeen: (UInt64, Int) = (0, 0)
    while true {
      let bytes = receivedBytes
      let rows = self.copy.rows
      if rows != lastSeen.0 || bytes != lastSeen.1 {
        lastSeen = (rows, bytes)
        progress(self.copy.progress(of: copy, hasPages: hasPages, bytes: bytes))
      }
      if self.copy.unfinished == nil {
        await settle()
        let bytes = receivedBytes
        return try await reporting(path) { () async throws(StoreError) in
          try await store.run { (store) throws(StoreError) in
            let replaced = try store.survey.openConflictCount()
            let under = replaced > 0 ? try store.tableSurvey.rowsUnderOthers() : []
            return Copied(
              rows: try store.survey.applicationRowCount(), bytes: bytes, replaced: replaced,
              warnings: under.map(Self.warning))
          }
        }
      }
      if let failure = self.copy.failure {
        throw FlotillaError(
          failure.code, "the first copy stopped: \(failure.message)",
          remedy: "Put that right; this node is a member now and "
            + StatusRemarks.continuation(path))
      }
      guard !watch.isStalled(rows: rows, bytes: bytes, at: Uptime.now) else {
        let isAlone = peers.values.allSatisfy { $0.session == nil }
        throw FlotillaError(
          .peer,
          "the first copy from \(copy.name) stopped after \(rows) rows"
            + (isAlone ? ": \(copy.name) is not in reach" : ""),
          remedy: "This node is a member now and \(StatusRemarks.continuation(path))")
      }
      try? await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Nobody can tell whether the row of the site is an older state of that one or another one.
  private static func warning(_ table: String, rows: Int) -> String {
    "\(counted(rows, "row")) of \(table) in this file \(rows == 1 ? "refers" : "refer") by number "
      + "to a row that gave way, and so to the site's row of that number: look whether that is the "
      + "same one"
  }

  private var receivedBytes: Int {
    sessions.values.reduce(0) { $0 + Int(clamping: $1.link.bytesIn) }
  }

  /// How far the first copy is, for `status`.
  func firstCopyReport() async throws(FlotillaError) -> StatusReport.FirstCopy? {
    guard let copy = copy.unfinished else { return nil }
    let rows = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in try store.survey.liveRowCount() }
    }
    return StatusReport.FirstCopy(
      from: copy.name, rows: rows, of: max(rows, Int(clamping: copy.rows)))
  }
}
