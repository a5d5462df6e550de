import Replication
import SQLite

/// Which of the rows stand that claim one unique value.
///
/// A row is parked if and only if one that stands and goes before it has one of its values. There
/// is one such choice for a set of versions, so it is the same on every replica, in whatever order
/// they came. To try the parked rows in their order until nothing moves arrives at it: each step
/// puts a row before those that it displaces.
extension Store {
  /// A parked row that could take the place of one that is spared.
  struct Yielding {
    var key: Key
    /// When the last of those that it would have displaced was created.
    var after: Stamp
  }

  /// Tries the parked rows of a table again. Who would displace a row that is spared stays, and is
  /// given back.
  func unpark(
    _ table: ReplicaTable, sparing isSpared: (Version) -> Bool = { _ in false }
  ) throws -> [Yielding] {
    guard let statements = table.statements else { return [] }
    let rivals = Rivals(connection, statements)
    defer { try? rivals.remove() }
    var yielding: [Yielding] = []
    var hasMoved = true
    while hasMoved {
      (hasMoved, yielding) = (false, [])
      for (key, version) in try parked(table) {
        guard let entry = try shelf.entry(table: table.id, key: key) else { continue }
        let placement = Placement(entry, version, table, key)
        try shelf.remove(table: table.id, key: key)
        if try place(placement, statements, table, key) {
          hasMoved = true
          continue
        }
        let inTheWay = try self.rivals(of: placement, statements, table, rivals)
        if let inTheWay, goes(version, key, before: inTheWay) {
          let isSpared = inTheWay.contains { isSpared($0.version) }
          try rivals.remove()
          if !isSpared, try displace(inTheWay, by: placement, statements, table, key) {
            hasMoved = true
            continue
          }
          if isSpared {
            yielding.append(
              Yielding(key: key, after: inTheWay.map(\.version.createdAt).max() ?? .zero))
          }
        }
        try shelf.put(entry, table: table.id, key: key)
      }
    }
    try rivals.remove()
    return yielding
  }

  /// The rows of a table that a constraint keeps out, in the order in which they are tried.
  private func parked(_ table: ReplicaTable) throws -> [(key: Key, version: Version)] {
    try shelf.keys(table: table.id, why: [.constraint], limit: 100_000)
      .compactMap { key in
        try versions.version(table: table.id, key: key).map { (key, $0) }
      }.sorted { Precedence($0.version, $0.key) < Precedence($1.version, $1.key) }
  }

  private func goes(
    _ version: Version, _ key: Key, before others: [(key: Key, version: Version)]
  ) -> Bool {
    others.allSatisfy { Precedence(version, key) < Precedence($0.version, $0.key) }
  }

  /// What is in the way; nil if that is not for other rows to give up: the row itself does not
  /// fit, or one of the others is no row of the site.
  private func rivals(
    of placement: Placement, _ statements: RowStatements, _ table: ReplicaTable, _ rivals: Rivals
  ) throws -> [(key: Key, version: Version)]? {
    let known = placement.known(in: statements)
    let insert = statements.insert(known.map(\.column))
    var isUnique = false
    _ = try attempt {
      _ = try writing { () throws(SQLiteError) in
        do throws(SQLiteError) {
          try connection.run(insert, known.map(\.value.sqlite))
        } catch {
          isUnique = error.isOfUniqueValue
          throw error
        }
      }
      return false
    }
    guard isUnique else { return nil }
    var found: [(key: Key, version: Version)] = []
    let before = derivation
    defer { derivation = before }
    let keys = try rivals.find { replacing in
      _ = try writing { () throws(SQLiteError) in
        try connection.run(replacing(insert), known.map(\.value.sqlite))
      }
    }
    for values in keys {
      guard let key = table.key(values.map(Replication.Value.init)),
        let version = try versions.version(table: table.id, key: key), !version.isDeleted,
        try content(of: version, table, key) != nil
      else { return nil }
      found.append((key, version))
    }
    return found.isEmpty ? nil : found
  }

  /// Puts a row in the place of others, which are parked; false if it does not fit even so.
  private func displace(
    _ others: [(key: Key, version: Version)], by placement: Placement,
    _ statements: RowStatements, _ table: ReplicaTable, _ key: Key
  ) throws -> Bool {
    try attempt {
      for (key, version) in others {
        guard var entry = try content(of: version, table, key) else { return false }
        entry.why = .constraint
        _ = try writing { () throws(SQLiteError) in
          try connection.run(statements.deleteByKey, (key.values ?? []).map(\.sqlite))
        }
        try shelf.put(entry, table: table.id, key: key)
      }
      return try place(placement, statements, table, key)
    }
  }

  /// Does something that is undone unless it gives true: then the triggers that keep something
  /// derived, which a failure may have switched off, are as they were, too.
  func attempt(_ body: () throws -> Bool) throws -> Bool {
    let before = derivation
    let isDone = try connection.attempt(body)
    if !isDone { derivation = before }
    return isDone
  }

  /// A table in which nothing of a program waits to be folded.
  func isSettled() throws(SQLiteError) -> Bool {
    guard try Journal.isEmpty(on: connection) else { return false }
    return try comparing() == nil
  }

  /// Tries again what is parked in the tables that have changed. What a program has just written
  /// keeps its place: it could not see what is parked, which is made again after it.
  func settleFreed(_ edits: inout Edits) throws {
    let from = min(sparedFrom, edits.from)
    guard !freed.isEmpty, try !shelf.isEmpty else { return freed = [] }
    guard try isSettled() else { return sparedFrom = from }
    for id in freed.sorted() {
      guard let table = tables.byID[id] else { continue }
      let yielding = try unpark(table) { $0.dot.origin == own && $0.dot.seq > from }
      for row in yielding where mayWrite(table) { try yield(row, table, &edits) }
    }
    (freed, sparedFrom) = ([], .max)
  }

  /// Makes a parked row again, as if it were created after those that keep its value.
  private func yield(_ row: Yielding, _ table: ReplicaTable, _ edits: inout Edits) throws {
    guard let old = try versions.version(table: table.id, key: row.key) else { return }
    let moment = Dating.Moment(row.after.millisecondsSince1970 + 1)
    var version = try make(
      over: old, hash: old.hash, isDeleted: false, madeAt: moment, table, row.key, &edits)
    (version.created, version.createdAt) = (version.dot, version.stamp)
    try keep(version, table, row.key, old: old)
    edits.addLong()
  }

  /// The tables in which a constraint keeps rows out.
  func parkedTables() throws(SQLiteError) -> Set<Int64> {
    Set(
      try connection.rows("SELECT DISTINCT tbl FROM _flotilla_shelf WHERE why = 'constraint'")
        .compactMap { $0[0].integer })
  }
}
