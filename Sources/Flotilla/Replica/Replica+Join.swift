import Foundation
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
    try refuseReplica()
    let start = Uptime.now
    let identity = RandomNumbers.identity()
    let name = try Self.checkedName(node ?? Self.machineName)
    let isNew = try prepare()
    let paired: Pairing.Result
    let admit: Admit
    let warnings: [String]
    do {
      paired = try await Pairing(code: invite, node: identity, name: name) {
        objects throws(FlotillaError) in
        if !isNew { try refuseOtherKeys(objects) }
      }.pair(at: address)
      admit = paired.admit
      progress(.found(site: admit.siteName, node: paired.inviter.name, address: paired.address))
      warnings = try create(
        Store.Identities(
          site: admit.site, siteName: admit.siteName, node: identity, nodeName: admit.nodeName,
          origin: RandomNumbers.origin()), creating: paired.objects)
    } catch {
      if isNew { removeEmpty() }
      throw error
    }
    var options = RunOptions()
    options.peers = [paired.address]
    options.discovery = false
    let copied = try await withNode(mode: .brief, options: options) {
      node async throws(FlotillaError) in
      try await node.firstCopy(from: paired.inviter, rows: admit.rows, progress: progress)
    }
    return JoinReport(
      site: admit.siteName, node: admit.nodeName, from: paired.inviter.name,
      address: paired.address, rows: copied.rows, bytes: copied.bytes,
      seconds: Double(Uptime.now - start) / 1_000, warnings: warnings)
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

extension Node {
  struct Copied: Sendable {
    var rows: Int
    var bytes: Int
  }

  /// Waits until this replica holds all that its inviter holds.
  func firstCopy(
    from inviter: Hello, rows: UInt64, progress: @Sendable (JoinProgress) -> Void
  ) async throws(FlotillaError) -> Copied {
    await store.stopSharing()
    var watch = CopyWatch(at: Uptime.now)
    var lastSeen: (UInt64, Int) = (0, 0)
    while true {
      let bytes = receivedBytes
      if receivedRows != lastSeen.0 || bytes != lastSeen.1 {
        lastSeen = (receivedRows, bytes)
        let total = max(rows, expectedRows)
        progress(
          .copying(rows: Int(clamping: receivedRows), of: Int(clamping: total), bytes: bytes))
      }
      if let peer = peers[inviter.node], peer.session != nil, !peer.isReceiving,
        !peer.holds.isEmpty || rows == 0, position.frontier.covers(peer.holds),
        hasSettled(peer.node)
      {
        let count = try await reporting(path) { () async throws(StoreError) in
          try await store.run { (store) throws(StoreError) in try store.applicationRowCount() }
        }
        return Copied(rows: count, bytes: receivedBytes)
      }
      if let failure = mergeFailure {
        throw FlotillaError(
          failure.code, "the first copy stopped: \(failure.message)",
          remedy: "Put that right; this node is a member now and goes on where it stopped with: "
            + "flotilla run \(shellWord(path))")
      }
      guard !watch.isStalled(rows: receivedRows, bytes: bytes, at: Uptime.now) else {
        throw FlotillaError(
          .peer, "the first copy from \(inviter.name) stopped after \(receivedRows) rows",
          remedy: "This node is a member now; it goes on where it stopped with: "
            + "flotilla run \(shellWord(path))")
      }
      try? await Task.sleep(for: .milliseconds(20))
    }
  }

  private func hasSettled(_ node: Identity) -> Bool {
    pulling.map { sessions[$0.session] == nil } ?? true
  }

  var receivedBytes: Int {
    sessions.values.reduce(0) { $0 + Int(($1.channel as? SocketChannel)?.traffic.bytesIn ?? 0) }
  }
}
