import FoundationEssentials
import Glibc
import Network
import Replication
import Store

/// Opening an invitation, and serving it where no node runs.
extension Replica {
  /// Opens an invitation; `timeToLive` in seconds.
  public func invite(
    timeToLive: Duration, role: String
  ) async throws(FlotillaError) -> InviteReport {
    let request = ControlRequest.invite(
      milliseconds: Int(timeToLive.milliseconds), role: role)
    return try await perform(request) { node async throws(FlotillaError) in
      try await node.invite(timeToLive: timeToLive, role: role)
    }
  }

  /// Serves an open invitation from this process, and those that are opened beside it, until all
  /// are used or expired, or a node takes over. Tells who joined last, or nil.
  public func serveInvitation(
    _ invitation: InviteReport, remark: @Sendable (String) -> Void
  ) async throws(FlotillaError) -> String? {
    let lock: FileLock
    switch try await reach(.status(all: false), as: StatusReport.self) {
    case .answer:
      remark("a node runs by now and serves the invitation")
      return nil
    case .lock(let free): lock = free
    }
    let node = try await Node(
      path: path, mode: .lasting, options: RunOptions(), lock: lock, log: { _ in })
    await node.serveInvitationOnly()
    let own = Self.identity(invitation.code)
    let older = await node.admissions.usable(at: .now).subtracting([own])
    do {
      try await node.start()
    } catch {
      await node.stop()
      throw error
    }
    let port = await node.port ?? 0
    let places = await (node.dialled ?? []).prefix(3).joined(separator: " or ")
    remark(
      "serving the invitation on port \(port); if the other machine does not find this one by "
        + "itself, add --at \(places.isEmpty ? "HOST:\(port)" : places)")
    await node.serve(beside: older, remark)
    let joined = await node.admissions.last.map { "\($0.name) joined · words: \($0.words)" }
    let request = await node.stopRequest
    if request.isMade, request.bye == nil {
      remark("a node starts and serves the invitation from now on")
    }
    await node.stop()
    return joined
  }

  private static func identity(_ code: String) -> String {
    guard let code = try? InviteCode(code) else { return "" }
    return InvitationBook.digits(InvitationSecret(code).identity)
  }
}

extension Node {
  func serveInvitationOnly() { servesInvitationOnly = true }

  /// Returns when every invitation but the `older` ones is used or expired and who joined has its
  /// copy, or when this node is to stop.
  func serve(beside older: Set<String>, _ remark: @Sendable (String) -> Void) async {
    var known = 1
    var told: Admitted?
    while !Task.isCancelled, !stopRequest.isMade {
      let open = admissions.usable(at: .now).subtracting(older)
      if open.isEmpty, hasServedCopies || !admissions.isUsed(besides: older) { return }
      let admitted = admissions.last
      if let admitted, admitted != told, !open.isEmpty {
        remark("\(admitted.name) joined · words: \(admitted.words)")
      }
      told = admitted
      if open.count > known {
        remark("serving \(open.count) invitations now; leave this open until all are used")
      }
      known = open.count
      try? await Task.sleep(for: .milliseconds(100))
    }
  }

  /// True once the nodes that were let in have come as members and got all that we hold; a joiner
  /// hangs up as soon as it has its copy, often before it could say so.
  private var hasServedCopies: Bool {
    let frontier = position.frontier
    return admissions.joiners.allSatisfy { node in
      guard let peer = peers[node] else { return false }
      return peer.holds.covers(frontier)
        || peer.session == nil && (peer.traffic.exchangesSent > 0 || peer.hasLeftWithPages)
    }
  }
}
