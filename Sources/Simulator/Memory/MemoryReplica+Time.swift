import Replication
import Store

/// When the edits of a replica in memory were made.
extension MemoryReplica {
  func begin(boot: Identity, at now: Instant) -> [UInt8]? {
    let last = file.order.values.max() ?? 0
    timeline =
      file.timeline.map { Timeline($0, boot: boot, last: last) } ?? Timeline(boot: boot)
    witness.beginTime()
    return file.clock
  }

  func keep(clock: [UInt8], at now: Instant) {
    look(at: now)
    (file.clock, file.timeline) = (clock, timeline?.bytes)
    commit(isDurable: false)
  }

  func look(at now: Instant) {
    settleTime(at: now)
    if let site = now.site, isFolded { witness.settleTime(at: site) }
  }

  /// Looks at the clocks; what comes into an empty journal comes later.
  func settleTime(at now: Instant) {
    witness.note(site: now.site)
    timeline?.look(at: now)
    if isFolded { timeline?.settle(at: now) }
  }

  /// The rows of the journal in the order in which they are folded, and when they were written.
  func moments(at now: Instant) -> [(RowNumber, Dating.Moment)] {
    timeline?.look(at: now)
    witness.note(site: now.site)
    guard var dating = timeline?.dating(at: now) else {
      return file.journal.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        .map { ($0.key, Dating.Moment(min($0.value, now.wall))) }
    }
    return file.order.sorted { $0.value < $1.value }.map { row, entry in
      (row, dating.place(file.journal[row] ?? 0, entry: entry))
    }
  }
}
