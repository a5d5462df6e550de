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
    let keys = NodeKeys()
    let life = UInt64.random(in: 0 ... .max)
    let name = try Self.checkedName(node ?? Self.machineName)
    let isNew = try prepare()
    let isEmpty = isNew ? true : try holdsNothing()
    let paired: Pairing.Result
    let copy: FirstCopy
    let warnings: [String]
    do {
      paired = try await Pairing(code: invite, keys: keys, name: name) {
        objects throws(FlotillaError) in
        if !isNew { try refuseOtherKeys(objects) }
      }.pair(at: address)
      progress(
        .found(
          site: paired.offer.siteName, node: paired.inviter.name, address: paired.address,
          words: paired.words))
      copy = FirstCopy(
        inviter: paired.inviter.node, name: paired.inviter.name, address: paired.address,
        rows: paired.offer.rows, mayBePages: isEmpty)
      warnings = try create(
        Store.Identities(
          site: paired.inviter.site, siteName: paired.offer.siteName, node: keys.identity,
          nodeName: paired.admit.nodeName, origin: Origin.of(keys.identity, life: life, .openSSL),
          life: life,
          rootKey: paired.admit.rootKey, statements: paired.admit.statements), keys,
        creating: paired.objects, copying: copy)
    } catch {
      if isNew { removeEmpty() }
      throw error
    }
    guard let lock = try sidecar.lock() else { throw sidecar.occupied(path) }
    let bytes = try await fetchPages(copy, from: paired.address, progress: progress)
    var options = RunOptions()
    options.peers = [paired.address]
    options.discovery = false
    let copied = try await withNode(mode: .brief, lock: lock, options: options) {
      node async throws(FlotillaError) in
      try await node.finish(copy, hasPages: bytes > 0, progress: progress)
    }
    return JoinReport(
      site: paired.offer.siteName, node: paired.admit.nodeName, from: paired.inviter.name,
      address: paired.address, words: paired.words, rows: copied.rows, bytes: bytes + copied.bytes,
      seconds: Double(Uptime.now - start) / 1_000, replaced: copied.replaced, warnings: warnings)
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
