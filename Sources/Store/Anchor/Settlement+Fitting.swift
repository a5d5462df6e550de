import Replication
import SQLite

/// How an anchor finds out whether what the rule accepts also fits.
enum Fitting {
  /// By trying; what does not fit is put off.
  case tried
  /// It was found to fit with others that are accepted with it.
  case assumed
  /// It was found not to fit.
  case refuted
}

/// Whether edits that are to be judged fit beside what stands.
extension Settlement {
  /// What an edit would put into its table; the row is there, tracked, and not the settings'.
  struct Candidate {
    var item: PendingTable.Item
    var table: ReplicaTable
    var statements: RowStatements
    /// Nil for a delete.
    var placement: Placement?

    var key: [SQLite.Value] { (item.key.values ?? []).map(\.sqlite) }
  }

  /// Nil if there is nothing to try: the content is not here, or is what stands.
  func candidate(
    _ item: PendingTable.Item, _ entry: Shelf.Entry?, _ table: ReplicaTable,
    _ standing: Version?, at now: Instant
  ) throws -> Candidate? {
    guard table.isTracked, !table.isSettings, let statements = table.statements
    else { return nil }
    if item.version.isDeleted {
      guard let standing, !standing.isDeleted else { return nil }
      return Candidate(item: item, table: table, statements: statements, placement: nil)
    }
    guard let entry else { return nil }
    let isParked = try shelf.why(table: table.id, key: item.key)?.isWhole == true
    let isThere = standing.map { !$0.isDeleted } ?? false
    if isThere, standing?.hash == item.version.hash, !isParked { return nil }
    var placement = Placement(entry, item.version, table, item.key)
    placement.exists = isThere && !isParked
    placement.unseenAt = isThere ? nil : now.moment
    return Candidate(item: item, table: table, statements: statements, placement: placement)
  }

  /// Whether an edit fits; if so and it is a row, it is in its table.
  func fits(_ candidate: Candidate) throws -> Bool {
    guard references.concern(candidate.table.id) else {
      guard let placement = candidate.placement else { return true }
      return try derived.attempt { try put(placement, candidate) }
    }
    let (table, key) = (candidate.table, candidate.key)
    let before = try references.referred(of: table, key, on: connection)
    let known = try references.broken(table, key, References.Referred(), on: connection)
    return try derived.attempt {
      guard try put(candidate.placement, candidate) else { return false }
      return try references.broken(table, key, before, on: connection).isSubset(of: known)
    }
  }

  private func put(_ placement: Placement?, _ candidate: Candidate) throws -> Bool {
    let (table, statements) = (candidate.table, candidate.statements)
    try shelf.remove(table: table.id, key: candidate.item.key)
    guard let placement else {
      return try contents.writing(table, candidate.item.key) { () throws(SQLiteError) in
        try connection.run(statements.deleteByKey, candidate.key)
      } == nil
    }
    // Elsewhere what stands stays; who judges says that it does not fit.
    if placement.lacksValue(in: statements) { return false }
    return try contents.place(placement, statements, table, candidate.item.key)
  }

  /// Those of some edits that fit if all of them are accepted: rows that swap a value, or refer to
  /// each other.
  func fitting(_ candidates: [Candidate]) throws -> [Candidate] {
    var (remaining, rows) = (candidates, 0)
    while rows < Self.mostRows {
      rows += remaining.count
      let fitting = try tried(remaining)
      if fitting.count == remaining.count { return fitting }
      remaining = fitting
    }
    return []
  }

  /// Each round leaves out what does not fit, and next to go is what needs that. So many rows are
  /// tried in all rounds.
  private static let mostRows = 50_000

  /// Tries them together, and leaves everything as it was; gives those that went in.
  private func tried(_ candidates: [Candidate]) throws -> [Candidate] {
    let references = references
    var fitting: [Candidate] = []
    _ = try derived.attempt {
      var known: [(before: References.Referred, broken: Set<Int>)] = []
      for candidate in candidates {
        let (table, key) = (candidate.table, candidate.key)
        known.append(
          (
            try references.referred(of: table, key, on: connection),
            try references.broken(table, key, References.Referred(), on: connection)
          ))
      }
      for candidate in candidates { _ = try put(nil, candidate) }
      var isPlaced: [Bool] = []
      for candidate in candidates {
        guard var placement = candidate.placement else {
          isPlaced.append(true)
          continue
        }
        (placement.exists, placement.unseenAt) = (false, nil)
        isPlaced.append(try put(placement, candidate))
      }
      for (number, candidate) in candidates.enumerated() where isPlaced[number] {
        let broken = try references.broken(
          candidate.table, candidate.key, known[number].before, on: connection)
        if broken.isSubset(of: known[number].broken) { fitting.append(candidate) }
      }
      return false
    }
    return fitting
  }
}
