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
      work.loop(
        Task {
          await withTaskCancellationHandler {
            for await _ in watch.changes {
              await self.notice(.sign)
              if Task.isCancelled { break }
            }
          } onCancel: {
            watch.stop()
          }
        })
    } catch {
      warn("cannot watch the folder (\(error)); looking every \(Self.slowPoll / 1_000) s instead")
    }
    work.loop(
      Task {
        while (try? await Task.sleep(for: .milliseconds(Self.slowPoll))) != nil {
          await self.patrol()
        }
      })
    // Not with the patrol: that may fold for long, and the log grows meanwhile.
    work.loop(
      Task {
        while (try? await Task.sleep(for: .milliseconds(Self.slowPoll))) != nil {
          await self.store.tell { $0.cutSpentExports(at: self.clock.now) }
        }
      })
    work.loop(Task { await self.store.keepLogShort { self.log($0) } })
  }

  /// Carries out what the notice decides, until there is nothing but to wait.
  func notice(_ input: WriteNotice.Input) async {
    var next = notice.receive(input, at: Uptime.now)
    while let directive = next, !isStopping {
      switch directive {
      case .look: next = notice.receive(await look(), at: Uptime.now)
      case .fold(let version): next = notice.receive(await fold(version), at: Uptime.now)
      case .wait(let microseconds, let sign):
        work.cancel(.nextLook)
        work.begin(
          .nextLook,
          Task {
            guard (try? await Task.sleep(for: .microseconds(microseconds))) != nil else { return }
            await self.notice(.waited(sign: sign))
          })
        return
      }
    }
  }

  private func look() async -> WriteNotice.Input {
    do {
      return .looked(
        version: try await store.run { (store) throws(StoreError) in try store.file.dataVersion() })
    } catch {
      return failed(error)
    }
  }

  private func fold(_ version: Int64) async -> WriteNotice.Input {
    if trouble.rests(at: .now) { return .failed }
    do {
      try await foldAll()
      rowLines.hasFolded()
      // The version from before the fold: what came meanwhile is looked at again.
      return .folded(version: version)
    } catch {
      return failed(error)
    }
  }

  private func failed(_ error: StoreError) -> WriteNotice.Input {
    if note(error) { return .failed }
    if let line = rowLines.couldNotFold(FlotillaError(error, path: path).message) { warn(line) }
    return .failed
  }

  /// Folds until nothing waits; while another program has the write lock, until `deadline`. Tells
  /// how many versions that has made.
  func foldAll(
    until deadline: Int64 = .max, telling: (Int) -> Void = { _ in }
  ) async throws(StoreError) {
    var folded = 0
    while !isStopping {
      let (result, position, held) = try await store.fold(
        until: deadline, isSent: !sessions.isEmpty)
      await notice(.held(held))
      await self.folded(result, position)
      folded += result.versions
      telling(folded)
      guard result.hasMore else { return }
    }
  }

  /// Folds what waits, if it is more than one commit takes.
  func foldBacklog() async throws(StoreError) {
    try await store.foldBacklog { await self.folded($0, $1) }
  }

  /// Tells every session what was folded here.
  func folded(_ result: FoldResult, _ position: Position) async {
    guard position.age > self.position.age else { return }
    let before = self.position
    self.position = position
    noteBehind()
    await tellKeys(after: before)
    tell(.worked)
    for session in sessions.values {
      if let push = result.push { await session.feed(.folded(push)) }
      await session.feed(.advanced(position))
      if let stretch = result.stretch { await session.feed(.foldedStretch(stretch)) }
    }
    await askForRows()
    for session in sessions.values where before.frontier != position.frontier {
      await letGoOfFormer(by: session, since: before.frontier)
    }
    // What was merged may be the last that was missing to be in touch with the anchor.
    if !contact.isOnline, anchor != nil, !isAnchor { await followSessions() }
  }

  /// Rows came that cannot stand in their tables: that is counted, not said each time.
  private func tellShelved(_ count: Int, from sender: String?) {
    if let line = rowLines.shelved(count, from: sender, at: .now) { log(line) }
  }

  /// A session has merged rows from its peer: the others hear of it.
  func merged(_ outcome: MergeOutcome, _ position: Position, sender: String) async {
    tellShelved(outcome.shelved, from: sender)
    await tell(outcome.unmatched, from: sender)
    await leftToFold(outcome.fold, position)
  }

  /// The same as `folded`; what is left to do is done beside the session that asks: it must go on
  /// reading, else the link is taken for dead.
  func leftToFold(_ result: FoldResult, _ position: Position) async {
    await folded(result, position)
    guard result.hasMore, !work.isUnderWay(.folding) else { return }
    work.begin(
      .folding,
      Task {
        do throws(StoreError) {
          try await self.foldAll()
        } catch {
          // The next look tries again.
          if !self.note(error) {
            self.warn("could not take in what was written: \(error.message)")
          }
        }
        self.work.end(.folding)
      })
  }

  /// `isTold`: the end of the session tells it.
  func couldNotMerge(_ error: StoreError, from peer: String, isTold: Bool = false) {
    let failure = FlotillaError(error, path: path)
    // What a peer sends wrongly says nothing about this file.
    if error.code != .wire, error.code != .behind { copy.fail(failure) }
    guard !isTold else { return }
    warn("could not merge rows from \(peer): \(failure.message)", about: peer)
  }

  /// Something here is too long for any peer.
  func couldNotSend(_ what: String, to peer: String) {
    warn("cannot send to \(peer): \(what)", about: peer)
  }

  /// Silent links are noticed and addresses tried at once, not when their timers find out.
  private func wake(after seconds: Int64) async {
    log("this machine was asleep for \(seconds) s")
    for session in sessions.values { await session.feed(.tick) }
    await perform(mesh.receive(.woke, at: .now))
  }

  /// Once an hour: what is kept of conflicts, rulings and verdicts stays within its bounds.
  private func trimLogs() {
    guard !work.isUnderWay(.trimming), times.takeTrim(at: Uptime.now) else { return }
    work.begin(
      .trimming,
      Task {
        do throws(StoreError) {
          try await self.trim()
        } catch {
          if !self.note(error) { self.warn("could not shorten the logs: \(error.message)") }
        }
        self.work.end(.trimming)
      })
  }

  private func trim() async throws(StoreError) {
    let slices = try await store.run { (store) throws(StoreError) in
      try store.logExcess(at: self.clock.now)
    }
    for slice in slices where !isStopping {
      try await store.patiently { (store) throws(StoreError) in try store.letGo(of: slice) }
      // Programs that write have their turn in between.
      guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { return }
    }
    try await store.patiently { (store) throws(StoreError) in
      try store.feed.tend(at: Uptime.wall)
    }
  }

  /// Every few seconds: the file is where it was, in WAL mode, and nothing was overlooked.
  private func patrol() async {
    guard !isStopping else { return }
    if let slept = times.slept(Uptime.now - Uptime.awake) { await wake(after: slept / 1_000) }
    guard FileIdentity(path: sidecar.database) == fileIdentity else {
      let failure = FlotillaError(
        .notADatabase, "\(path) was moved, removed or replaced while its node ran",
        remedy: "Put it back, with its folder \(sidecar.folder), and start the node again.")
      let bye = Bye(.stopping, "the database of \(identity.name) is gone")
      return stopRequest.make(bye, because: failure)
    }
    await lookAtTime()
    await notice(.patrol)
    await noteRun()
    await examineFile()
    await saveUnsaved()
    await closeSite()
    trimLogs()
    if times.takePeers(isNews: false, at: Uptime.now) { await savePeers() }
    await tendUndoBook()
    tellShelved(0, from: nil)
    await tell(UnmatchedContent(), from: "")
    await collectDeletions()
    if rights(of: identity.node) != rights { await followRights() }
    await askForRows()
    await pullNext()
    await advertise()
    do {
      let changed = try await store.patiently { (store) throws(StoreError) in
        try store.file.ensureWAL()
      }
      if changed { log("the journal mode was changed by a program; it is WAL again") }
    } catch {
      if note(error) { return }
      log("the journal mode is not WAL: \(FlotillaError(error, path: path).message)")
    }
  }
}
