import Replication
import SQLite
import Store

/// What the program sees, read with SQL of the simulator's own.
extension Application {
  /// Every row of the tables, by its number.
  func rows(of tables: [ApplicationTable]) throws -> [RowNumber: Observation.Content] {
    var rows: [RowNumber: Observation.Content] = [:]
    for table in tables where !isGone(table) {
      let key = table.key.map(\.column)
      let common = table.columns + table.generated
      // Two nodes may have added the same columns in different orders.
      let columns = key + common + added(to: table).sorted()
      try connection.with("SELECT \(columns.joined(separator: ", ")) FROM \(table.name)") {
        (statement) throws(SQLiteError) in
        while try statement.step() {
          var content: UInt64 = 1
          var atCommon: UInt64 = 1
          for index in columns.indices {
            content = mix(content ^ statement.fingerprint(index))
            if index == key.count + common.count - 1 { atCommon = content }
          }
          let values = key.indices.map { Replication.Value(statement.value($0)) }
          guard let key = Key(values, collations: table.collations) else { continue }
          rows[names.number(of: key, in: table.name)] = Observation.Content(
            whole: content, common: atCommon)
        }
      }
    }
    return rows
  }

  /// Every version of the tables, as the file has them.
  func versions(of tables: [ApplicationTable]) throws -> [RowNumber: Version] {
    var versions: [RowNumber: Version] = [:]
    try read("_flotilla_version", of: tables) { versions[$0] = $1 }
    return versions
  }

  /// Versions that the replica held when an application took their table away.
  func lost(of tables: [ApplicationTable]) throws -> [RowNumber: Version] {
    var versions: [RowNumber: Version] = [:]
    try read(
      "(SELECT k.id AS tbl, x.* FROM _flotilla_lost AS x JOIN _flotilla_local AS k USING (name) "
        + "WHERE x.why IN (0, 2))", of: tables
    ) { versions[$0] = $1 }
    return versions
  }

  /// Of these, the rows of tables that do not even stand under another name.
  func rowsOfDropped() throws -> Set<RowNumber> {
    let rows = try connection.rows("SELECT name, key FROM _flotilla_lost WHERE why = 0")
    return Set(
      rows.map { names.number(of: Key(bytes: $0[1].blob ?? []), in: $0[0].string ?? "") })
  }

  /// How many of its own edits the replica knows to be held by others.
  func delivered() throws -> UInt64 {
    let value = try connection.scalar(
      "SELECT value FROM _flotilla_meta WHERE name = 'delivered'")
    return UInt64(value.integer ?? 0)
  }

  /// Reads the versions of a table of Flotilla's.
  func read(
    _ source: String, of tables: [ApplicationTable], _ body: (RowNumber, Version) -> Void
  ) throws {
    let wanted = Set(tables.map(\.name))
    var numbers = NumberedNames()
    try connection.with(
      """
      SELECT l.name, v.key, o.origin, v.seq, v.stamp, v.hash, v.at, v.extra, c.origin, v.cseq,
        coalesce(v.cstamp, v.stamp) FROM \(source) AS v
      JOIN _flotilla_local AS l ON l.id = v.tbl JOIN _flotilla_origin AS o ON o.id = v.origin
      LEFT JOIN _flotilla_origin AS c ON c.id = v.corigin
      """
    ) { (statement) throws(SQLiteError) in
      while try statement.step() {
        guard let table = statement.string(0), wanted.contains(table) else { continue }
        let dot = Self.dot(statement, at: 2)
        var version = Version(
          dot: dot, created: statement.isNull(8) ? dot : Self.dot(statement, at: 8),
          createdAt: Stamp(rawValue: statement.integer(10)),
          stamp: Stamp(rawValue: statement.integer(4)),
          hash: UInt64(bitPattern: statement.integer(5)), isDeleted: statement.isNull(5))
        if !statement.isNull(7) {
          try numbers.load(connection)
          numbers.decode(
            statement.bytes(7), at: statement.isNull(6) ? nil : statement.integer(6), &version)
        }
        body(names.number(of: Key(bytes: statement.bytes(1)), in: table), version)
      }
    }
  }

  private static func dot(_ statement: Statement, at first: Int) -> Dot {
    Dot(
      Origin(rawValue: UInt64(bitPattern: statement.integer(first))),
      UInt64(statement.integer(first + 1)))
  }

  /// Rows that are kept beside their table; also those of which some columns are alone, if asked.
  func shelved(inPart: Bool) throws -> Set<RowNumber> {
    let rows = try connection.rows(
      """
      SELECT l.name, s.key FROM _flotilla_shelf AS s JOIN _flotilla_local AS l ON l.id = s.tbl
      WHERE s.why <> 'columns' OR \(inPart)
      """)
    return Set(
      rows.map { names.number(of: Key(bytes: $0[1].blob ?? []), in: $0[0].string ?? "") })
  }

  /// Rows that wait to be put back.
  func waiting() throws -> Set<RowNumber> {
    let rows = try connection.rows(
      "SELECT l.name, p.key FROM _flotilla_putback AS p JOIN _flotilla_local AS l ON l.id = p.tbl")
    return Set(
      rows.map { names.number(of: Key(bytes: $0[1].blob ?? []), in: $0[0].string ?? "") })
  }

  /// How often an edit of a row was not allowed, by the log.
  func refused() throws -> [RowNumber: Int] {
    let rows = try connection.rows(
      """
      SELECT name, key, count(*) FROM _flotilla_conflict
      WHERE reason = 'not-allowed' GROUP BY name, key
      """)
    return Dictionary(
      rows.map { row in
        (
          names.number(of: Key(bytes: row[1].blob ?? []), in: row[0].string ?? ""),
          Int(row[2].integer ?? 0)
        )
      }, uniquingKeysWith: +)
  }

  /// Own edits that lost to a delete that nobody remembers, by the log.
  func givenUp() throws -> [Dot: RowNumber] {
    let rows = try connection.rows(
      """
      SELECT name, key, origin, seq FROM _flotilla_conflict
      WHERE reason = 'already-deleted' AND loser IS NOT NULL AND winner IS NULL
      """)
    return Dictionary(
      rows.map { row in
        let origin = Origin(rawValue: UInt64(bitPattern: row[2].integer ?? 0))
        let key = Key(bytes: row[1].blob ?? [])
        return (
          Dot(origin, UInt64(row[3].integer ?? 0)),
          names.number(of: key, in: row[0].string ?? "")
        )
      }, uniquingKeysWith: { $1 })
  }

  /// What there is of deleted versions that go.
  func stability() throws -> Stability {
    let bytes = try connection.scalar(
      "SELECT value FROM _flotilla_meta WHERE name = 'stability'"
    ).blob
    return try bytes.map { try Stability($0) } ?? Stability()
  }

  /// Under which origin the file writes.
  func ownOrigin() throws -> UInt64 {
    let raw = try connection.scalar(
      """
      SELECT o.origin FROM _flotilla_origin AS o
      JOIN _flotilla_meta AS m ON m.name = 'origin' AND m.value = o.id
      """)
    return UInt64(bitPattern: raw.integer ?? 0)
  }

  /// What the replica claims to hold.
  func frontier() throws -> Frontier {
    let rows = try connection.rows("SELECT origin, seq FROM _flotilla_origin WHERE seq > 0")
    return Frontier(
      Dictionary(
        uniqueKeysWithValues: rows.map { row in
          let raw = UInt64(bitPattern: row[0].integer ?? 0)
          return (Origin(rawValue: raw), UInt64(row[1].integer ?? 0))
        }))
  }

  /// True if nothing that was committed waits for Flotilla: neither in the journal nor in a table
  /// that is still to be compared.
  func isFolded() throws -> Bool {
    try connection.row(
      """
      SELECT 1 FROM _flotilla_journal UNION ALL
      SELECT 1 FROM _flotilla_local WHERE comparing IS NOT NULL LIMIT 1
      """) == nil
  }

  /// What waits: entries of the journal, and tables that are still to be compared.
  func unfolded() throws -> [String] {
    try texts(
      """
      SELECT 'entries of ' || l.name FROM _flotilla_journal AS j
      LEFT JOIN _flotilla_local AS l ON l.id = j.tbl GROUP BY j.tbl UNION ALL
      SELECT name || ' since ' || comparing FROM _flotilla_local WHERE comparing IS NOT NULL
      """)
  }

  /// Changes when another connection has committed.
  func dataVersion() throws -> Int64 { try connection.dataVersion() }

  /// How many rows a table has.
  func rowCount(of table: String) throws -> Int {
    Int(
      try connection.scalar(
        "SELECT count(*) FROM \(quoted(table))"
      ).integer ?? 0)
  }

  /// Whether writes to a table are noted for Flotilla.
  func isCaptured(_ table: String) throws -> Bool { try capturedTables().contains(table) }

  /// The tables to which writes are noted for Flotilla.
  func capturedTables() throws -> Set<String> {
    let version = try schemaVersion()
    if captured?.version != version {
      let rows = try connection.rows(
        """
        SELECT DISTINCT tbl_name FROM sqlite_schema WHERE type = 'trigger'
        AND name LIKE '!_flotilla%' ESCAPE '!'
        """)
      captured = (version, Set(rows.compactMap { $0[0].string }))
    }
    return captured?.tables ?? []
  }

  /// Whether the triggers are those of the tables that are there: a migration may have taken them
  /// along.
  func schemaVersion() throws -> Int64 {
    try connection.scalar("PRAGMA schema_version").integer ?? 0
  }

  /// What one value out of the file looks like.
  func texts(_ sql: String) throws -> [String] {
    try connection.rows(sql).map { row in
      row.map { $0.string ?? "\($0)" }.joined(separator: " ")
    }
  }
}

extension Statement {
  /// A number for a value and its class, to the last bit.
  fileprivate func fingerprint(_ index: Int) -> UInt64 {
    switch value(index) {
    case .null: 0
    case .integer(let number): mix(UInt64(bitPattern: number) ^ 1)
    case .real(let number): mix(number.bitPattern ^ 2)
    case .text(let bytes): hash64(bytes, seed: 3)
    case .blob(let bytes): hash64(bytes, seed: 4)
    }
  }
}
