import Replication
import SQLite
import Store

/// Seeing to it that no two edits get one number: a file that was restored or copied goes on under
/// a new origin (docs/lives.md).
extension Node {
  /// Compares the file with what stands beside it, before anything is written. Unless it is
  /// offline, this node begins a run, and may send what it writes. False if that is yet to be noted
  /// in the file, for another program has the lock; a node for one command fails then.
  static func settleLife(
    of store: StoreActor, _ sidecar: Sidecar, _ keys: NodeKeys, mode: Mode, run: UInt64,
    within timeout: Duration?, _ log: @Sendable (String) -> Void
  ) async throws(FlotillaError) -> Bool {
    let database = sidecar.database
    let run = mode == .offline ? nil : run
    let mark = try await reporting(database) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in store.lifeMark }
    }
    var isNoted = true
    let noted = LedgerFile.read(sidecar.ledgerPath)
    var beside = try sidecar.record()
    let before = beside
    let (machine, file) = (Machine.present(), Sidecar.FileMark(path: database))
    let doubt = LifeRecord.doubt(
      noted, database: mark, isSameMachine: beside.machine?.isSame(as: machine) ?? true,
      isSameFile: beside.file?.isSame(as: file) ?? true)
    if let doubt {
      let (life, run) = (UInt64.random(in: 0 ... .max), run ?? .random(in: 0 ... .max))
      try await begin(life, run: run, doubt, above: nil, in: store, sidecar, keys)
      log(Self.sentence(doubt))
    } else if let run {
      // Noted beside the file first: until the file has heard of it, its last run is as good.
      let next = LifeMark(origin: mark.origin, run: run, seq: mark.seq)
      let record = LifeRecord(mark: next, previousRun: mark.run)
      try await open(sidecar.ledgerPath, record, in: store, database)
      isNoted = try await begin(
        run, in: store, database, isLasting: mode == .lasting, within: timeout)
    } else if let noted {
      try await open(sidecar.ledgerPath, noted, in: store, database)
    }
    guard doubt != nil || run != nil else { return isNoted }
    (beside.machine, beside.file) = (machine, file)
    if beside != before { try sidecar.save(beside) }
    return isNoted
  }

  private static func begin(
    _ run: UInt64, in store: StoreActor, _ database: String, isLasting: Bool,
    within timeout: Duration?
  ) async throws(FlotillaError) -> Bool {
    await store.begin(run: run)
    let deadline = timeout.map { Uptime.now + $0.milliseconds } ?? .max
    do {
      try await store.patiently(until: deadline) { (_) throws(StoreError) in }
      return true
    } catch {
      guard isLasting, error.cause?.isBusy == true else {
        throw FlotillaError(error, path: database)
      }
      return false
    }
  }

  /// Notes the run once the lock is free, and meets the others then.
  ///
  /// What was told by a run that the file never heard of would look as if the file had been put
  /// back since: nothing is said before.
  func noteRun() async {
    guard !isRunNoted else { return }
    do {
      runLog = try await store.patiently { (store) throws(StoreError) in store.runLog }
      isRunNoted = true
    } catch {
      if !note(error) { warn("could not note that this node runs: \(error.message)") }
      return
    }
    await perform(mesh.receive(.woke, at: .now))
  }

  /// Begins a life in the file, then notes it beside the file: after a kill in between there would
  /// be one more.
  private static func begin(
    _ life: UInt64, run: UInt64, _ doubt: Doubt, above common: UInt64?,
    renewingTo mark: Replication.Mark? = nil,
    in store: StoreActor, _ sidecar: Sidecar, _ keys: NodeKeys
  ) async throws(FlotillaError) {
    let origin = Origin.of(keys.identity, life: life, .openSSL)
    let mark = try await reporting(sidecar.database) { () async throws(StoreError) in
      try await store.patiently { (store) throws(StoreError) in
        try store.beginLife(
          doubt, origin: origin, life: life, run: run, reissuingAbove: common,
          renewingTo: mark, at: .now)
        return store.lifeMark
      }
    }
    let record = LifeRecord(mark: mark, previousRun: run)
    try await open(sidecar.ledgerPath, record, in: store, sidecar.database)
  }

  private static func open(
    _ path: String, _ record: LifeRecord, in store: StoreActor, _ database: String
  ) async throws(FlotillaError) {
    try await reporting(database) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        do throws(FlotillaError) {
          store.ledger = try LedgerFile(path: path, record: record)
        } catch {
          throw StoreError(.ledger, error.message, remedy: error.remedy)
        }
      }
    }
  }

  /// A member knows this file as this node from now on, wherever it came from; or it knows another
  /// copy.
  func noteMet(_ isMet: Bool = true) async {
    guard !isMet || recentTwin == nil else { return }
    do {
      try await store.run { (store) throws(StoreError) in try store.noteMet(isMet) }
    } catch {
      // It is noted when the next one is met.
      warn("could not note that members know this node: \(error.message)")
    }
  }

  /// A peer shows that this node has signed for edits that its session does not know of. If the
  /// file does not hold them either, they were made by another copy of it, or by this one before it
  /// was restored.
  func examine(_ have: Have, of session: PeerSession) async {
    guard let reach = have.testimony, let position = await doubt(reach, from: session) else {
      return
    }
    await session.feed(.confirmed(have, position))
  }

  /// The same, beside rows of an exchange; gives nothing if this node goes on in another life.
  @discardableResult
  func doubt(_ reach: Reach, from session: PeerSession) async -> Position? {
    do {
      let (isLost, position) = try await store.run { (store) throws(StoreError) in
        (store.isContradicted(by: reach), store.position)
      }
      guard isLost else { return position }
    } catch {
      couldNotMerge(error, from: peer(of: session)?.name ?? "a peer")
      return nil
    }
    // Two peers may say so in one moment.
    if !isBeginningLife { await beginLife(.unknown) }
    return nil
  }

  /// Authors alone push what they have written.
  func mayPush(_ merge: Merge) -> Bool {
    guard case .push(let origin, _, _) = merge.kind else { return true }
    return peers[merge.sender]?.origin.map { $0 == origin } ?? true
  }

  /// A site that a version before has founded: from now on origins count for which their owners
  /// have signed, and those that were there before.
  ///
  /// No admin needs to know all of these: whoever holds one that is not exempt says so, whenever
  /// that is. In a closed site nobody takes one any more.
  func closeSite() async {
    guard ownEntry?.role == .admin, ownEntry?.isMember == true, firstCopy == nil,
      clock.now.site != nil, trouble.current == nil
    else { return }
    let exempt = roster.roll.exempt
    let older = position.frontier.list.map(\.origin).filter {
      $0 != position.own && position.reaches[$0] == nil && exempt?.contains($0) != true
    }
    guard exempt == nil || !older.isEmpty else { return }
    do throws(FlotillaError) {
      for start in stride(from: 0, through: older.count, by: SiteStatement.mostExempt) {
        try await say(.close(besides: Array(older[start...].prefix(SiteStatement.mostExempt))))
      }
      guard exempt == nil else { return }
      log("from now on members are believed about edits of others that these have signed for")
    } catch {
      warn("could not say that edits are signed for: \(error.message)")
    }
  }

  /// Goes on under a new origin, and meets everybody anew.
  func beginLife(_ doubt: Doubt, renewingTo mark: Replication.Mark? = nil) async {
    isBeginningLife = true
    defer { isBeginningLife = false }
    let life = UInt64.random(in: 0 ... .max)
    do {
      let common: UInt64? =
        doubt.spoilsNumbers
        ? try await store.run { (store) throws(StoreError) in try store.commonSeq() } : nil
      try await Self.begin(
        life, run: run, doubt, above: common, renewingTo: mark, in: store, sidecar, keys)
      (self.life, runLog, position) = try await store.run { (store) throws(StoreError) in
        (try store.life(), store.runLog, store.position)
      }
      savedDelivery = position.frontier[position.own]
      isSure = false
      log(Self.sentence(doubt))
    } catch {
      // Nothing goes out meanwhile: the next session begins with the same word.
      log("\(doubt.sentence), and a new origin could not be taken: \(error)")
    }
    for session in sessions.values {
      await session.feed(.close(Bye(.other, "this node goes on under a new origin")))
    }
  }

  /// The file was put back while this node ran: everything is read again from it.
  func beginAgain(_ error: StoreError) {
    guard !stopRequest.startsAgain else { return }
    log(error.message)
    let bye = Bye(.stopping, "the file of \(identity.name) was put back to an earlier state")
    stopRequest.make(bye, because: FlotillaError(error, path: path), startsAgain: true)
  }

  /// A member has this node twice. Both copies write under origins of their own from now on, but
  /// only one of them can be connected with it.
  func meetTwin(by peer: String) async {
    let isFirst = twin == nil
    twin = (Uptime.now, peer)
    if isFirst { await beginLife(.twin) } else { await noteMet(false) }
  }

  /// That nobody judges, because the anchor goes on with a new life.
  func standDownRemark() async -> String? {
    // A remark must not make `status` fail.
    guard let anchor, (try? await hasStoodDown()) == true else { return nil }
    let again = isAnchor && mayAppoint ? "--here" : shellWord(anchor.name)
    return "\(anchor.name) was the anchor and does not judge any more, for its file was restored "
      + "or it was forgotten; " + appointing("appoint it again or another", again)
  }

  /// Another copy of this node that was seen in the last ten minutes.
  private var recentTwin: (at: Int64, peer: String)? {
    twin.flatMap { isOfLate($0.at) ? $0 : nil }
  }

  private func isOfLate(_ moment: Int64) -> Bool { Uptime.now - moment < 600_000 }

  /// Whether this node and a member have parted in the last ten minutes because there are two of
  /// one of them.
  func isTwinOfLate(_ node: Identity) -> Bool {
    peers[node]?.twinAt.map(isOfLate) ?? false
  }

  /// That two copies of a member run, for everybody who has met both.
  var twinsRemark: String? {
    guard recentTwin == nil else { return nil }
    let names = peers.values.filter { isTwinOfLate($0.node) }.map(\.name).sorted()
    guard !names.isEmpty else { return nil }
    return "two copies of \(names.joined(separator: ", and of ")) run, and take turns here: stop "
      + "one of them and make it a node of its own there: flotilla leave DB --force; then join"
  }

  /// What a person should know about the life of this replica.
  func lifeRemark() async -> String? {
    if let twin = recentTwin {
      return "another copy of this node runs, as \(twin.peer) sees: stop one of them and make it a "
        + "node of its own there: flotilla leave DB --force; then join"
    }
    // A remark must not make `status` fail.
    guard let story = try? await store.run({ (store) throws(StoreError) in try store.lifeStory() })
    else { return nil }
    let storyShown: Int64 = 30 * 86_400_000
    guard Uptime.wall - story.at < storyShown else { return nil }
    return "since \(Self.text(story.at)): \(Self.sentence(story.doubt))"
  }

  static func sentence(_ doubt: Doubt) -> String {
    "\(doubt.sentence): edits made here go on under a new origin, and nothing that others "
      + "have is lost"
  }
}

extension StoreError.Code {
  /// What belongs beside the file cannot be written.
  static let ledger = StoreError.Code("ledger")
}
