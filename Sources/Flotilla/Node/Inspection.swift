import Replication

/// The comparison with one peer under way: what it has told so far.
struct Inspection: Sendable {
  /// What came last of what was asked for.
  var sums: Account.Sums?
  var refusal: Account.Reason?
  /// The walk through our rows that is compared with its rows, and what came of it.
  var walk: Int64?
  var comparison: RowComparison?
  /// What went wrong here.
  var failure: String?
  var isOver = false

  /// Whether the sums are here, or nothing more comes.
  var hasAnswered: Bool { sums != nil || refusal != nil }

  /// Nothing comes, for that reason.
  mutating func refuse(_ reason: Account.Reason) {
    refusal = reason
    isOver = true
  }

  /// All rows have come, or could not be compared. What is over twice was over before.
  mutating func end(_ comparison: RowComparison? = nil, failure: String? = nil) {
    if let comparison { self.comparison = comparison }
    if let failure { self.failure = failure }
    isOver = true
  }

  /// Why nothing came.
  func silence(isConnected: Bool) -> Verification {
    if let failure { return .stopped(.failed, failure) }
    return switch refusal {
    case .notAllowed: .stopped(.incomparable, "it goes by other rights than this node")
    case .failed: .stopped(.failed, "it could not read its file; see its log")
    case nil where !isConnected: .stopped(.failed, "the connection ended before it answered")
    case nil: .stopped(.late, "no answer in time")
    }
  }
}

/// What came of one comparison.
enum Verification: Sendable {
  /// All sums are equal.
  case equal(Account.Sums)
  /// All sums are equal, but tables show other values for the same edits; so many rows hold here
  /// what their table has no column for.
  case shownOtherwise(Account.Sums, apart: Int)
  /// Row by row.
  case compared(Account.Sums, RowComparison, buckets: [Int])
  /// The sums differ, and no row does: so it is where rows change while they are compared.
  case unexplained(Account.Sums, isMoving: Bool)
  case stopped(VerifyReport.Peer.State, String)
}
