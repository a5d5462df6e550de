import Replication
import SQLite

/// Rows that are in the way of another one, and give way to it.
extension Settlement {
  /// The versions of rows that stand; nil if one of them is no row of the site, or is the one that
  /// is to be placed.
  func standing(
    _ rows: [[SQLite.Value]], _ table: ReplicaTable, but own: Key? = nil
  ) throws -> [(key: Key, version: Version)]? {
    var found: [(key: Key, version: Version)] = []
    for values in rows {
      guard let key = table.key(values.map(Replication.Value.init)), key != own,
        let version = try versions.version(table: table.id, key: key), !version.isDeleted,
        case let shelved = try shelf.entry(table: table.id, key: key),
        // The site's waits elsewhere: a program has written this one, and it is yet to be folded.
        shelved?.why.isWhole != true,
        try contents.tableContent(table, key, beside: shelved) != nil
      else { return nil }
      if !found.contains(where: { $0.key == key }) { found.append((key, version)) }
    }
    return found
  }

  func goes(
    _ version: Version, _ key: Key, before others: [(key: Key, version: Version)]
  ) -> Bool {
    others.allSatisfy { Precedence(version, key) < Precedence($0.version, $0.key) }
  }

  /// What keeps a row out of its table.
  enum Rivalry {
    /// No other row: it does not fit by what it says itself.
    case itself
    /// Others that are not all rows of the site, so that they have no rank.
    case strangers
    case rows([(key: Key, version: Version)])
  }

  /// What is in the way of a row that a constraint keeps out.
  ///
  /// What it says is to blame if it does not fit even where all that is in its way is deleted.
  func rivals(
    of placement: Placement, _ statements: RowStatements, _ table: ReplicaTable, _ key: Key,
    _ rivals: Rivals
  ) throws -> Rivalry {
    let known = placement.parts(in: statements).known
    let insert = statements.insert(known.map(\.column))
    var (isUnique, isFree) = (false, false)
    _ = try derived.attempt {
      let broken = try contents.writing(table, key) { () throws(SQLiteError) in
        do throws(SQLiteError) {
          try connection.run(insert, known.map(\.value.sqlite))
        } catch {
          isUnique = error.isOfUniqueValue
          throw error
        }
      }
      isFree = broken == nil
      return false
    }
    // A program has written its key, say.
    guard !isFree else { return .strangers }
    guard isUnique else { return .itself }
    let replacing = statements.replacing(known.map(\.column))
    var broken: String?
    let keys = try derived.whileLooking {
      try rivals.find {
        broken = try contents.writing(table, key) { () throws(SQLiteError) in
          try connection.run(replacing, known.map(\.value.sqlite))
        }
      }
    }
    guard broken == nil else { return .itself }
    guard let found = try standing(keys, table), !found.isEmpty else { return .strangers }
    return .rows(found)
  }

  /// Puts a parked row into its table; false if it does not fit.
  func comeBack(
    _ placement: Placement, _ statements: RowStatements, _ table: ReplicaTable, _ key: Key
  ) throws -> Bool {
    guard try contents.place(placement, statements, table, key) else { return false }
    // What the table does not show of it may be kept in its place.
    if try shelf.why(table: table.id, key: key)?.isWhole == true {
      try shelf.remove(table: table.id, key: key)
    }
    return true
  }

  /// Puts a row in the place of others, which are parked; false if it does not fit even so.
  func displace(
    _ others: [(key: Key, version: Version)], by placement: Placement,
    _ statements: RowStatements, _ table: ReplicaTable, _ key: Key
  ) throws -> Bool {
    try derived.attempt {
      for (key, version) in others {
        guard var entry = try contents.content(of: version, table, key) else { return false }
        entry.why = .constraint
        _ = try contents.writing(table, key) { () throws(SQLiteError) in
          try connection.run(statements.deleteByKey, (key.values ?? []).map(\.sqlite))
        }
        try shelf.put(entry, table: table.id, key: key)
      }
      return try comeBack(placement, statements, table, key)
    }
  }
}
