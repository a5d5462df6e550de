import Replication
import Store

/// Whether what was written here has arrived elsewhere.
extension Node {
  /// Waits until what was committed here before the call is there.
  func wait(for target: WaitTarget, timeout: Duration) async throws(FlotillaError) -> WaitReport {
    let deadline = Uptime.now + timeout.milliseconds
    let isPlaced = try await foldNow(within: deadline)
    let (own, mark) = (position.own, position.frontier[position.own])
    let wanted: [Identity]
    switch target {
    case .anchor:
      guard let anchor = try anchorForWaiting() else {
        return WaitReport(
          reached: [], missing: [],
          remark: "this node is the anchor itself, so what was committed here is there")
      }
      wanted = [anchor]
    case .node(let name):
      let itself = "What was written here is here."
      wanted = [try otherMember(named: name, otherwise: "", itself: itself).node]
    case .all: wanted = others.map(\.node)
    }
    let lacking = try await lacking(Dot(own, mark), of: wanted, deadline: deadline)
    var report = WaitReport(reached: [], missing: [])
    for node in wanted {
      guard let peer = peers[node] else { continue }
      if isPlaced, !lacking.contains(node) {
        report.reached.append(peer.name)
      } else {
        report.missing.append(peer.name)
      }
    }
    let failing = wanted.filter(lacking.contains).compactMap { node in
      peers[node].flatMap { $0.failure(path) }
    }
    if let first = failing.first { report.remark = "\(first.error) (\(first.remedy))" }
    if let standing, !report.missing.isEmpty { report.remark = standing.remark }
    report.reached.sort()
    report.missing.sort()
    return report
  }

  /// The members of whom it is not known that they hold an edit of this node. It ends when that is
  /// none of them, when the time is over, and when this node is no member any more.
  private func lacking(
    _ edit: Dot, of wanted: [Identity], deadline: Int64
  ) async throws(FlotillaError) -> [Identity] {
    while true {
      let age = position.age
      // What it has judged the anchor has got, though it may never have been met.
      let isJudged = try await reporting(path) { () async throws(StoreError) in
        try await store.run { (store) throws(StoreError) in store.isJudged(edit) }
      }
      let isHeld = { (node: Identity) in
        isJudged && node == self.anchor?.node || self.isKnown(edit, to: node)
      }
      let lacking = wanted.filter { !isHeld($0) }
      guard !lacking.isEmpty, standing == nil,
        await until(
          deadline,
          { position.age != age || standing != nil || lacking.contains(where: isHeld) })
      else { return lacking }
    }
  }

  /// Whether a member has told that it holds an edit, or others that it holds a cut above it; also
  /// if it has left.
  private func isKnown(_ edit: Dot, to node: Identity) -> Bool {
    guard let peer = peers[node], peer.holds[edit.origin] < edit.seq else { return true }
    let stability = position.stability
    guard let cut = stability.cut, stability.isHeld(by: node) else { return false }
    return cut.frontier.covers(edit)
  }
}
