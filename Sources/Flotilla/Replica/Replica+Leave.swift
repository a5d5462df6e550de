import Network
import Replication
import Store

/// Ceasing to be a replica.
extension Replica {
  /// Failures of a set-up that cannot be opened any more.
  private static let broken: Set<FlotillaError.Code> = [
    .movedWithoutFolder, .notInitialised, .damagedSetUp,
  ]

  /// So often, 5 s each, the write lock is waited for once the others were told.
  private static let mostTries = 6

  /// Takes Flotilla out of this file; without `force` it stops short if edits were not sent, or if
  /// the conflict log holds what nobody has looked at. So it does if the others would have no admin
  /// or no site key any more.
  public func leave(
    force: Bool, progress: (@Sendable (WorkProgress) -> Void)? = nil
  ) async throws(FlotillaError) -> LeaveReport {
    var report = LeaveReport(site: "", node: "", unsent_rows: 0, left: false)
    do {
      guard try await !mayBeCopy() else { return try await leaveQuietly(force: force) }
      let unsent = try await unsentAfterSending(progress)
      report.site = unsent.site
      report.node = unsent.node
      report.unsent_rows = unsent.rows
      report.open_conflicts = try await conflicts().conflicts.count { !$0.isFresh }
      report.loss = unsent.loss
      report.shut_out = unsent.isOut
      report.parked_rows = await isAlone(unsent) ? unsent.parked : 0
      let isClean =
        unsent.rows == 0 && report.open_conflicts == 0 && unsent.loss == nil
        && report.parked_rows == 0
      guard force || isClean else { return report }
      try await requireWriteLock()
      let lock: FileLock
      if let freed = try await stop(isLeaving: true) {
        (lock, report.told) = (freed, unsent.connected)
      } else {
        (lock, report.told) = try await sayGoodbye()
      }
      report.untold = unsent.others.filter { !report.told.contains($0) }
      try await takeOut()
      lock.release()
    } catch {
      // A set-up that cannot be opened any more can still be removed, if that is wanted.
      guard force, Self.broken.contains(error.code), try isReplica() else { throw error }
      try await requireWriteLock()
      let lock = error.code == .damagedSetUp ? try await stop(isLeaving: true) : nil
      report = nameless()
      try await takeOut()
      lock?.release()
    }
    report.left = true
    report.broken = await broken()
    return report
  }

  /// Views and triggers of the application that were made over Flotilla's: programs cannot use
  /// them any more, nor write where a trigger is one.
  private func broken() async -> [String] {
    let database = sidecar.database
    let found = try? await offPool { () throws(FlotillaError) in
      try reporting(database) { () throws(StoreError) in
        try ReplicaFile.namingFlotilla(path: database)
      }
    }
    return found ?? []
  }

  /// Whether the members may know another copy of this file as the node: what is said here would be
  /// said for that one.
  private func mayBeCopy() async throws(FlotillaError) -> Bool {
    try await check()
    let (path, sidecar) = (path, sidecar)
    return try await offPool { () throws(FlotillaError) in
      if let machine = try sidecar.record().machine, !machine.isSame(as: .present()) {
        return true
      }
      return try reporting(path) { () throws(StoreError) in
        try Store(path: sidecar.database, inspects: false).lives.story()?.isPerhapsOfCopy ?? false
      }
    }
  }

  /// Takes Flotilla out of what may be a copy; nobody is told.
  private func leaveQuietly(force: Bool) async throws(FlotillaError) -> LeaveReport {
    guard force else {
      throw FlotillaError(
        .node,
        "\(path) came from another machine, or another copy of it was running; "
          + "nothing was done",
        remedy: "If this is the copy: flotilla leave \(shellWord(path)) --force takes Flotilla out "
          + "of it, and the original goes on. If no other copy runs any more: flotilla sync "
          + "\(shellWord(path)), then leave (as long as status tells of another copy that is not "
          + "enough).")
    }
    try await requireWriteLock()
    let lock = if let freed = try await stop(isLeaving: false) { freed } else { try lock() }
    var report = nameless()
    try await takeOut()
    lock.release()
    report.left = true
    report.broken = await broken()
    return report
  }

  /// What can be said without a node: nobody was told.
  private func nameless() -> LeaveReport {
    var report = LeaveReport(site: "", node: "", unsent_rows: 0, left: false, may_be_copy: true)
    if let store = try? Store(path: sidecar.database, inspects: false) {
      (report.site, report.node) = (store.siteName, store.nodeName)
    }
    return report
  }

  /// Whether nobody in reach has what is parked here.
  private func isAlone(_ unsent: UnsentReport) async -> Bool {
    guard unsent.parked > 0, unsent.connected.isEmpty else { return false }
    let report = try? await sync(with: nil, timeout: .seconds(10))
    return report?.peers.allSatisfy { $0.error != nil } ?? true
  }

  /// How much no other node has, after a try to send it to those in reach.
  private func unsentAfterSending(
    _ progress: (@Sendable (WorkProgress) -> Void)?
  ) async throws(FlotillaError) -> UnsentReport {
    let before = try await unsent()
    guard before.rows > 0 else { return before }
    // Whom it could not reach does not matter: what is left is counted anew.
    _ = try? await sync(with: nil, timeout: .seconds(10), progress: progress)
    return try await unsent()
  }

  private func unsent() async throws(FlotillaError) -> UnsentReport {
    try await perform(.unsent) { node async throws(FlotillaError) in try await node.unsent() }
  }

  /// Tells the members in reach that this node leaves, if no node runs that could; gives the lock
  /// and their names.
  private func sayGoodbye() async throws(FlotillaError) -> (FileLock, [String]) {
    let bye = Bye(.leaving, "this node has left the site")
    let told = try await withNode(mode: .brief, bye: bye) { node async throws(FlotillaError) in
      await node.untilConnected(within: .seconds(2))
      return await node.connectedMembers
    }
    return (try lock(), told)
  }

  private func lock() throws(FlotillaError) -> FileLock {
    guard let lock = try sidecar.lock() else {
      throw FlotillaError(
        .node, "another Flotilla process works on \(path)", remedy: "Try again when it has ended.")
    }
    return lock
  }

  /// Throws unless the file can be written now: the others must not be told that this node has
  /// left, and the node not be stopped, when Flotilla cannot be taken out.
  private func requireWriteLock() async throws(FlotillaError) {
    let (path, database) = (path, sidecar.database)
    do {
      try await offPool { () throws(FlotillaError) in
        try reporting(path) { () throws(StoreError) in try ReplicaFile.tryWriting(path: database) }
      }
    } catch {
      throw FlotillaError(
        error.code, "\(error.message); nothing was changed", remedy: error.remedy)
    }
  }

  /// Somebody may have been faster: by now the others know, so this waits longer than usual.
  private func takeOut() async throws(FlotillaError) {
    var tries = 1
    while true {
      do {
        return try await removeSetUp()
      } catch {
        guard error.code == .locked, tries < Self.mostTries else {
          throw FlotillaError(
            error.code, "\(error.message); the node is stopped, the others were told",
            remedy: "\(error.remedy ?? "") Then: flotilla leave \(shellWord(path)) --force")
        }
        tries += 1
      }
    }
  }

  private func removeSetUp() async throws(FlotillaError) {
    let (path, sidecar) = (path, sidecar)
    try await offPool { () throws(FlotillaError) in
      // If this is cut off, what is left of the folder is of no node that anybody waits for.
      sidecar.giveUp()
      try reporting(path) { () throws(StoreError) in
        if sidecar.exists, let store = try? Store(path: sidecar.database) {
          try store.leave()
        } else {
          try ReplicaFile.remove(path: sidecar.database)
        }
      }
      sidecar.remove()
    }
  }
}
