import Replication

/// How far a look at all versions has come that tells which deleted ones can go.
///
/// A pure value. A look takes slices, and begins anew now and then: after a pause, or when more is
/// known to be everywhere than held the last one up. Where everything is fetched anew, another look
/// sweeps away what was deleted meanwhile.
struct DeletionSearch {
  /// After the last version that was looked at.
  private(set) var after: VersionTable.Place?
  private(set) var isRunning = false
  /// What was known to be everywhere when it began.
  private var stable: Frontier?
  /// Some are old enough, but were not known to be everywhere.
  private var isHeldUp = false
  /// When it began, by uptime.
  private var last: Int64?
  /// After the last version that was swept.
  var sweptTo: VersionTable.Place?

  /// Whether the last look found versions that have to wait until more is everywhere than `stable`.
  func waits(beyond stable: @autoclosure () -> Frontier?) -> Bool {
    isHeldUp && !isRunning && stable() == self.stable
  }

  /// Begins anew, if it is time; true if a look is under way. `pause` is in ms.
  mutating func begin(_ stable: Frontier?, pause: Int64, at uptime: Int64) -> Bool {
    if isRunning { return true }
    let isNews = isHeldUp && stable != self.stable
    let isDue = last.map { uptime - $0 >= pause } ?? true
    guard isNews || isDue else { return false }
    (after, isHeldUp, isRunning) = (nil, false, true)
    (self.stable, last) = (stable, uptime)
    return true
  }

  /// A slice was looked at; `next` is after its last version, or nil at the end.
  mutating func goOn(after next: VersionTable.Place?) { (after, isRunning) = (next, next != nil) }

  mutating func holdUp() { isHeldUp = true }
}
