import Replication
import SQLite
import Store

/// Seeing to it that no two edits get one number: a file that was restored or copied goes on under
/// a new origin (docs/lives.md).
extension Node {
  /// Notes the run once the lock is free, and meets the others then.
  ///
  /// What was told by a run that the file never heard of would look as if the file had been put
  /// back since: nothing is said before.
  func noteRun() async {
    guard !life.isRunNoted else { return }
    do {
      let runs = try await store.patiently { (store) throws(StoreError) in store.lives.log }
      life.noteRun(runs)
    } catch {
      if !note(error) { warn("could not note that this node runs: \(error.message)") }
      return
    }
    await perform(mesh.receive(.woke, at: .now))
  }

  /// A member knows this file as this node from now on, wherever it came from; or it knows another
  /// copy.
  func noteMet(_ isMet: Bool = true) async {
    guard !isMet || life.twinTeller(at: Uptime.now) == nil else { return }
    do {
      try await store.run { (store) throws(StoreError) in try store.lives.noteMet(isMet) }
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
        (store.lives.isContradicted(by: reach), store.position)
      }
      guard isLost else { return position }
    } catch {
      couldNotMerge(error, from: peer(of: session)?.name ?? "a peer")
      return nil
    }
    // Two peers may say so in one moment.
    if !life.isBeginning { await beginLife(.unknown) }
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
    guard ownEntry?.role == .admin, ownEntry?.isMember == true, copy.unfinished == nil,
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
    life.beginAnother()
    defer { life.endBeginning() }
    let number = UInt64.random(in: 0 ... .max)
    do {
      let common: UInt64? =
        doubt.spoilsNumbers
        ? try await store.run { (store) throws(StoreError) in try store.lives.commonSeq() } : nil
      try await LifeFiles(store: store, sidecar: sidecar, keys: keys)
        .begin(number, run: run, doubt, above: common, renewingTo: mark)
      let (begun, runs, position) = try await store.run { (store) throws(StoreError) in
        (try store.lives.life(), store.lives.log, store.position)
      }
      self.position = position
      savedDelivery = position.frontier[position.own]
      life.go(on: begun, runs)
      log(doubt.lifeSentence)
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
    let isFirst = life.meetTwin(by: peer, at: Uptime.now)
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

  /// Whether this node and a member have parted in the last ten minutes because there are two of
  /// one of them.
  func isTwinOfLate(_ node: Identity) -> Bool {
    peers[node]?.twinAt.map { OwnLife.isOfLate($0, at: Uptime.now) } ?? false
  }

  /// That two copies of a member run, for everybody who has met both.
  var twinsRemark: String? {
    guard life.twinTeller(at: Uptime.now) == nil else { return nil }
    let names = peers.values.filter { isTwinOfLate($0.node) }.map(\.name).sorted()
    guard !names.isEmpty else { return nil }
    return "two copies of \(names.joined(separator: ", and of ")) run, and take turns here: stop "
      + "one of them and make it a node of its own there: flotilla leave DB --force; then join"
  }

  /// What a person should know about the life of this replica.
  func lifeRemark() async -> String? {
    if let peer = life.twinTeller(at: Uptime.now) {
      return "another copy of this node runs, as \(peer) sees: stop one of them and make it a "
        + "node of its own there: flotilla leave DB --force; then join"
    }
    // A remark must not make `status` fail.
    guard
      let story = try? await store.run({ (store) throws(StoreError) in try store.lives.story() })
    else { return nil }
    let storyShown: Int64 = 30 * 86_400_000
    guard Uptime.wall - story.at < storyShown else { return nil }
    return "since \(Self.text(story.at)): \(story.doubt.lifeSentence)"
  }
}
