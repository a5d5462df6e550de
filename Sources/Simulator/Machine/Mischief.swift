/// What happens to the calls of one process on its disk.
final class Mischief {
  private let crash: Int
  private let interleaving: Int
  private let kinds: [DiskProcess.Fate]
  var random: Seeded
  /// Calls that fail from now on, and how.
  private var failing = 0
  private var failure = DiskProcess.Fate.failed
  /// What fails is reading, locking and looking at shared memory, and nothing else.
  private var isOfReading = false
  /// Decides about these calls, apart from all others.
  private var readings: Seeded
  private var isWriting = false
  var isCalm = false
  /// A call has failed in what the store does now.
  private var hasFailed = false
  /// How often an application may still write in the middle of the piece of work under way: no
  /// program writes faster than its edits are folded for ever.
  private var interruptions = 0
  /// How often it may in all. Where a slice folds three edits and six are written meanwhile, what
  /// waits grows as long as anybody folds, and each look at the node takes longer.
  private var interruptionsInAll = 500

  init(_ faults: Faults, _ random: Seeded) {
    // There are many pieces of work, each of some ten calls.
    crash = (faults[.crash] + faults[.powerCut] + 39) / 40
    interleaving = faults[.interleaving]
    kinds = [DiskProcess.Fate.full, .failed].filter {
      faults[$0 == .full ? .diskFull : .ioError] > 0
    }
    self.random = random
    var draws = random
    readings = draws.fork()
  }

  var hasTrouble: Bool { hasFailed || failing > 0 && !isCalm }

  /// A new piece of work begins.
  func begin() {
    hasFailed = false
    interruptions = 6
  }

  func spoil(_ random: inout Seeded) {
    guard !kinds.isEmpty, !isCalm else { return }
    failure = random.pick(kinds)
    failing = 1 + random.below(60)
    isOfReading = failure == .failed && readings.chance(400)
  }

  func interleaves() -> Bool {
    guard !isCalm, interruptions > 0, interruptionsInAll > 0, random.chance(interleaving) else {
      return false
    }
    (interruptions, interruptionsInAll) = (interruptions - 1, interruptionsInAll - 1)
    return true
  }

  func fate(of call: DiskProcess.Call) -> DiskProcess.Fate {
    guard !isCalm else { return .done }
    if failing > 0 {
      failing -= 1
      if isOfReading { return .done }
      hasFailed = true
      return failure
    }
    if random.chance(crash) { return random.chance(500) ? .deadBefore : .deadAfter }
    return .done
  }

  /// Whether a call that changes nothing fails.
  func failsToRead() -> Bool {
    guard !isCalm, failing > 0, isOfReading, readings.chance(100) else { return false }
    hasFailed = true
    return true
  }
}
