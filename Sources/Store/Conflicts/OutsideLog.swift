import Replication
import SQLite

/// Notes in the conflict log what programs beside the site have lost: those of a server that is
/// kept equal to it, say. They make no versions of their own, so nothing else would keep it.
package struct OutsideLog: Sendable {
  /// Columns with their values, those of the key first.
  package typealias Row = [(name: String, value: SQLite.Value)]

  /// Why a row lost.
  package enum Why: Sendable {
    case older
    case unseen
    case refused

    var reason: Reason {
      switch self {
      case .older: .older
      case .unseen: .unseen
      case .refused: .parked
      }
    }
  }

  let own: Origin
  /// By the name in this file, the name that the site knows.
  let names: [String: String]
  let authors: RowAuthors

  /// Writes an entry in the open transaction of somebody who writes beside a node that may run.
  ///
  /// - Parameters:
  ///   - keyCount: How many columns of a row are its key.
  ///   - lost: What lost; the key alone, with `isDelete`, if it was a delete.
  ///   - isOwn: Whether it is theirs, which comes in by this node. The other side is the site's:
  ///     who made that is named, as far as the file knows.
  package func note(
    _ table: String, keyCount: Int, lost: Row, isDelete: Bool, isOwn: Bool, stands: Row?,
    _ why: Why, at moment: Int64, on connection: Connection
  ) throws(SQLiteError) {
    let values = lost.prefix(keyCount).map(\.value)
    guard let key = Key(values.map(Replication.Value.init), collations: []) else { return }
    let maker = try authors.maker(of: table, values, on: connection)
    var loser = ConflictSide(
      refusedTo: own, at: moment, isDeleted: isDelete, Self.entry(lost, keyCount))
    var winner = stands.map { ConflictSide(foundBy: own, Self.entry($0, keyCount)) }
    if isOwn { winner?.name(maker) } else { loser.name(maker) }
    try ConflictLog(connection: connection).put(
      names[table] ?? table, key, at: moment, why.reason, loser: loser, winner: winner)
  }

  /// Notes that a row of such a program goes on under a fresh key, with so many that refer to it.
  ///
  /// - Parameters:
  ///   - lost: The row under the key that it had; the others are those of `note`.
  ///   - stands: What has that key on the site.
  package func noteRekeyed(
    _ table: String, keyCount: Int, lost: Row, stands: Row?, next: [SQLite.Value], rows: Int,
    at moment: Int64, on connection: Connection
  ) throws(SQLiteError) {
    let values = lost.prefix(keyCount).map(\.value)
    guard let key = Key(values.map(Replication.Value.init), collations: []),
      let next = Key(next.map(Replication.Value.init), collations: [])
    else { return }
    let (name, log) = (names[table] ?? table, ConflictLog(connection: connection))
    var winner = stands.map { ConflictSide(foundBy: own, Self.entry($0, keyCount)) }
    winner?.name(try authors.maker(of: table, values, on: connection))
    try log.put(
      name, key, at: moment, .keyCollision,
      loser: ConflictSide(
        refusedTo: own, at: moment, isDeleted: false, Self.entry(lost, keyCount)),
      winner: winner)
    guard let noted = try log.latest(name, key, .keyCollision) else { return }
    try log.noteRekeyed(noted.id, next: next, rows: rows)
  }

  private static func entry(_ row: Row, _ keyCount: Int) -> Shelf.Entry {
    Shelf.Entry(
      why: .constraint, values: row.map { (name: $0.name, value: Replication.Value($0.value)) },
      keyCount: keyCount)
  }
}

/// Who has made what a file knows of its rows, for somebody who writes beside a node that may run.
struct RowAuthors: Sendable {
  struct Table: Sendable {
    var id: Int64
    var collations: [KeyCollation]
  }

  /// By their names in this file, in small letters.
  let tables: [String: Table]

  /// The table, and the key in it.
  func place(_ name: String, _ values: [SQLite.Value]) -> (table: Table, key: Key)? {
    guard let table = tables[folded(name)],
      let key = Key(values.map(Replication.Value.init), collations: table.collations)
    else { return nil }
    return (table, key)
  }

  /// Who has made the version of a row that was folded last, and when.
  func maker(
    of name: String, _ values: [SQLite.Value], on connection: Connection
  ) throws(SQLiteError) -> (author: Origin, stamp: Stamp)? {
    guard let (table, key) = place(name, values) else { return nil }
    let row = try connection.row(
      """
      SELECT o.origin, v.stamp FROM main._flotilla_version AS v
      JOIN main._flotilla_origin AS o ON o.id = coalesce(v.author, v.origin)
      WHERE v.tbl = ? AND v.key = ?
      """, [.integer(table.id), .blob(key.bytes)])
    guard let origin = row?[0].integer, let stamp = row?[1].integer else { return nil }
    return (Origin(rawValue: UInt64(bitPattern: origin)), Stamp(clamping: stamp))
  }
}

extension ConflictSide {
  /// Names who has made it, and when; nobody if that is not known.
  fileprivate mutating func name(_ maker: (author: Origin, stamp: Stamp)?) {
    (author, stamp) = (maker?.author, maker?.stamp)
  }
}

extension Store {
  /// What is needed to note losers of these tables beside a node.
  package func outsideLog(of tables: [String]) -> OutsideLog {
    OutsideLog(
      own: own,
      names: Dictionary(tables.map { ($0, self.tables.siteName($0)) }) { first, _ in first },
      authors: rowAuthors(of: tables))
  }

  func rowAuthors(of names: [String]) -> RowAuthors {
    var known: [String: RowAuthors.Table] = [:]
    for name in names {
      guard let table = tables.table(called: name) else { continue }
      known[folded(name)] = RowAuthors.Table(id: table.id, collations: table.keyCollations)
    }
    return RowAuthors(tables: known)
  }

  /// For each of some keys, whether a row of the table had it and was deleted, as far as is known.
  package func areDeleted(
    _ keys: [[SQLite.Value]], from name: String
  ) throws(StoreError) -> [Bool] {
    guard let table = tables.table(called: name) else { return keys.map { _ in false } }
    return try reporting { () throws(SQLiteError) in
      try keys.map { values throws(SQLiteError) in
        guard let key = table.key(values.map(Replication.Value.init)) else { return false }
        return try versions.version(table: table.id, key: key)?.isDeleted == true
      }
    }
  }
}
