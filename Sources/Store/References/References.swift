import Replication
import SQLite

/// The foreign keys between the tables of the site: one reading for whoever asks whether they hold.
///
/// A table that is not tracked, not here, or may not be read has no rows that could be missed:
/// references to it are none.
final class References {
  let all: [Reference]
  private var byChild: [Int64: [Reference]] = [:]
  private var byParent: [Int64: [Reference]] = [:]
  /// So many rows of a chain are looked for in one go.
  private static let mostFalling = 10_000
  /// Whether an index finds the rows that refer to a value, by the number of the reference.
  private var isIndexed: [Int: Bool] = [:]

  init(_ tables: [ReplicaTable], isHidden: (String) -> Bool) {
    var all: [Reference] = []
    for child in tables {
      for key in child.schema?.foreignKeys ?? [] {
        // The site may know another table by the name that one has here.
        guard
          let parent = tables.first(where: {
            $0.schema != nil && isSameName($0.nameHere, key.parent)
          }),
          !isHidden(parent.name),
          let reference = Reference(key, number: all.count, child: child, parent: parent)
        else { continue }
        all.append(reference)
        byChild[child.id, default: []].append(reference)
        byParent[parent.id, default: []].append(reference)
      }
    }
    self.all = all
    for (id, references) in byChild {
      guard let statements = references.first?.childStatements else { continue }
      let conditions = references.map(\.unmet).joined(separator: " OR ")
      let name = quoted(statements.tableName)
      dangles[id] =
        "SELECT \(conditions) FROM main.\(name) AS c WHERE \(statements.keyCondition)"
    }
  }

  /// By child: whether a row that is there refers to one that is not.
  private var dangles: [Int64: String] = [:]

  var isEmpty: Bool { all.isEmpty }

  func of(_ child: Int64) -> [Reference] { byChild[child] ?? [] }

  func to(_ parent: Int64) -> [Reference] { byParent[parent] ?? [] }

  func concern(_ table: Int64) -> Bool { byChild[table] != nil || byParent[table] != nil }

  /// Tells one set of references from another.
  var signature: Int64 {
    var sum: UInt64 = 0
    for reference in all {
      let own = zip(reference.columns, reference.places).map { name, place in
        place.map { reference.childStatements.shape.columns[$0] } ?? name
      }
      let words = [reference.child.name] + own + [reference.parent.name]
      let text = (words + reference.targets.map(\.first)).map { folded($0) + "\0" }.joined()
      sum &+= hash64(Array(text.utf8))
    }
    return Int64(bitPattern: sum)
  }

  /// Whether rows of a table can do that.
  func mayDangle(_ child: Int64) -> Bool { dangles[child] != nil }

  /// Whether a row refers to one that is not in its table; nil if it is not in its own.
  func isDangling(
    _ child: Int64, _ key: [SQLite.Value], on connection: Connection
  ) throws(SQLiteError) -> Bool? {
    guard let sql = dangles[child] else { return false }
    return try connection.row(sql, key).map { ($0[0].integer ?? 0) != 0 }
  }

  /// The keys of rows that may have referred to what is gone, of the child of one reference.
  ///
  /// Where no index helps, or it is not known what they referred to, all that dangle are looked
  /// for at once.
  ///
  /// Not many more than `most`, if that is known for each of them. `isLong`: there were children of
  /// children before; then some that refer to what dangles come along, parents first.
  func children(
    of reference: Reference, _ gone: [[SQLite.Value]?], most: Int = .max, isLong: Bool = false,
    on connection: Connection
  ) throws(SQLiteError) -> [[SQLite.Value]] {
    let known = gone.compactMap(\.self)
    guard known.count == gone.count, try isSearchable(reference, on: connection) else {
      guard isLong, let falling = reference.falling else {
        return try connection.rows(reference.dangling)
      }
      let limit = min(max(1, most), Self.mostFalling)
      return try connection.rows(falling, [.integer(Int64(limit))])
    }
    var found: [[SQLite.Value]] = []
    for values in known where !values.contains(.null) && found.count <= most {
      found += try connection.rows(
        reference.lookUp + " LIMIT ?", values + [.integer(Int64(clamping: most) &+ 1)])
    }
    return found
  }

  /// "SEARCH" means that an index is used, "SCAN" that all rows are read
  /// (sqlite.org/eqp.html, in other words).
  private func isSearchable(
    _ reference: Reference, on connection: Connection
  ) throws(SQLiteError) -> Bool {
    if let known = isIndexed[reference.number] { return known }
    var isIndexed = reference.isAlike
    if isIndexed {
      let plan = try connection.rows(
        "EXPLAIN QUERY PLAN " + reference.lookUp, reference.columns.map { _ in .null })
      isIndexed = plan.allSatisfy { $0.last?.string?.hasPrefix("SEARCH") == true }
    }
    self.isIndexed[reference.number] = isIndexed
    return isIndexed
  }
}

extension Reference {
  /// A number for what a row refers to, the same for the row that has it: so those that wait for it
  /// are found. Two things may have one number.
  func watch(
    _ values: [SQLite.Value], on connection: Connection
  ) throws(SQLiteError) -> Int64? {
    var canonical: [Replication.Value] = []
    for (target, value) in zip(targets, values) {
      canonical.append(Replication.Value(try target.stored(value, on: connection)))
    }
    guard let key = Key(canonical, collations: targets.map(\.collation)) else { return nil }
    let seed = targets.reduce(parent.seed) { mix($0 ^ ContentHash.column($1.first)) }
    return Int64(bitPattern: hash64(key.bytes, seed: seed))
  }
}

extension Reference.Target {
  /// The value as the column would hold it: SQLite itself says what its affinity makes of it.
  func stored(
    _ value: SQLite.Value, on connection: Connection
  ) throws(SQLiteError) -> SQLite.Value {
    switch (affinity, value) {
    case (.text, .integer), (.text, .real):
      return try connection.scalar("SELECT CAST(? AS TEXT)", [value])
    case (.integer, .text), (.real, .text), (.numeric, .text):
      // A text that is no number is not equal to what CAST makes of it.
      return try connection.scalar(
        "SELECT CASE WHEN CAST(?1 AS NUMERIC) = ?1 THEN CAST(?1 AS NUMERIC) ELSE ?1 END", [value])
    default: return value
    }
  }
}
