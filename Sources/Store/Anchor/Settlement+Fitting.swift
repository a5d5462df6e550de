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

  /// Whether an edit fits beside what stands, and what has to happen before, if that is known.
  enum Fit: Equatable {
    case fits
    case needs(Deferral.Need?)
  }

  /// Whether an edit fits; if so and it is a row, it is in its table.
  func fit(_ candidate: Candidate) throws -> Fit {
    let (table, key) = (candidate.table, candidate.key)
    let isReferred = references.concern(table.id)
    let before = isReferred ? try references.referred(of: table, key, on: connection) : .init()
    let known = isReferred ? try references.broken(table, key, .init(), on: connection) : [:]
    var (isPlaced, broken) = (false, known)
    let fits = try derived.attempt {
      isPlaced = try put(candidate.placement, candidate)
      guard isPlaced, isReferred else { return isPlaced }
      broken = try references.broken(table, key, before, on: connection)
        .filter { known[$0.key] == nil }
      return broken.isEmpty
    }
    if fits { return .fits }
    guard isPlaced else { return .needs(try holder(of: candidate)) }
    return .needs(try need(of: candidate, broken))
  }

  /// Who has a unique value that an edit claims, as far as indexes of columns tell.
  private func holder(of candidate: Candidate) throws -> Deferral.Need? {
    guard let placement = candidate.placement else { return nil }
    let (table, statements) = (candidate.table, candidate.statements)
    let known = placement.parts(in: statements).known
    return try Claims(table, statements).holders(of: known, on: connection)
      .compactMap { table.key($0.map(Replication.Value.init)) }
      .first { $0 != candidate.item.key }
      .map { .change(Export.RowID(table: table.id, key: $0)) }
  }

  /// What one of the references needs that an edit would break.
  private func need(
    of candidate: Candidate, _ broken: [Int: [SQLite.Value]]
  ) throws -> Deferral.Need? {
    guard let (number, key) = broken.first else { return nil }
    let reference = references.all[number]
    let row = reference.child.key(key.map(Replication.Value.init))
    if reference.child.id != candidate.table.id || row != candidate.item.key {
      return row.map { .change(Export.RowID(table: reference.child.id, key: $0)) }
    }
    return try candidate.placement.flatMap { reference.values(of: $0) }
      .flatMap { try reference.watch($0, on: connection) }.map { .parent($0) }
  }

  /// What others may need that happens if an edit is accepted.
  func brings(
    _ item: PendingTable.Item, _ entry: Shelf.Entry?, _ table: ReplicaTable
  ) throws -> [Deferral.Need] {
    var brings: [Deferral.Need] = [.change(Export.RowID(table: table.id, key: item.key))]
    guard !item.version.isDeleted else { return brings }
    for reference in references.to(table.id) {
      let values =
        reference.values(ofKey: item.key) ?? entry.flatMap { reference.targetValues(of: $0) }
      let watch = try values.flatMap { try reference.watch($0, on: connection) }
      if let watch { brings.append(.parent(watch)) }
    }
    return brings
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
            Set(try references.broken(table, key, .init(), on: connection).keys)
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
        if known[number].broken.isSuperset(of: broken.keys) { fitting.append(candidate) }
      }
      return false
    }
    return fitting
  }
}
