import Replication

/// The life in which this node writes, and how sure it is of it.
///
/// A pure value. A file that was restored or copied goes on in another life, so that no two edits
/// get one number. Peers may show that this is needed, and are believed so often.
struct OwnLife: Sendable {
  /// So long after it was seen another copy of a node is spoken of, in ms.
  private static let twinMemory: Int64 = 600_000

  /// From which the origin follows, as others can check.
  private(set) var number: UInt64
  /// The runs of the file, as the store last told.
  private(set) var runs: RunLog
  /// Whether the file knows of this run; nobody is met before.
  private(set) var isRunNoted: Bool
  /// Whether the file has forgotten nothing, as far as others can tell.
  private(set) var isSure = false
  /// Another life is being begun.
  private(set) var isBeginning = false
  /// Lives begun because of what peers have told.
  private(set) var byWord = LivesByWord()
  /// When, by uptime, and by whom this node was last told that another copy of it runs.
  private var lastTwin: (at: Int64, peer: String)?

  init(_ number: UInt64, _ runs: RunLog, isRunNoted: Bool) {
    (self.number, self.runs, self.isRunNoted) = (number, runs, isRunNoted)
  }

  /// The file has noted this run.
  mutating func noteRun(_ runs: RunLog) {
    self.runs = runs
    isRunNoted = true
  }

  /// Nothing is missing here that others could tell of.
  mutating func becomeSure() { isSure = true }

  /// Whether a life may begin by the word of a member; if so it is counted.
  mutating func mayBegin(by member: Identity, at now: Instant) -> Bool {
    byWord.mayBegin(by: member, at: now)
  }

  mutating func beginAnother() { isBeginning = true }

  /// Another life has begun in the file.
  mutating func go(on number: UInt64, _ runs: RunLog) {
    (self.number, self.runs) = (number, runs)
    isSure = false
  }

  /// It has begun, or could not.
  mutating func endBeginning() { isBeginning = false }

  /// A peer has met another copy of this node; true for the first one.
  mutating func meetTwin(by peer: String, at uptime: Int64) -> Bool {
    defer { lastTwin = (uptime, peer) }
    return lastTwin == nil
  }

  /// The peer that has met another copy of this node lately.
  func twinTeller(at uptime: Int64) -> String? {
    lastTwin.flatMap { Self.isOfLate($0.at, at: uptime) ? $0.peer : nil }
  }

  static func isOfLate(_ moment: Int64, at uptime: Int64) -> Bool {
    uptime - moment < twinMemory
  }
}
