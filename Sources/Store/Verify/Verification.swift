import Replication

/// What is looked at, told to peers, and compared with what they tell.
///
/// Each audit and each account goes by the number of its first snapshot. That may be let go and
/// another one opened meanwhile; `snapshot` is the one that is read.
package final class Verification {
  private(set) var audits: [Int64: Audit] = [:]
  private(set) var walks: [Int64: AccountWalk] = [:]
  /// Walks beside what a peer tells, by the number of the walk.
  private(set) var joins: [Int64: AccountJoin] = [:]
  /// Tables of which the comparison that is under way has seen that every row is found by its key.
  var sound: Set<Int64> = []
  /// The table of which a fold needs to know that.
  var doubt: Int64?
  /// Whether it is to be asked for, and not found out under the write lock.
  var isAsked = false

  init() {}

  /// An audit begins, or begins anew under its number.
  func begin(_ audit: Audit, as id: Int64) { audits[id] = audit }

  func audit(_ id: Int64) throws(StoreError) -> Audit {
    guard let audit = audits[id] else { throw StoreError(.closed, "the audit is closed") }
    return audit
  }

  func endAudit(_ id: Int64) -> Audit? { audits.removeValue(forKey: id) }

  func begin(_ walk: AccountWalk, as id: Int64) { walks[id] = walk }

  func walk(_ id: Int64) throws(StoreError) -> AccountWalk {
    guard let walk = walks[id] else { throw StoreError(.closed, "the account is closed") }
    return walk
  }

  /// A walk ends, and so does its comparison.
  func endWalk(_ id: Int64) -> AccountWalk? {
    joins[id] = nil
    return walks.removeValue(forKey: id)
  }

  /// Begins to compare a walk with what a peer tells.
  package func join(_ id: Int64, here: Frontier, there: Frontier) throws(StoreError) {
    joins[id] = AccountJoin(try walk(id), here: here, there: there)
  }

  /// Takes what the peer has told next.
  package func tell(_ id: Int64, _ rows: [AccountRow], isLast: Bool) {
    guard let join = joins[id] else { return }
    join.theirs = join.theirs + rows
    join.isLast = isLast
  }

  /// What was found so far; nil if nothing is compared under this number.
  package func comparison(_ id: Int64) -> RowComparison? { joins[id]?.comparison }
}
