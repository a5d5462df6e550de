import Replication
import SQLite
import Store

/// What there is in the table whose unique values all nodes claim.
extension Application {
  /// The rows that stand.
  func standingBadges() throws -> [RowNumber: Badge] {
    var badges: [RowNumber: Badge] = [:]
    for row in try connection.rows("SELECT id, code, note FROM \(Badges.name)") {
      guard let key = Key([Replication.Value(row[0])], collations: [.binary]) else { continue }
      let number = names.number(of: key, in: Badges.name)
      badges[number] = Badge(code: row[1].integer, note: row[2].string)
    }
    return badges
  }

  /// The rows that a constraint keeps out.
  func parkedBadges() throws -> [RowNumber: Badge] {
    var badges: [RowNumber: Badge] = [:]
    for (key, badge) in try shelf() { badges[names.number(of: key, in: Badges.name)] = badge }
    return badges
  }

  /// The row that stands and has the value of one that is parked, for each.
  func rivals() throws -> [RowNumber: RowNumber] {
    let parked = try parkedBadges()
    guard !parked.isEmpty else { return [:] }
    let standing = try standingBadges()
    return parked.compactMapValues { badge in
      badge.code.flatMap { code in standing.first { $0.value.code == code }?.key }
    }
  }

  /// The same by their keys, with the values that they claim.
  func parkedRows() throws -> [(id: Int64, code: Int64?)] {
    try shelf().compactMap { key, badge in
      guard case .integer(let id)? = key.values?.first else { return nil }
      return (id, badge.code)
    }
  }

  private func shelf() throws -> [(key: Key, badge: Badge)] {
    try connection.rows(
      """
      SELECT s.key, s.row FROM _flotilla_shelf AS s JOIN _flotilla_local AS l ON l.id = s.tbl
      WHERE s.why = 'constraint' AND l.name = '\(Badges.name)' ORDER BY s.key
      """
    ).map { (Key(bytes: $0[0].blob ?? []), Badge(try Self.values($0[1].blob ?? []))) }
  }

  /// What has lost, by the conflict log.
  func loggedBadges() throws -> [Traces.Trace] {
    let rows = try connection.rows(
      "SELECT key, loser FROM _flotilla_conflict WHERE name = '\(Badges.name)'")
    return rows.compactMap { row in
      guard let loser = row[1].blob.flatMap(ConflictSide.init), !loser.isDeleted else { return nil }
      let number = names.number(of: Key(bytes: row[0].blob ?? []), in: Badges.name)
      return Traces.Trace(row: number, badge: Badge(loser.values))
    }
  }

  /// A row on the shelf: how long its key is, how many values there are, and each with its name.
  private static func values(
    _ bytes: [UInt8]
  ) throws(WireError) -> [(name: String, value: Replication.Value)] {
    var reader = ByteReader(bytes)
    _ = try reader.uint("shelf")
    var values: [(name: String, value: Replication.Value)] = []
    for _ in 0..<(try reader.count("shelf", limit: 8)) {
      values.append((try reader.text("shelf"), try reader.value("shelf")))
    }
    return values
  }
}

extension Badge {
  /// Of a row as its columns are named.
  fileprivate init(_ values: [(name: String, value: Replication.Value)]) {
    func value(_ name: String) -> SQLite.Value? { values.first { $0.name == name }?.value.sqlite }
    self.init(code: value("code")?.integer, note: value("note")?.string)
  }
}
