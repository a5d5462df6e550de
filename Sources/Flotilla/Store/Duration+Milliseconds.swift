import Replication

extension Duration {
  /// Whole milliseconds, so bounded that a clock can be added.
  var milliseconds: Int64 {
    let limit = Duration.milliseconds(Limits.clock)
    let (seconds, attoseconds) = min(max(self, .zero - limit), limit).components
    return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
  }
}
