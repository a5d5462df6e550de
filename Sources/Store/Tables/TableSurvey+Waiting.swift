import Replication
import SQLite

/// What rows of others wait for.
extension TableSurvey {
  /// The tables that the site tracks and this replica lacks or cannot replicate, with the reason.
  package func waitingTables() throws(StoreError) -> [WaitingTable] {
    var waiting: [WaitingTable] = []
    let choices = try reporting { () throws(SQLiteError) in try tables.choices.all() }
    for table in tables.tracked where !table.isHere {
      // Nobody wants to hear of it any more.
      if choices[folded(table.name)] == .declined { continue }
      let question = choices[folded(table.name)] == .asked ? try question(about: table) : nil
      var reason = "its schema has changed and was not looked at yet"
      var remedy: String?
      if case .refused(let why, let how) = try trackability(of: table.nameHere) {
        (reason, remedy) = (why, how)
      }
      let isKeyless = try isKeyless(table.nameHere)
      if isKeyless == true, let key = table.keyShape {
        let columns = key.columns.map { quoted($0.name) }.joined(separator: ", ")
        remedy = "make it anew with PRIMARY KEY(\(columns)), as the site has it, and copy its rows"
      }
      let (rows, lost) = try reporting { () throws(SQLiteError) in
        (
          try connection.scalar(
            "SELECT count(*) FROM _flotilla_shelf WHERE tbl = ? AND why <> 'columns'",
            [.integer(table.id)]
          ).integer ?? 0,
          try self.lost.count(of: table)
        )
      }
      waiting.append(
        WaitingTable(
          name: table.nameHere, isMissing: isKeyless == nil, reason: reason, remedy: remedy,
          rows: Int(rows), lost: lost,
          question: question))
    }
    return waiting
  }

  /// Whether a table has no primary key; nil if there is nothing of that name.
  private func isKeyless(_ name: String) throws(StoreError) -> Bool? {
    try reporting { () throws(SQLiteError) in
      try connection.row(
        """
        SELECT type = 'table' AND NOT EXISTS (
          SELECT 1 FROM pragma_table_info(?1, 'main') WHERE pk > 0)
        FROM main.sqlite_schema WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE
        """, [.string(name)]
      ).map { $0[0].integer == 1 }
    }
  }

  /// Whether a table is here by now for which rows wait; told beside a node that may run.
  package static func tablesHaveCome(in path: String) throws(StoreError) -> Bool {
    try reporting { () throws(SQLiteError) in
      let connection = try Connection(path: path, mode: .readOnly)
      connection.setBusyTimeout(milliseconds: 10_000)
      return try connection.row(
        """
        SELECT 1 FROM _flotilla_local AS l
        JOIN sqlite_schema AS m ON m.type = 'table' AND m.name = l.name COLLATE NOCASE
        WHERE EXISTS (
          SELECT 1 FROM _flotilla_shelf WHERE tbl = l.id AND why = 'table' AND why <> 'columns')
        LIMIT 1
        """) != nil
    }
  }

  /// Nil if the table is not here at present.
  private func question(about table: ReplicaTable) throws(StoreError) -> WaitingTable.Question? {
    guard
      let name = try TableSchema.all(on: connection).first(where: { isSameName($0, table.nameHere) }
      )
    else { return nil }
    let (settings, key) = (try tables.settingsTable(), try tables.settingsKey(table.name))
    return try reporting { () throws(SQLiteError) in
      let origin = try versions.version(table: settings.id, key: key)?.dot.origin
      let author = try origin.flatMap { origin throws(SQLiteError) in
        try connection.scalar(
          "SELECT name FROM _flotilla_author WHERE origin = ?",
          [.integer(Int64(bitPattern: origin.rawValue))]
        ).string
      }
      return WaitingTable.Question(
        node: author,
        rowsHere: Int(
          try connection.prepareScalar("SELECT count(*) FROM main.\(quoted(name))")))
    }
  }

  /// How many rows of which table wait on the shelf, and why.
  package func shelvedRows() throws(StoreError) -> [ShelvedRows] {
    let rows = try reporting { () throws(SQLiteError) in
      try connection.rows(
        """
        SELECT l.name, s.why, count(*) FROM _flotilla_shelf AS s
        JOIN _flotilla_local AS l ON l.id = s.tbl WHERE \(KeyShapes.isHere)
        GROUP BY s.tbl, s.why ORDER BY l.name, s.why
        """)
    }
    return rows.compactMap { row in
      guard let name = row[0].string, let why = row[1].string.flatMap(Shelf.Why.init) else {
        return nil
      }
      return ShelvedRows(
        table: tables.nameHere(name), reason: ShelvedRows.Reason(why),
        rows: Int(row[2].integer ?? 0))
    }
  }

  /// Whether the row of a key is held beside its table.
  package func isParked(_ key: Key, of name: String) throws(StoreError) -> Bool {
    guard let table = tables.table(called: name) else { return false }
    return try reporting { () throws(SQLiteError) in
      try Shelf(connection: connection).why(table: table.id, key: key)?.isWhole ?? false
    }
  }

  package func parkedRows() throws(StoreError) -> [ParkedRow] {
    var found: [ParkedRow] = []
    try eachParkedRow { row in
      found.append(row)
      return true
    }
    return found
  }

  /// Gives one parked row after the other, whole, until `body` has had enough: each may have
  /// 64 MiB, and a key of nearly 1 MB.
  package func eachParkedRow(_ body: (ParkedRow) -> Bool) throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      let strays = try StrayRows(
        connection: connection, tables: tables, versions: versions,
        shelf: Shelf(connection: connection), parentage: try kinship.parentage(tables))
      let statement = try connection.prepare(
        """
        SELECT s.tbl, s.key, s.why, s.row, v.origin, v.seq FROM _flotilla_shelf AS s
        LEFT JOIN _flotilla_version AS v ON v.tbl = s.tbl AND v.key = s.key
        WHERE s.why <> 'columns'
        AND (s.tbl, s.key) NOT IN (SELECT tbl, key FROM _flotilla_dismissed)
        ORDER BY s.tbl, s.key
        """)
      while try statement.step() {
        guard let table = tables.byID[statement.integer(0)], !table.isHeld,
          let why = statement.string(2).flatMap(Shelf.Why.init)
        else { continue }
        let entry = Shelf.decode(statement.bytes(3), why)
        var parked = ParkedRow(
          table: table.nameHere, first: table.name, key: Key(bytes: statement.bytes(1)),
          why: why.rawValue,
          values: tables.namedHere(entry?.values ?? [], in: table.name),
          place: ParkedRow.Place(
            table: table.id, origin: statement.value(4), seq: statement.value(5)),
          size: statement.size(4))
        if why == .reference {
          parked.stray = try strays.words(table, parked.key)
        }
        guard body(parked) else { return }
      }
    }
  }
}

/// Tables whose key is another one elsewhere.
extension TableSurvey {
  /// The tables of which rows are kept in another shape of key than they have here.
  package func waitingKeys() throws(StoreError) -> [WaitingKey] {
    var waiting: [WaitingKey] = []
    for table in tables.tracked where table.isHere {
      for other in tables.held(of: table.name) {
        guard let here = table.keyShape, let there = other.keyShape else { continue }
        let (rows, writers) = try reporting { () throws(SQLiteError) in
          let rows = try connection.scalar(
            "SELECT count(*) FROM _flotilla_shelf WHERE tbl = ?",
            [.integer(other.id)])
          return (rows.integer ?? 0, try self.writers(of: other))
        }
        guard other.isLeading || rows > 0 else { continue }
        waiting.append(
          WaitingKey(
            table: table.name, here: here, there: there, isBehind: other.isLeading,
            rows: Int(rows), authors: writers))
      }
    }
    return waiting
  }

  private func writers(of table: ReplicaTable) throws(SQLiteError) -> [Identity] {
    try connection.rows(
      """
      SELECT DISTINCT a.node FROM
        (SELECT DISTINCT v.origin FROM _flotilla_shelf AS s
         JOIN _flotilla_version AS v USING (tbl, key) WHERE s.tbl = ?) AS v
      JOIN _flotilla_origin AS o ON o.id = v.origin
      JOIN _flotilla_author AS a ON a.origin = o.origin
      ORDER BY a.node LIMIT 4
      """, [.integer(table.id)]
    ).compactMap { $0[0].string.flatMap(Identity.init) }
  }

  /// The tables whose key was changed here, with it: who has not told the same is behind.
  package func changedTables() -> [(name: String, key: KeyShape, told: TableKey)] {
    tables.tracked.compactMap { table in
      guard table.isHere, table.isLeading, table.generation > 0, let key = table.keyShape
      else { return nil }
      return (table.name, key, TableKey(table: table.seed, key: key.fingerprint))
    }
  }
}
