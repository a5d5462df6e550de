import Replication
import Store

/// What a replica in memory does about deleted versions.
extension MemoryReplica {
  func hear(_ news: StabilityNews, from peer: Identity, at now: Instant) {
    file.stability.hear(news, from: peer, isLeaf: false, as: id, at: now.moment)
    commit(isDurable: true)
  }

  func tend(
    members: Set<Identity>, everybody: Set<Identity>, retention: Int64, at now: Instant
  ) -> Tending {
    guard !file.stability.standing.isBehind else { return Tending() }
    acknowledge()
    file.stability.rejoin(everybody, as: origin)
    let limit = Stamp(millisecondsSince1970: now.moment - retention)
    let due = file.versions.filter { $0.value.isDeleted && $0.value.stamp < limit }
    let stable = file.stability.releasable(members: members)
    let going = due.filter { stable?.covers($0.value.dot) ?? false }
    var tending = Tending()
    for (row, version) in going where mayGo(version, row) {
      file.stability.clear()
      file.versions[row] = nil
      file.stability.floors.raise(table: Self.table, key: Self.encoded[row], over: version)
      tending.collected += 1
    }
    if going.count < due.count {
      file.stability.propose(
        naming: SimulatedSite.notary.digest, frontier: file.frontier, members: members,
        at: now.moment)
      acknowledge()
    }
    commit(isDurable: true)
    return tending
  }

  private func acknowledge() {
    let own = Dot(origin, file.frontier[origin])
    let said = file.stability.acknowledgement(as: id, own: own, frontier: file.frontier)
    guard var said else { return }
    said.signature = SimulatedSite.signature(of: said)
    file.stability.acknowledge(said)
  }

  private func mayGo(_ version: Version, _ row: RowNumber) -> Bool {
    !viewpoint.isUndecided(version) && file.office.pending[row] == nil
  }

  func hasForgotten(_ version: Version, _ row: RowNumber) -> Bool {
    file.versions[row] == nil
      && file.stability.hasForgotten(
        version, table: Self.table, key: Self.encoded[row], held: file.frontier)
  }

  func renewAsNew(to mark: Mark) -> Bool {
    guard file.frontier.without(origin).isEmpty, file.delivered == 0 else { return false }
    beginRenewal(to: mark)
    commit(isDurable: true)
    return true
  }

  func beginRenewal(to mark: Mark) {
    file.stability.beginRenewal(at: mark)
    file.office.office.postpone()
    file.fresh = [:]
    file.frontier = file.frontier.only(origin)
    file.progress = [:]
  }

  func giveUpRenewal(at now: Instant) -> FoldResult {
    file.stability.giveUp()
    return fold(at: now)
  }

  /// The version in which a row came: the one that stands, if it did.
  func noteFresh(_ version: Version, _ row: RowNumber) {
    if let standing = file.versions[row], standing.dot == file.fresh[row],
      standing.rank > version.rank
    {
      return
    }
    file.fresh[row] = version.dot
  }

  var isSweeping: Bool {
    if case .sweeping? = file.stability.renewal { true } else { false }
  }

  /// Tells what others have deleted and forgotten from what they never had, after all has come.
  func sweep(_ edits: inout MemoryEdits, at now: Instant) {
    guard isSweeping else { return }
    for (row, version) in file.versions.sorted(by: { $0.key < $1.key }) {
      let floor = file.stability.floors[table: Self.table, key: Self.encoded[row]]
      let fate = file.stability.fate(
        of: version, cameAs: file.fresh[row], known: file.frontier.without(origin), own: origin,
        floor: floor, isJudged: file.office.office.isHeld)
      switch fate {
      case .stays: break
      case .isAdopted(let changed):
        let adopted = changed.adopted(as: Dot(origin, edits.next()))
        if let waiting = file.office.pending[row]?[origin] {
          logBeside(waiting, row)
          drop(waiting, row)
          file.office.written[row, default: []].append(adopted.dot.seq)
        }
        keep(adopted, row)
        edits.writer.add(Self.shape, adopted, Self.content(adopted, row))
      case .isGone(let isLost):
        if isLost { giveUp(version.edit, row) }
        for waiting in (file.office.pending[row] ?? [:]).values where !waiting.isDeleted {
          let isHere =
            viewpoint.isOwn(waiting.edit.origin) || !file.frontier.covers(waiting.dot)
          if isHere, !file.office.byName.contains(waiting.dot) { giveUp(waiting.edit, row) }
        }
        file.office.pending[row] = nil
        file.digest.replace(
          table: Self.table, key: Self.encoded[row], old: version, new: nil)
        (file.versions[row], file.rows[row]) = (nil, nil)
      }
    }
    sweepPending(&edits)
    standDownAgain(&edits, at: now)
    file.frontier.raise(origin, to: edits.seq)
    file.fresh = [:]
    file.stability.endRenewal()
  }

  /// An edit lost to a delete that nobody remembers: no anchor judges it.
  private func giveUp(_ edit: Dot, _ row: RowNumber) {
    file.givenUp[edit] = row
    guard edit.origin == origin else { return }
    for (seq, verdict) in file.office.view.verdicts
    where verdict == nil && (seq == edit.seq || file.office.again[seq] == edit.seq) {
      file.office.view.verdicts.updateValue("rejected", forKey: seq)
      file.office.again[seq] = nil
    }
  }

  func standDownAgain(_ edits: inout MemoryEdits, at now: Instant) {
    let known = file.frontier.without(origin)
    let isUnheard = file.office.rulings.values.contains {
      $0.ruling.kind == .stoodDown && $0.ruling.rule == id.description
        && $0.version.dot.origin != origin && !known.covers($0.version.dot)
    }
    if isUnheard { rule(.stoodDown, &edits, at: now) }
  }

  /// What is not handed on is lost, unless what stands has seen it.
  private func logBeside(_ version: Version, _ row: RowNumber) {
    guard let standing = file.versions[row], !version.isDeleted,
      !file.office.byName.contains(version.dot), viewpoint.isLost(version, to: standing)
    else { return }
    log(version, standing, row, "older")
  }

  private func sweepPending(_ edits: inout MemoryEdits) {
    let known = file.frontier.without(origin)
    let coming = file.progress.values.reduce(into: known) { $0.join($1.frontier) }
    let all = file.office.pending.flatMap { row, waiting in waiting.values.map { (row, $0) } }
    for (row, version) in all.sorted(by: { $0.1.dot < $1.1.dot }) {
      guard version.dot.origin != origin, !coming.covers(version.dot) else { continue }
      drop(version, row)
      if known.covers(version.edit), !viewpoint.isKeptHere(version.edit) { continue }
      let standing = file.versions[row]
      guard file.office.pending[row]?[origin] == nil, standing?.dot.origin != origin else {
        logBeside(version, row)
        continue
      }
      guard !file.office.byName.contains(version.dot) else { continue }
      let adopted = version.adopted(as: Dot(origin, edits.next()))
      edits.writer.add(Self.shape, adopted, Self.content(adopted, row))
      switch viewpoint.meeting(adopted, standing) {
      case .same, .stays: continue
      case .waits: hold(adopted, row)
      case .gives(let fate):
        if let standing { leave(standing, to: fate, by: adopted, row) }
        keep(adopted, row)
        show(adopted, row)
      }
    }
  }
}
