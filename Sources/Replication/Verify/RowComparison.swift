/// What two replicas have of one row, where that is not the same.
package struct RowDifference: Sendable, Hashable {
  package enum Why: String, Sendable {
    /// It stands here alone, though the other side has seen its version.
    case onlyHere = "only-here"
    case onlyThere = "only-there"
    /// Two versions that both sides have seen; the one here was edited later.
    case newerHere = "newer-here"
    case newerThere = "newer-there"
    /// One version, and two contents: somebody wrote past the triggers.
    case otherContent = "other-content"
    /// One content, known as two edits.
    case otherVersion = "other-version"
  }

  package var why: Why
  package var here: AccountRow?
  package var there: AccountRow?

  package init(why: Why, here: AccountRow?, there: AccountRow?) {
    self.why = why
    self.here = here
    self.there = there
  }

  package var row: AccountRow? { here ?? there }

  /// Whether it is gone once both sides have sent each other what they have noted.
  package var canBeExchanged: Bool { here?.isCaptured != false && there?.isCaptured != false }
}

/// Compares what two replicas have, row by row, in memory that does not grow with the rows.
package struct RowComparison: Sendable, Equatable {
  /// Differences that are kept; more are only counted.
  static let most = 1_000
  /// And so many bytes of their keys.
  static let mostBytes = 1 << 20

  /// What each side had seen when it gave its sums.
  package let here: Frontier
  package let there: Frontier
  package private(set) var differences: [RowDifference] = []
  package private(set) var count = 0
  /// Rows of which one side has a version that the other has not seen yet.
  package private(set) var onTheWay = 0
  /// Deletes that one side has forgotten.
  package private(set) var forgotten = 0
  /// Rows that are deleted on both sides, by two edits.
  package private(set) var deletedTwice = 0
  private var bytes = 0

  package init(here: Frontier, there: Frontier) {
    self.here = here
    self.there = there
  }

  /// Whether an exchange of rows can mend something.
  package var isMendable: Bool {
    count > differences.count || differences.contains(where: \.canBeExchanged)
  }

  /// Whether something was found that explains sums that differ.
  package var explains: Bool { count + onTheWay + forgotten + deletedTwice > 0 }

  /// Takes what both sides have of one row; nil for nothing at all.
  package mutating func take(_ ours: AccountRow?, _ theirs: AccountRow?) {
    if isSame(ours, theirs) { return }
    if ours?.stands != true, theirs?.stands != true, ours?.dot != theirs?.dot {
      if ours == nil || theirs == nil { forgotten += 1 } else { deletedTwice += 1 }
      return
    }
    if isOnTheWay(ours, theirs) {
      onTheWay += 1
      return
    }
    count += 1
    let size = (ours ?? theirs).map { $0.key.bytes.count + $0.table.utf8.count } ?? 0
    guard differences.count < Self.most, bytes + size <= Self.mostBytes else { return }
    bytes += size
    differences.append(RowDifference(why: why(ours, theirs), here: ours, there: theirs))
  }

  private func isSame(_ ours: AccountRow?, _ theirs: AccountRow?) -> Bool {
    guard let ours, let theirs else { return ours == nil && theirs == nil }
    return ours.stands == theirs.stands && ours.hash == theirs.hash && ours.dot == theirs.dot
  }

  /// Both sides have the higher of two versions once both have seen both.
  private func isOnTheWay(_ ours: AccountRow?, _ theirs: AccountRow?) -> Bool {
    guard ours?.dot != theirs?.dot else { return false }
    return [ours?.dot, theirs?.dot].compactMap { $0 }.contains {
      !here.covers($0) || !there.covers($0)
    }
  }

  private func why(_ ours: AccountRow?, _ theirs: AccountRow?) -> RowDifference.Why {
    guard let ours else { return .onlyThere }
    guard let theirs else { return .onlyHere }
    if ours.dot == theirs.dot { return .otherContent }
    if ours.stands, theirs.stands, ours.hash == theirs.hash { return .otherVersion }
    if ours.dot == nil || theirs.dot == nil {
      return ours.stands && theirs.stands ? .otherContent : ours.stands ? .onlyHere : .onlyThere
    }
    return (ours.stamp, ours.hash) < (theirs.stamp, theirs.hash) ? .newerThere : .newerHere
  }
}
