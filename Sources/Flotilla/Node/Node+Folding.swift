import Network
import Replication
import Store

/// Noticing what applications write, and telling the sessions.
extension Node {
  /// The watch of the folder is confirmed by a look at this distance, in ms, in case it is deaf.
  static let slowPoll: Int64 = 2_000

  func startWatching() {
    do {
      let watch = try FolderWatch(path: sidecar.database)
      loops.append(
        Task {
          await withTaskCancellationHandler {
            for await _ in watch.changes {
              self.sign()
              if Task.isCancelled { break }
            }
          } onCancel: {
            watch.stop()
          }
        })
    } catch {
      log("cannot watch the folder (\(error)); looking every \(Self.slowPoll / 1_000) s instead")
    }
    loops.append(
      Task {
        while (try? await Task.sleep(for: .milliseconds(Self.slowPoll))) != nil {
          await self.patrol()
        }
      })
  }

  /// Something wrote to the file, perhaps this node itself: looks follow, soon ones first.
  ///
  /// A sign starts the series anew, also while it is in a long pause: a commit that comes just
  /// after a false sign must not wait for it.
  private func sign() {
    notice.step = 0
    pause?.cancel()
    guard looker == nil else { return }
    looker = Task {
      await self.look()
      self.looker = nil
    }
  }

  /// Goes on looking after a commit was found: the sign may have been that of the next one.
  private func look() async {
    while let pause = notice.next(), !isStopping {
      if pause > .zero {
        let sleep = Task { _ = try? await Task.sleep(for: pause) }
        self.pause = sleep
        await sleep.value
      }
      _ = await foldIfWritten()
    }
  }

  /// Folds if another connection has changed the file; true if it had.
  func foldIfWritten() async -> Bool {
    let sinceFold = Uptime.now - notice.lastFold
    if sinceFold < WriteNotice.distance {
      try? await Task.sleep(for: .milliseconds(WriteNotice.distance - sinceFold))
    }
    do {
      let version = try await store.run { (store) throws(StoreError) in
        try store.dataVersion()
      }
      guard version != notice.dataVersion else { return false }
      notice.dataVersion = version
      try await foldAll()
      return true
    } catch {
      log("could not take in what was written: \(FlotillaError(error, path: path).message)")
      return false
    }
  }

  /// Folds until nothing waits.
  func foldAll() async throws(StoreError) {
    while !isStopping {
      notice.lastFold = Uptime.now
      let (result, position) = try await store.fold()
      await folded(result, position)
      guard result.hasMore else { return }
    }
  }

  /// Tells every session what was folded here.
  func folded(_ result: FoldResult, _ position: Position) async {
    guard position.age > self.position.age else { return }
    self.position = position
    for session in sessions.values {
      if let push = result.push { await session.feed(.folded(push)) }
      await session.feed(.advanced(position))
    }
  }

  /// A session has merged rows from its peer: the others hear of it.
  func merged(_ outcome: MergeOutcome, _ position: Position, sender: String) async {
    if outcome.shelved > 0 {
      log("\(outcome.shelved) rows from \(sender) cannot stand in their tables yet; see status")
    }
    await folded(outcome.fold, position)
    if outcome.fold.hasMore { try? await foldAll() }
  }

  func couldNotMerge(_ error: StoreError, from peer: String) {
    let error = FlotillaError(error, path: path)
    mergeFailure = error
    log("could not merge rows from \(peer): \(error.message)")
  }

  /// Every few seconds: the file is where it was, in WAL mode, and nothing was overlooked.
  private func patrol() async {
    guard !isStopping else { return }
    let gap = Uptime.now - Uptime.awake
    if gap - lastAwakeGap > 1_000 {
      log("this machine was asleep for \((gap - lastAwakeGap) / 1_000) s")
      await perform(mesh.receive(.woke, at: .now))
    }
    lastAwakeGap = gap
    guard FileIdentity(path: sidecar.database) == fileIdentity else {
      failure = FlotillaError(
        .notADatabase, "\(path) was moved, removed or replaced, so its node stopped",
        remedy: "Put file and folder back in their place and start the node again.")
      log("\(path) was moved, removed or replaced: this node stops")
      requestStop()
      return
    }
    _ = await foldIfWritten()
    await pullNext()
    do {
      let changed = try await store.run { (store) throws(StoreError) in
        try store.ensureWAL()
      }
      if changed { log("the journal mode was changed by a program; it is WAL again") }
    } catch {
      log("the journal mode is not WAL: \(FlotillaError(error, path: path).message)")
    }
  }
}
