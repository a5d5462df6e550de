import Replication
import Store

/// When a node did last what it does now and then only.
///
/// A pure machine. The patrol comes every few seconds and asks what is due; all times are uptimes
/// in ms.
struct PatrolTimes: Sendable {
  /// The time of the site is kept at least this often.
  static let clockPause: Int64 = 60_000
  /// Logs are shortened this often.
  static let trimPause: Int64 = 3_600_000
  /// Rows that nobody has sent are asked for again after this time.
  static let askingPause: Int64 = 60_000
  /// Where all in reach have been asked in vain the pause doubles, up to this.
  static let longestAskingPause: Int64 = 3_600_000
  /// So long nobody who could help must have been there before this node goes on without.
  static let helplessPause: Int64 = 60_000

  /// Who comes and goes is written down at most this often.
  static let peersPause: Int64 = 1_000

  private var trimmedAt: Int64 = 0
  private var undoLookAt = -UndoBook.interval
  private var peersSavedAt = -PatrolTimes.peersPause
  private var mustSavePeers = false
  private var clockSavedAt: Int64 = 0
  private var asked: (wanted: UInt64, at: Int64) = (0, 0)
  private var pause = PatrolTimes.askingPause
  /// Who was asked for them last.
  private var helper: Identity?
  private var helplessSince: Int64?
  /// By how much the uptime is ahead of the time that the machine was awake.
  private var sleep: Int64

  init(asleep sleep: Int64) { self.sleep = sleep }

  /// Whether logs are to be shortened, which counts as done.
  mutating func takeTrim(at now: Int64) -> Bool {
    guard now - trimmedAt > Self.trimPause else { return false }
    trimmedAt = now
    return true
  }

  /// Whether it is to be written down how far each author has come, which counts as done.
  mutating func takeUndoLook(at now: Int64) -> Bool {
    guard now - undoLookAt >= UndoBook.interval else { return false }
    undoLookAt = now
    return true
  }

  /// Whether it is to be written down who is known, which counts as done. Somebody has come if it
  /// `isNews`; who comes too soon after another one is written down later.
  mutating func takePeers(isNews: Bool, at now: Int64) -> Bool {
    mustSavePeers = mustSavePeers || isNews
    guard mustSavePeers, now - peersSavedAt >= Self.peersPause else { return false }
    (peersSavedAt, mustSavePeers) = (now, false)
    return true
  }

  func isClockDue(at now: Int64) -> Bool { now - clockSavedAt >= Self.clockPause }

  mutating func saveClock(at now: Int64) { clockSavedAt = now }

  /// How long the machine was asleep since the last look, in ms; nil if it was not.
  mutating func slept(_ sleep: Int64) -> Int64? {
    defer { self.sleep = sleep }
    return sleep - self.sleep > 1_000 ? sleep - self.sleep : nil
  }

  /// Whether rows are to be asked for, of which so many were ever wanted: there are more, or the
  /// last question is long ago.
  func isAskingDue(for wanted: UInt64, at now: Int64) -> Bool {
    wanted != asked.wanted || now - asked.at >= pause
  }

  /// Somebody who has come may know what the others do not.
  mutating func ask(for wanted: UInt64, at now: Int64, isNewcomer: Bool = false) {
    if wanted != asked.wanted || isNewcomer { pause = Self.askingPause }
    asked = (wanted, now)
  }

  /// Who of these is asked for rows: the next one once all rows had their turn, for somebody else
  /// may know those that have not come.
  mutating func helper(of nodes: some Collection<Identity>, isAnew: Bool) -> Identity? {
    if let helper, !isAnew, nodes.contains(helper) { return helper }
    let next = helper.flatMap { last in nodes.filter { $0 > last }.min() }
    // Each of them has been asked for all.
    if helper != nil, next == nil { pause = min(2 * pause, Self.longestAskingPause) }
    helper = next ?? nodes.min()
    return helper
  }

  /// Takes in whether nobody in reach can help; true if it was so for long, which begins anew.
  mutating func isHelpless(_ isHelpless: Bool, at now: Int64) -> Bool {
    guard isHelpless else {
      helplessSince = nil
      return false
    }
    let since = helplessSince ?? now
    helplessSince = now - since < Self.helplessPause ? since : nil
    return helplessSince == nil
  }
}
