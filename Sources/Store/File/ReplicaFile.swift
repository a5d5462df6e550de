import Replication
import SQLite

/// The database file of a replica: the connection that folds and applies, and its transactions.
///
/// It knows nothing of what is in the file. The parts of the store that do have joined it.
package final class ReplicaFile {
  let path: String
  /// Triggers and foreign keys are off, and a commit is on disk when it returns.
  let connection: Connection
  private var parts: [any FilePart] = []
  /// A transaction was rolled back, and what is in memory may be of it.
  private(set) var isStale = false
  /// Whether `synchronous` is FULL at present, as `connect` sets it.
  private var commitsAreDurable = true
  /// For how long the write lock was held, all transactions together.
  package private(set) var lockHeld = Duration.zero
  /// Commits of this process, to tell older positions from newer ones.
  private(set) var commits: UInt64 = 1

  init(_ connection: Connection, path: String) {
    (self.connection, self.path) = (connection, path)
  }

  /// Parts are told in the order in which they join: one that reads by what another one knows joins
  /// after it. Versions are read by the numbers of origins, say.
  func join(_ parts: any FilePart...) { self.parts += parts }

  /// Runs `body` in one write transaction; what it noted counts only if it commits.
  ///
  /// A durable commit is on disk when this returns; another one is only sure to be whole.
  func transaction<Result>(
    isDurable: Bool = true, _ body: () throws -> Result
  ) throws(StoreError) -> Result {
    try begin(isDurable: isDurable)
    let start = ContinuousClock.now
    defer { lockHeld += start.duration(to: .now) }
    do {
      try recover()
      for part in parts { try part.locked() }
      let result = try body()
      try commit()
      return result
    } catch {
      throw rollBack(after: error)
    }
  }

  private func begin(isDurable: Bool) throws(StoreError) {
    for part in parts { part.begin() }
    // A program may have the lock: then nothing has changed, and what is known is still so.
    try reporting { () throws(SQLiteError) in
      if isDurable != commitsAreDurable {
        try connection.execute("PRAGMA synchronous = \(isDurable ? "FULL" : "NORMAL")")
        commitsAreDurable = isDurable
      }
      try connection.run("BEGIN IMMEDIATE")
    }
    connection.isBound = true
  }

  private func commit() throws {
    for part in parts { try part.save() }
    try connection.run(Connection.commit)
    connection.isBound = false
    for part in parts { part.committed() }
    commits += 1
  }

  /// Gives the error as one of the store.
  private func rollBack(after error: any Error) -> StoreError {
    connection.isBound = false
    connection.rollBack()
    for part in parts { part.rolledBack() }
    isStale = true
    // If the file cannot be read now, the next transaction tries again; the first error says why.
    try? recover()
    return StoreError.wrapping(error)
  }

  /// Reads again what is kept in memory, if a transaction was rolled back since.
  func recover() throws(StoreError) {
    guard isStale else { return }
    do {
      for part in parts { try part.reload() }
    } catch {
      throw StoreError.wrapping(error)
    }
    isStale = false
  }
}
