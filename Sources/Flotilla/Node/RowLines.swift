import Replication
import Store

/// What the log tells of rows that came and are not as they should be, or that cannot be taken in.
///
/// A pure machine. Such rows come again and again, one exchange after the other: they are counted,
/// and the count is told more and more seldom. To be asked with none now and then.
struct RowLines: Sendable {
  /// The database, as a person names it.
  let path: String
  private var shelvedLine = CountedLine()
  private var unmatchedLine = CountedLine()
  private var leftOutLine = CountedLine()
  /// Of whose edits it was said that two contents are about.
  private var toldOf: Set<Origin> = []
  /// Why the last look could not take in what programs have written.
  private var foldTrouble: String?

  init(path: String) { self.path = path }

  /// The line about a look that could not take in what programs have written, once for each cause.
  mutating func couldNotFold(_ cause: String) -> String? {
    defer { foldTrouble = cause }
    return foldTrouble == cause ? nil : "could not take in what was written: \(cause)"
  }

  /// A look has taken in everything: what goes wrong from now on is told again.
  mutating func hasFolded() { foldTrouble = nil }

  /// The line about rows that cannot stand in their tables, if it is due.
  mutating func shelved(_ count: Int, from sender: String?, at now: Instant) -> String? {
    guard let due = shelvedLine.receive(count, at: now) else { return nil }
    let whose = due.isFirst ? sender.map { "\(Self.rows(due.count)) from \($0)" } : nil
    let place = due.count == 1 ? "its table" : "their tables"
    let state = due.count == 1 ? "is kept" : "are kept"
    return "\(whose ?? "\(Self.rows(due.count)) more") cannot stand in \(place) yet, and \(state); "
      + "see why: flotilla conflicts \(shellWord(path)) --parked"
  }

  /// The lines about rows whose content does not give the hash of their version, and about rows of
  /// tables that nobody tracks.
  mutating func unmatched(
    _ content: UnmatchedContent, from sender: String, at now: Instant
  ) -> [String] {
    var lines: [String] = []
    if let due = unmatchedLine.receive(content.rows, at: now) {
      lines.append(
        "\(Self.rows(due.count)) from \(due.isFirst ? sender : "members") came without all that "
          + "its author has written: a column was dropped there, or the content was changed on "
          + "the way; to compare: flotilla verify \(shellWord(path)) --repair")
    }
    if let due = leftOutLine.receive(content.leftOut, at: now) {
      lines.append(
        "\(Self.rows(due.count)) from \(due.isFirst ? sender : "members") were left out: of more "
          + "tables, or shapes of a key, than may wait here; they come again once theirs is here")
    }
    return lines
  }

  /// The authors of edits of which there are two contents, each once.
  mutating func doubled(_ content: UnmatchedContent) -> Set<Origin> {
    defer { toldOf.formUnion(content.doubled) }
    return content.doubled.subtracting(toldOf)
  }

  private static func rows(_ count: Int) -> String { count == 1 ? "1 row" : "\(count) rows" }
}
