import Replication
import Store

extension StoreReplica {
  func chart() throws -> [Int64: Int64]? { try charts?.rows(on: application.connection) }

  /// Does what a program does that follows the changes; all of it at the end.
  func followChanges(_ history: inout History, isEnd: Bool) throws {
    guard followed != nil, !isGone, let store = try? store() else { return }
    if isEnd {
      try followed?.check(store, application.connection, &history, at: name)
    } else {
      try followed?.glance(at: store, application.connection)
    }
  }

  /// Nothing waits, and every transaction is here whole, however its exchange was cut into slices.
  func inspectEnd(_ history: inout History) throws {
    try AnytimeConstraints.check(application, &history, at: name)
    for fault in try charts?.faults(on: application.connection) ?? [] {
      history.blame("\(name): \(fault)")
    }
    for left in try application.unfolded() { history.blame("\(name) has not folded \(left)") }
    for table in try store().survey.figures().tables where table.isPresent {
      let rows = try application.rowCount(of: table.name)
      if table.rows != rows {
        history.blame("\(name) counts \(table.rows) rows in \(table.name), and there are \(rows)")
      }
    }
    try followChanges(&history, isEnd: true)
    // Each row is judged by itself: who takes office in the middle of an exchange in slices may
    // certify a part of a transaction, and so may an office have ended.
    let term = try observe().office?.term.number ?? 0
    if mayBeWhole, term <= (isWhole ? 1 : 0) {
      let own = wasForbidden ? id.low - 1 : nil
      try AnytimeWhole.check(application, besides: own, &history, at: name)
    }
  }
}
