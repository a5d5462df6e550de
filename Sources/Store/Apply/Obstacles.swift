import Replication

/// What stands in the way of the parked rows of one table, as it was found when they were tried.
///
/// A row that is parked behind one that goes before it and has its value stays so until one of the
/// two changes. So each change costs no more than the rows behind it, however many are parked. One
/// that fits beside no rows, for it breaks a CHECK, stays until it changes itself, or the schema.
final class Obstacles {
  /// The parked rows behind a row that stands.
  private var behind: [Key: Set<Key>] = [:]
  /// What is to be tried: rows that have changed, and those that were behind them.
  private var due: Set<Key> = []
  /// What is tried each time: what is in its way is no row of the site, or a program's new one.
  private var restless: Set<Key> = []
  /// What waits for parked parents, and claims values that others may come to claim.
  var claimants = Claimants()

  /// What was taken out to be tried in the open transaction.
  private var tried: Set<Key> = []
  /// It was found in the open transaction.
  private(set) var isNew = true

  /// To begin with these are to be tried.
  init(due: [Key]) { self.due = Set(due) }

  var hasDue: Bool { !due.isEmpty }

  func committed() {
    (tried, isNew) = ([], false)
    claimants.committed()
  }

  /// What was found since the last commit is not so: it is to be found again.
  func rolledBack() {
    due.formUnion(tried)
    tried = []
    claimants.rolledBack()
  }

  func changed(_ key: Key) {
    due.insert(key)
    if let freed = behind.removeValue(forKey: key) { due.formUnion(freed) }
  }

  func found(_ key: Key, behind other: Key) { behind[other, default: []].insert(key) }

  func foundNone(of key: Key) { restless.insert(key) }

  /// Takes out what is to be tried now.
  func takeDue() -> Set<Key> {
    let taken = due.union(restless)
    (due, restless) = ([], [])
    tried.formUnion(taken)
    return taken
  }
}
