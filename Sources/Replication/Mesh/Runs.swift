/// The runs and lives that members have shown, to notice two machines that run as one node.
///
/// A run ends for good: the number of the next one is another. So a run that gave way to a later
/// one and comes back never ended.
struct Runs: Sendable {
  /// Of one node so many are remembered.
  private static let limit = 64

  private var ended: [Identity: [UInt64]] = [:]
  private var lives: [Identity: [UInt64]] = [:]

  mutating func end(_ run: UInt64, of node: Identity) {
    guard !hasEnded(run, of: node) else { return }
    ended[node] = Array(((ended[node] ?? []) + [run]).suffix(Self.limit))
  }

  func hasEnded(_ run: UInt64, of node: Identity) -> Bool { ended[node]?.contains(run) ?? false }

  mutating func note(life: UInt64, of node: Identity) {
    guard lives[node]?.contains(life) != true else { return }
    lives[node] = Array(((lives[node] ?? []) + [life]).suffix(Self.limit))
  }

  /// Whether a life was shown before another one.
  func isEarlier(_ life: UInt64, than other: UInt64, of node: Identity) -> Bool {
    guard let known = lives[node], let first = known.firstIndex(of: life),
      let second = known.firstIndex(of: other)
    else { return false }
    return first < second
  }
}
