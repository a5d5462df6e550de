import Replication
import Store

/// Verdicts on rows that were edited here, read beside the node.
extension Replica {
  /// How soon it is looked again at rows that are to be put back, in ms.
  private static let pause: Int64 = 100

  /// The verdict on the last edit of each row in a range of own edits, once all are there or the
  /// time is over. With it, what is in the way of those that are not. `wait` lets the node wait for
  /// what is not judged; it gives the end of the range.
  func verdicts(
    on rows: [TouchedRow], after seq: UInt64, within timeout: Duration,
    wait: (Duration) async throws(FlotillaError) -> Mark
  ) async throws(FlotillaError) -> (verdicts: [RowVerdict], mark: Mark) {
    let deadline = Uptime.now + timeout.milliseconds
    // What a write leaves as it was may be an edit that waits: then the word on that is the word.
    let earlier = try await withFile { store throws(StoreError) in
      try rows.map { row throws(StoreError) in try Self.waiting(row, through: seq, store) }
    }
    var verdicts = rows.map { _ in RowVerdict.pending }
    while true {
      let rest = Duration.milliseconds(max(0, deadline - Uptime.now))
      let mark = try await wait(rest)
      let open = verdicts.indices.filter { verdicts[$0] == .pending }
      let news = try await withFile { store throws(StoreError) in
        let reading = try VerdictReading(store, after: seq, through: mark.seq)
        return try open.map { index throws(StoreError) in
          try reading.verdict(on: rows[index], or: earlier[index])
        }
      }
      for (index, verdict) in zip(open, news) { verdicts[index] = verdict }
      let result = (verdicts: verdicts, mark: mark)
      guard verdicts.contains(.pending), Uptime.now < deadline else { return result }
      let pause = Duration.milliseconds(min(Self.pause, deadline - Uptime.now))
      guard (try? await Task.sleep(for: pause)) != nil else { return result }
    }
  }

  /// The last own edit of a row that waits for its verdict.
  private static func waiting(
    _ row: TouchedRow, through seq: UInt64, _ store: Store
  ) throws(StoreError) -> UInt64? {
    guard !row.isKeyless,
      let key = try store.tables.key(of: row.table, row.key.mapValues(\.travelling))
    else { return nil }
    return try store.verdicts.waiting(of: row.table, key, through: seq)
  }
}

extension RowVerdict {
  init(_ found: EditVerdict) {
    self.init(
      verdict: found.outcome.rawValue, reason: found.reason, rule: found.rule,
      conflict: found.conflict.map { Int($0) })
  }
}

/// A range of own edits, by the row that each has changed.
private struct VerdictReading {
  let store: Store
  /// Whether an edit of the range may have had a verdict that is not kept.
  let hasGaps: Bool
  private var last: [String: [Key: EditVerdict]] = [:]

  init(_ store: Store, after seq: UInt64, through end: UInt64) throws(StoreError) {
    self.store = store
    // First the verdicts: whatever is let go of afterwards was read.
    for verdict in try store.verdicts.list(after: seq, through: end) {
      last[verdict.table.foldedForNames, default: [:]][verdict.key] = verdict
    }
    hasGaps = try store.verdicts.missing() > seq
  }

  /// What is said of a row, or of an edit of it before the range, if nothing in that changed it.
  func verdict(
    on row: TouchedRow, or earlier: UInt64?
  ) throws(StoreError) -> RowVerdict {
    if row.isKeyless { return .accepted }
    guard let key = try store.tables.key(of: row.table, row.key.mapValues(\.travelling)) else {
      return .unknown
    }
    if let found = last[row.table.foldedForNames]?[key] { return RowVerdict(found) }
    if let earlier {
      let found = try store.verdicts.list(after: max(earlier, 1) - 1, through: earlier).first
      return found.map { RowVerdict($0) } ?? .unknown
    }
    // Of what it may not write a replica makes no version that the anchor could judge.
    if case .refused(let isPutBack) = try store.permission(toWrite: key, of: row.table) {
      return isPutBack
        ? RowVerdict(verdict: EditVerdict.Outcome.rejected.rawValue, reason: Reason.notAllowed.name)
        : .pending
    }
    // Without gaps it has no verdict because nobody has to judge it: it changed nothing, or this
    // node is the anchor.
    return hasGaps ? .unknown : .accepted
  }
}
