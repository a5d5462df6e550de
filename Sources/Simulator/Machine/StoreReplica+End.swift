import Replication

extension StoreReplica {
  /// Nothing waits, and every transaction is here whole, however its exchange was cut into slices.
  func inspectEnd(_ history: inout History) throws {
    try AnytimeConstraints.check(application, &history, at: name)
    for left in try application.unfolded() { history.blame("\(name) has not folded \(left)") }
    if mayBeWhole {
      let own = wasForbidden ? id.low - 1 : nil
      try AnytimeWhole.check(application, besides: own, &history, at: name)
    }
  }
}
