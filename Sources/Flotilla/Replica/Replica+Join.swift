import FoundationEssentials
import Glibc
import Network
import Replication
import Store

extension Replica {
  /// Pairs with a site by a code and makes the first copy.
  public func join(
    code: String, node: String?, at address: String?,
    progress: @escaping @Sendable (JoinProgress) -> Void
  ) async throws(FlotillaError) -> JoinReport {
    let invite = try Self.parse(code)
    if let copy = try unfinishedCopy() {
      return try await resume(copy, at: address, progress: progress)
    }
    try refuseReplica()
    let start = Uptime.now
    let name = try Self.checkedName(node ?? Self.machineName)
    try checkRoom()
    let isNew = try prepare()
    let paired: Pairing.Result
    let copy: FirstCopy
    let warnings: [String]
    do {
      (paired, copy, warnings) = try await pair(
        invite, as: name, at: address, progress: progress)
    } catch {
      if isNew { removeEmpty() }
      throw error
    }
    guard let lock = try sidecar.lock() else { throw sidecar.occupied(path) }
    let pages = try await fetchPages(copy, from: paired.address, progress: progress)
    var options = RunOptions()
    options.peers = [paired.address]
    options.discovery = pages.isFromAnybody
    let (copied, role) = try await withNode(mode: .brief, lock: lock, options: options) {
      node async throws(FlotillaError) in
      let copied = try await node.finish(copy, hasPages: pages.bytes > 0, progress: progress)
      return (copied, await node.roleName)
    }
    return JoinReport(
      site: paired.offer.siteName, node: paired.admit.nodeName, role: role,
      from: paired.inviter.name, address: paired.address, words: paired.words,
      rows: copied.rows, bytes: pages.bytes + copied.bytes,
      seconds: Double(Uptime.now - start) / 1_000, replaced: copied.replaced,
      warnings: warnings + copied.warnings)
  }

  /// Becomes a member, and makes the file a replica whose first copy is yet to come.
  ///
  /// A failure after the code was used tells that the same command goes on.
  private func pair(
    _ code: InviteCode, as name: String, at address: String?,
    progress: @Sendable (JoinProgress) -> Void
  ) async throws(FlotillaError) -> (Pairing.Result, FirstCopy, warnings: [String]) {
    let note = PairingNote(sidecar, for: InvitationSecret(code))
    let keys = note.keys
    var admitted: Pairing.Result?
    do {
      let paired = try await Pairing(
        code: code, keys: keys, name: name,
        accept: { objects throws(FlotillaError) in try refuseOtherKeys(objects) }, note: note
      ).pair(at: address)
      admitted = paired
      progress(
        .found(
          site: paired.offer.siteName, node: paired.inviter.name, address: paired.address,
          words: paired.words))
      let copy = FirstCopy(
        inviter: paired.inviter.node, name: paired.inviter.name, address: paired.address,
        rows: paired.offer.rows, mayBePages: try holdsNothing())
      let life = UInt64.random(in: 0 ... .max)
      let warnings = try create(
        ReplicaFile.Identities(
          site: paired.inviter.site, siteName: paired.offer.siteName, node: keys.identity,
          nodeName: paired.admit.nodeName, origin: Origin.of(keys.identity, life: life, .openSSL),
          life: life,
          rootKey: paired.admit.rootKey, statements: paired.admit.statements), keys,
        creating: paired.objects, copying: copy)
      return (paired, copy, warnings)
    } catch {
      throw note.explained(error, admitted: admitted, as: name)
    }
  }

  /// What could fail once the code is used fails before, where that can be known.
  private func checkRoom() throws(FlotillaError) {
    if access(path, F_OK) == 0, let denial = WriteAccess.refusal(sidecar.database, path: path) {
      throw denial
    }
    if let room = DiskRoom.known(at: sidecar.database), room < DiskRoom.ofSetUp {
      throw FlotillaError(
        .diskFull, "the disk of \(path) has only \(DiskRoom.words(room))",
        remedy: "Make room and try again: the code was not used.")
    }
  }

  private static func parse(_ code: String) throws(FlotillaError) -> InviteCode {
    let remedy = "A code looks like K7QF-M2XD-9TRA-PZ4C-HJ3V-9R; type it again."
    do {
      return try InviteCode(code)
    } catch {
      switch error {
      case .length(let count):
        throw FlotillaError(
          .invitation, "the code is mistyped: it has \(count) characters, not 22",
          remedy: remedy)
      case .character(let character):
        throw FlotillaError(
          .invitation, "the code is mistyped: \"\(character)\" does not occur in codes",
          remedy: remedy)
      case .check:
        throw FlotillaError(
          .invitation, "the code is mistyped: its last group does not fit", remedy: remedy)
      }
    }
  }
}
