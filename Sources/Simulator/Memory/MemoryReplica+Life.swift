import Replication
import Store

/// The lives of replicas in memory.
extension MemoryReplica {
  func backUp() { backup = durable }

  func putBack() -> Bool {
    guard let backup else { return false }
    kill()
    (file, durable) = (backup, backup)
    origin = Templates.origin(of: number, life: file.life)
    witness.beginAnew(observation, own: Origin(rawValue: 0), keepsEdits: false)
    return true
  }

  func copied(as number: Int, _ random: inout Seeded) -> MemoryReplica {
    MemoryReplica(copying: self, as: number, &random)
  }

  var lifeMark: LifeMark {
    LifeMark(
      origin: origin, run: file.runs.entries.last?.run ?? 0, seq: file.frontier[origin])
  }

  var life: UInt64 { file.life }
  var runLog: RunLog { file.runs }

  func beginRun(_ run: UInt64) {
    file.runs.entries.append(
      RunLog.Entry(first: file.frontier[origin] + 1, origin: origin, run: run))
    commit(isDurable: true)
  }

  func isContradicted(by reach: Reach) -> Bool {
    file.runs.contradicts(reach.testimony, origin: origin, last: file.frontier[origin])
  }

  func ownReach(through seq: UInt64) -> Reach? {
    guard signs, seq > 0 else { return nil }
    let run = file.runs.entries.last?.run ?? 0
    if let signed, signed.origin == origin, signed.seq == seq, signed.run == run { return signed }
    signed = signed(Reach(origin: origin, node: id, life: file.life, seq: seq, run: run))
    return signed
  }

  private func signed(_ reach: Reach) -> Reach {
    var reach = reach
    reach.signature = SimulatedSite.signature(of: reach)
    return reach
  }

  func keep(_ news: [Reach]) {
    for reach in news where reach.origin != origin { file.reaches.keep(reach) }
  }

  func noteDelivered(_ seq: UInt64) { file.delivered = max(file.delivered, seq) }

  func beginLife(
    _ doubt: Doubt, life: UInt64, run: UInt64, isLate: Bool, renewingTo mark: Mark?,
    at now: Instant, _ history: inout History
  ) {
    let (old, oldLife, last) = (origin, file.life, file.frontier[origin])
    let before = file.runs.lives(now: old).last?.first ?? 1
    let oldRun = file.runs.entries.last { $0.origin == old }?.run ?? 0
    let common = isLate ? min(last, max(file.delivered, before - 1)) : last
    origin = Templates.origin(of: number, life: life)
    file.life = life
    file.frontier.raise(origin, to: last)
    file.delivered = last
    beginRun(run)
    let moved = file.versions.filter { $0.value.dot.origin == old && $0.value.dot.seq > common }
    var seq = last
    for (row, version) in moved.sorted(by: { $0.value.dot < $1.value.dot }) {
      seq += 1
      keep(version.reissued(as: Dot(origin, seq), common: common), row)
    }
    file.frontier = file.frontier.without(old).joined(
      Frontier(common > 0 ? [old: common] : [:]).joined(Frontier([origin: max(seq, 1)])))
    if common > 0 {
      keep([signed(Reach(origin: old, node: id, life: oldLife, seq: common, run: oldRun))])
    }
    if isLate { file.progress = [:] }
    // Which of its edits wait for a verdict the store remembers over lives.
    file.office.view.verdicts = [:]
    (file.office.again, file.office.written) = ([:], [:])
    var edits = beginEdits()
    standDownAgain(&edits, at: now)
    if file.office.office.part != .none {
      file.office.office.part = .none
      rule(.stoodDown, &edits, at: now)
    }
    file.frontier.raise(origin, to: edits.seq)
    if doubt.hidesDeletes { file.stability.miss() }
    if let mark = mark ?? file.stability.renewal?.mark { beginRenewal(to: mark) }
    commit(isDurable: true)
    witness.beginAnew(observation, own: origin, keepsEdits: true)
    inspect(at: now, &history)
  }
}
