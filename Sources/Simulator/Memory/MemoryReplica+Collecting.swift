import Replication
import Store

/// What a replica in memory does about deleted versions.
extension MemoryReplica {
  func hear(_ news: StabilityNews, from node: Identity) {
    file.stability.hear(news, from: node, isLeaf: false)
    commit(isDurable: true)
  }

  func tend(
    members: Set<Identity>, id: UInt64, retention: Int64, at now: Instant
  ) -> Tending {
    guard !file.stability.standing.isBehind else { return Tending() }
    let own = Dot(origin, file.frontier[origin])
    file.stability.acknowledge(as: self.id, own: own, frontier: file.frontier)
    let limit = Stamp(millisecondsSince1970: now.moment - retention)
    let due = file.versions.filter { $0.value.isDeleted && $0.value.stamp < limit }
    let stable = file.stability.releasable(members: members)
    let going = due.filter { stable?.covers($0.value.dot) ?? false }
    if going.count < due.count {
      file.stability.propose(id: id, frontier: file.frontier, members: members)
      file.stability.acknowledge(as: self.id, own: own, frontier: file.frontier)
    }
    if !going.isEmpty { file.stability.clear() }
    var tending = Tending()
    for (row, version) in going where mayGo(version, row) {
      file.versions[row] = nil
      file.stability.floors.raise(table: Self.table, key: Self.encoded[row], over: version)
      tending.collected += 1
    }
    commit(isDurable: true)
    return tending
  }

  private func mayGo(_ version: Version, _ row: RowNumber) -> Bool {
    !viewpoint.isUndecided(version) && file.office.pending[row] == nil
  }

  func renewAsNew(to mark: Mark) -> Bool {
    guard file.frontier.without(origin).isEmpty, file.delivered == 0 else { return false }
    beginRenewal(to: mark)
    commit(isDurable: true)
    return true
  }

  func beginRenewal(to mark: Mark) {
    file.stability.beginRenewal(at: mark)
    file.fresh = []
    file.frontier = file.frontier.only(origin)
    file.progress = [:]
  }

  var isSweeping: Bool {
    if case .sweeping? = file.stability.renewal { true } else { false }
  }

  /// Removes what others have deleted and forgotten, after all has come.
  func sweep() {
    guard isSweeping else { return }
    for (row, version) in file.versions.sorted(by: { $0.key < $1.key })
    where !file.fresh.contains(row) {
      let floor = file.stability.floors[table: Self.table, key: Self.encoded[row]]
      let isOwn = version.dot.origin == origin
      if isOwn, version.created.origin == origin {
        keep(version.raised(above: floor), row)
      } else if isOwn, !version.isDeleted, !file.office.office.isHeld,
        floor.map({ $0.stamp < version.stamp }) ?? false
      {
        keep(version.madeAnew.raised(above: floor), row)
      } else {
        if isOwn, !version.isDeleted { file.givenUp[version.dot] = row }
        file.office.pending[row] = nil
        file.digest.replace(
          table: Self.table, key: Self.encoded[row], old: version, new: nil)
        (file.versions[row], file.rows[row]) = (nil, nil)
      }
    }
    file.fresh = []
    file.stability.endRenewal()
  }
}
