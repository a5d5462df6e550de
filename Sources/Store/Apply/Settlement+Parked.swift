import Replication
import SQLite

/// Which of the rows stand that claim one unique value.
///
/// A row is parked if and only if one that stands and goes before it has one of its values. There
/// is one such choice for a set of versions, so it is the same on every replica, in whatever order
/// they came. To try the parked rows in their order until nothing moves arrives at it: each step
/// puts a row before those that it displaces.
extension Settlement {
  /// A parked row that could take the place of one that is spared.
  struct Yielding {
    var key: Key
    /// When the last of those that it would have displaced was created.
    var after: Stamp
  }

  /// What came of trying a parked row again.
  private enum Trial {
    /// It stands, and these have changed with it.
    case stands([Key])
    /// One that goes before it has a value of its.
    case behind(Key)
    /// It would displace a row that is spared.
    case yields(Yielding)
    /// It fits beside no rows at all, as long as it says what it says.
    case unfit
    case stays
  }

  /// How parked rows are tried.
  private struct Means {
    let table: ReplicaTable
    let statements: RowStatements
    let pass: ReferenceSettlement
    let claims: Claims
    let rivals: Rivals
  }

  /// Tries the parked rows of a table again whose obstacles have changed. Who would displace a row
  /// that is spared stays, and is given back.
  func unpark(
    _ table: ReplicaTable, _ pass: ReferenceSettlement,
    sparing isSpared: (Version) -> Bool = { _ in false }
  ) throws -> [Yielding] {
    guard let statements = table.statements else { return [] }
    let means = Means(
      table: table, statements: statements, pass: pass,
      claims: pass.claims(of: table, statements), rivals: Rivals(connection, statements))
    defer { try? means.rivals.remove() }
    if parking.obstacles[table.id] == nil {
      parking.obstacles[table.id] = Obstacles(due: try parkedKeys(table))
      try pass.lookAtClaimants(of: table, statements)
    }
    var yielding: [Yielding] = []
    var hasMoved = true
    while hasMoved || parking.obstacles[table.id]?.hasDue == true {
      (hasMoved, yielding) = (false, [])
      let due = parking.obstacles[table.id]?.takeDue() ?? []
      try pass.restore(table, statements, beside: due)
      for (key, version) in try parked(table, due) {
        switch try retry(key, version, means, sparing: isSpared) {
        case .stands(let changed):
          for key in changed { parking.obstacles[table.id]?.changed(key) }
          parking.move(changed.map { Export.RowID(table: table.id, key: $0) })
          hasMoved = true
        case .behind(let other): parking.obstacles[table.id]?.found(key, behind: other)
        case .yields(let row):
          yielding.append(row)
          parking.obstacles[table.id]?.foundNone(of: key)
        case .unfit: break
        case .stays: parking.obstacles[table.id]?.foundNone(of: key)
        }
      }
    }
    try means.rivals.remove()
    return yielding
  }

  private func retry(
    _ key: Key, _ version: Version, _ means: Means, sparing isSpared: (Version) -> Bool
  ) throws -> Trial {
    let (table, statements) = (means.table, means.statements)
    guard let entry = try shelf.entry(table: table.id, key: key) else { return .unfit }
    let placement = Placement(entry, version, table, key)
    let values = placement.parts(in: statements).known
    try means.pass.restore(table, statements, claiming: values)
    let holders = try means.claims.holders(of: values, on: connection)
    let known = try standing(holders, table, but: key)
    if let other = known?.first(where: { goes($0.version, $0.key, before: [(key, version)]) }) {
      return .behind(other.key)
    }
    let others: [(key: Key, version: Version)]
    if let known, !known.isEmpty, means.claims.areAll(of: values) {
      others = known
    } else if try comeBack(placement, statements, table, key) {
      return .stands([key])
    } else {
      let found = try rivals(of: placement, statements, table, key, means.rivals)
      try means.rivals.remove()
      switch found {
      case .itself: return .unfit
      case .strangers: return .stays
      case .rows(let rows): others = rows
      }
    }
    if let other = others.first(where: { goes($0.version, $0.key, before: [(key, version)]) }) {
      return .behind(other.key)
    }
    if others.contains(where: { isSpared($0.version) }) {
      let last = others.map(\.version.createdAt).max()
      return .yields(Yielding(key: key, after: last ?? .zero))
    }
    let isDone = try displace(others, by: placement, statements, table, key)
    return isDone ? .stands([key] + others.map(\.key)) : .unfit
  }

  private func parkedKeys(_ table: ReplicaTable) throws(SQLiteError) -> [Key] {
    try shelf.keys(of: table.id, why: .constraint)
  }

  /// Those of some rows that a constraint keeps out, in the order in which they are tried.
  private func parked(
    _ table: ReplicaTable, _ keys: Set<Key>
  ) throws -> [(key: Key, version: Version)] {
    try keys.compactMap { key in
      guard try shelf.why(table: table.id, key: key) == .constraint else { return nil }
      return try versions.version(table: table.id, key: key).map { (key, $0) }
    }.sorted { Precedence($0.version, $0.key) < Precedence($1.version, $1.key) }
  }

  /// A row has changed: what is parked in its table may fit now, and what refers to it stand or
  /// fall. `isGone` tells whether it is deleted, where that is known.
  func changed(_ table: ReplicaTable, _ key: Key, isGone: Bool? = nil) {
    parking.freed.insert(table.id)
    parking.obstacles[table.id]?.changed(key)
    guard references.concern(table.id) else { return }
    parking.touch(Export.RowID(table: table.id, key: key), isGone: isGone)
  }

  /// Decides anew which rows stand, after some have changed; `ids` are the tables in which a value
  /// may be free. Gives the rows that would displace one that is spared.
  func settleTables(
    _ ids: Set<Int64>, isAnew: Bool = false,
    sparing isSpared: (Version) -> Bool = { _ in false }
  ) throws -> [(table: ReplicaTable, row: Yielding)] {
    let references = references
    let pass = try ReferenceSettlement(self, references)
    var due = ids
    if !references.isEmpty || isAnew {
      try pass.begin(parking, isAnew: isAnew)
      due.formUnion(pass.changed)
    }
    parking.settle()
    var yielding: [Int64: [Yielding]] = [:]
    while !due.isEmpty {
      for id in due.sorted() {
        guard let table = tables.byID[id] else { continue }
        yielding[id] = try unpark(table, pass, sparing: isSpared)
      }
      due = try pass.follow(parking.takeMoved())
    }
    try pass.end()
    return yielding.sorted { $0.key < $1.key }.flatMap { id, rows in
      tables.byID[id].map { table in rows.map { (table, $0) } } ?? []
    }
  }
}
