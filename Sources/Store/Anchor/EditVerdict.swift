import Replication

/// What became of one edit of this replica.
package struct EditVerdict: Sendable, Equatable {
  package enum Outcome: String, Sendable {
    case accepted
    case rejected
    /// Its author wrote the row again before it was judged.
    case superseded
    case pending
    /// It was judged, and the ruling about it may have been let go of.
    case unknown
  }

  /// The own seq of the edit.
  package var seq: UInt64
  package var table: String
  package var key: Key
  package var outcome: Outcome
  /// Why it was rejected.
  package var reason: String?
  /// The rule by which it was judged.
  package var rule: String?
  /// The number under which the conflict log has it, if it was rejected and is kept there.
  package var conflict: Int64?
}
