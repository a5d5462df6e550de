import Replication

/// What was heard of members: what the file has not taken yet, and what did not hold.
///
/// A pure value: the caller writes into the file, and ends the connection.
struct HeardStatements: Sendable {
  /// So many statements of one connection may not hold.
  private static let mostDoubtful = 64

  /// Statements that hold and that the file has not taken, in the order in which they came.
  private(set) var unsaved: [SignedStatement] = []
  /// How many statements did not hold, by who has told them.
  private(set) var doubts: [Mesh.ConnectionID: Int] = [:]

  mutating func add(_ statements: [SignedStatement]) { unsaved += statements }

  /// What is to be written now; what comes meanwhile waits for the next time.
  mutating func takeUnsaved() -> [SignedStatement] {
    defer { unsaved = [] }
    return unsaved
  }

  /// The file has not taken them: they go before what came meanwhile.
  mutating func putBack(_ statements: [SignedStatement]) { unsaved = statements + unsaved }

  /// Counts what did not hold; gives how many there were, once that ends the connection.
  mutating func doubt(_ count: Int, of connection: Mesh.ConnectionID) -> Int? {
    guard count > 0 || doubts[connection] != nil else { return nil }
    let doubtful = doubts[connection, default: 0] + count
    doubts[connection] = doubtful
    return doubtful > Self.mostDoubtful ? doubtful : nil
  }

  /// The connection has ended.
  mutating func leave(_ connection: Mesh.ConnectionID) { doubts[connection] = nil }
}
