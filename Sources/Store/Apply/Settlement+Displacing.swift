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

  /// What is in the way; nil if that is not for other rows to give up: the row itself does not
  /// fit, or one of the others is no row of the site.
  func rivals(
    of placement: Placement, _ statements: RowStatements, _ table: ReplicaTable, _ key: Key,
    _ rivals: Rivals
  ) throws -> [(key: Key, version: Version)]? {
    let known = placement.parts(in: statements).known
    let insert = statements.insert(known.map(\.column))
    var isUnique = false
    _ = try derived.attempt {
      _ = try contents.writing(table, key) { () throws(SQLiteError) in
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
    let replacing = statements.replacing(known.map(\.column))
    let keys = try derived.whileLooking {
      try rivals.find {
        _ = try contents.writing(table, key) { () throws(SQLiteError) in
          try connection.run(replacing, known.map(\.value.sqlite))
        }
      }
    }
    let found = try standing(keys, table)
    return found?.isEmpty == true ? nil : found
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
      return try contents.place(placement, statements, table, key)
    }
  }
}
