import SQLite

/// Rows that a program of the server has given each other's unique values, in one transaction.
/// SQLite looks at each row by itself, and refuses all of them.
extension MirrorSession {
  private static let mostExchanges = 5

  /// Has such rows give up their own values first; gives those that are refused all the same. A row
  /// that is new here has none.
  func exchange(
    _ rows: [MirroredRow], into taking: inout Taking, oneByOne: Bool
  ) throws(SQLiteError) -> [MirroredRow] {
    var standing: [MirroredRow] = []
    for row in rows where row.row != nil {
      if try site.row(row.link, row.key) != nil { standing.append(row) }
    }
    var ring: [MirroredRow] = []
    var unique: [Int: Set<String>] = [:]
    for (number, some) in Dictionary(grouping: standing, by: \.link.number) where some.count > 1 {
      guard let names = try site.exchangeable(some[0].link) else { continue }
      unique[number] = names
      ring += some
    }
    for _ in 0..<Self.mostExchanges where ring.count > 1 {
      let before = taking
      var left = ring
      let isDone = try undoing { () throws(SQLiteError) in
        for row in ring { try site.giveUp(row, unique[row.link.number] ?? []) }
        left = try apply(ring, into: &taking, oneByOne: oneByOne)
        return left.isEmpty
      }
      let names = Set((isDone ? ring : left).map(\.name))
      if isDone { return rows.filter { !names.contains($0.name) } }
      taking = before
      ring.removeAll { names.contains($0.name) }
    }
    return rows
  }

  /// Undoes what was done unless it is to stay. What SQLite has against it undoes it, too.
  private func undoing(
    _ body: () throws(SQLiteError) -> Bool
  ) throws(SQLiteError) -> Bool {
    var failure: SQLiteError?
    let isDone = try? site.connection.attempt {
      do throws(SQLiteError) {
        return try body()
      } catch {
        failure = error
        return false
      }
    }
    if let failure, !failure.isOfRow || site.connection.isAutocommit { throw failure }
    return isDone ?? false
  }
}

extension SiteFile {
  /// The columns under unique indexes, in small letters. Nil if a trigger of the site would see
  /// what they have for a moment, on this table or on one to which ON UPDATE hands it on.
  func readExchangeable(_ link: TableLink) throws(SQLiteError) -> Set<String>? {
    let hasTriggers = try connection.scalar(
      """
      WITH RECURSIVE reached(name) AS (
        VALUES(lower(?)) UNION
        SELECT lower(t.name) FROM reached, main.sqlite_schema AS t,
          pragma_foreign_key_list(t.name, 'main') AS f
        WHERE t.type = 'table' AND f."table" = reached.name COLLATE NOCASE
          AND f.on_update NOT IN ('NO ACTION', 'RESTRICT'))
      SELECT EXISTS(SELECT 1 FROM main.sqlite_schema AS s, reached
        WHERE s.type = 'trigger' AND s.tbl_name = reached.name COLLATE NOCASE
          AND s.name NOT GLOB '_flotilla_*')
      """, [.string(link.site.name)])
    guard hasTriggers.integer == 0 else { return nil }
    let unique = try connection.rows(
      """
      SELECT DISTINCT x.name FROM pragma_index_list(?1, 'main') AS l,
        pragma_index_xinfo(l.name, 'main') AS x WHERE l."unique" AND x.key AND x.name IS NOT NULL
      """, [.string(link.site.name)])
    return Set(unique.compactMap { $0[0].string?.lowercased() })
  }

  /// Puts a value that no row has where the row is to have another one in a column that is unique,
  /// or else NULL.
  fileprivate func giveUp(_ row: MirroredRow, _ names: Set<String>) throws(SQLiteError) {
    guard let values = row.row, let standing = try self.row(row.link, row.key) else { return }
    var other = MirroredRow(row.link, key: row.key, row: standing)
    for (place, column) in row.link.columns.enumerated()
    where values[place] != standing[place] && names.contains(column.name.lowercased()) {
      let number = Int64.random(in: 1 << 40..<1 << 48)
      other.row?[place] =
        switch column.form.affinity {
        case .text: .string("flotilla \(number)")
        case .real: .real(-Double(number))
        default: .integer(-number)
        }
      do throws(SQLiteError) {
        try write(other, over: standing)
      } catch {
        guard error.isOfRow, !connection.isAutocommit else { throw error }
        other.row?[place] = .null
        try write(other, over: standing)
      }
    }
  }
}
