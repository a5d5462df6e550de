import Replication
import SQLite

/// What people are told about a file and what is in it. It only reads.
package struct Survey {
  let connection: Connection
  let tables: Tables
  let versionFigures: VersionFigures
  let lost: LostVersions
  let pending: PendingTable
  let putBacks: PutBackTable
  let verdicts: Verdicts
  let rights: Rights
  let derivedTrouble: String?
}

/// How much there is.
extension Survey {
  package func figures() throws(StoreError) -> StoreFigures {
    let withoutVerdict = try verdicts.openCount()
    return try reporting { () throws(SQLiteError) in
      let unfolded = try Journal.count(on: connection)
      var tables: [TableFigures] = []
      for (name, rule) in try rulesByTable() {
        tables.append(try figures(of: name, rule, isFolded: unfolded == 0))
      }
      let unawaited = try verdicts.unjudgedUnawaited() + verdicts.unjudgedCertificates(pending)
      return StoreFigures(
        tables: tables,
        conflicts: try number(Self.openConflicts),
        parked: try parkedCount(),
        unfolded: unfolded,
        unjudged: verdicts.office.isHeld ? withoutVerdict + unawaited : 0,
        withoutVerdict: withoutVerdict,
        derivedTrouble: derivedTrouble)
    }
  }

  private func figures(
    of name: String, _ rule: String, isFolded: Bool
  ) throws(SQLiteError) -> TableFigures {
    var figures = TableFigures(
      name: tables.nameHere(name), first: name, rule: rule, rows: 0, isPresent: false,
      rowsWithoutKey: 0)
    guard let table = tables.table(name), let schema = table.schema else { return figures }
    figures.isPresent = true
    figures.lost = try lost.count(of: table)
    figures.rowsWithoutKey = try countWithoutKey(schema)
    if isFolded, let standing = try standing(in: table) {
      figures.rows = standing + figures.rowsWithoutKey
    } else {
      figures.rows = try count(schema)
    }
    return figures
  }

  /// Rows that wait for a table which the owner of this file has declined wait for nothing.
  private func parkedCount() throws(SQLiteError) -> Int {
    let all = "SELECT count(*) FROM _flotilla_shelf WHERE why <> 'columns' AND \(KeyShapes.isHere)"
    let declined = try tables.choices.all().filter { $0.value == .declined }.keys
      .compactMap { tables.table($0)?.id }
    guard !declined.isEmpty else { return try number(all) }
    return try number(
      all + " AND tbl NOT IN (\(declined.map(String.init).joined(separator: ", ")))")
  }

  /// How many rows stand in a table for its versions. Nil if that is not kept, and where the table
  /// may show others: it is compared with them, may not be read, or rows are yet to be put back.
  private func standing(in table: ReplicaTable) throws(SQLiteError) -> Int? {
    guard table.isLeading, rights.right(to: table.name) != .none, putBacks.isEmpty,
      let live = versionFigures.live(table.id), try tables.comparison(of: table.id) == nil
    else { return nil }
    let shelved = try connection.scalar(
      "SELECT count(*) FROM _flotilla_shelf WHERE tbl = ? AND why <> 'columns'",
      [.integer(table.id)])
    return live - Int(shelved.integer ?? 0)
  }

  /// How many versions this replica holds, deleted rows included.
  package func versionCount() throws(StoreError) -> Int {
    try reporting { () throws(SQLiteError) in
      try number("SELECT count(*) FROM _flotilla_version")
    }
  }

  /// Live rows of the site's tables, for the progress of a first copy.
  package func liveRowCount() throws(StoreError) -> Int { try liveRows(besides: []) }

  /// Live rows without those of Flotilla's own settings.
  package func applicationRowCount() throws(StoreError) -> Int {
    try liveRows(besides: Set(tables.settings.map(\.id)))
  }

  private func liveRows(besides others: Set<Int64>) throws(StoreError) -> Int {
    if let live = versionFigures.live(besides: others) { return live }
    let names = others.map(String.init).joined(separator: ", ")
    return try reporting { () throws(SQLiteError) in
      Int(
        try connection.prepareScalar(
          "SELECT count(*) FROM _flotilla_version WHERE hash IS NOT NULL AND tbl NOT IN (\(names))"
        ))
    }
  }

  /// Entries of the conflict log that nobody has settled.
  package func openConflictCount() throws(StoreError) -> Int {
    try reporting { () throws(SQLiteError) in try number(Self.openConflicts) }
  }

  private static let openConflicts = "SELECT count(*) FROM _flotilla_conflict WHERE state = 'open'"

  private func rulesByTable() throws(SQLiteError) -> [(String, String)] {
    try connection.rows("SELECT name, rule FROM \(Tables.listing) ORDER BY name").map {
      ($0[0].string ?? "", Store.ruleName($0[1].string))
    }
  }

  private func count(_ schema: TableSchema) throws(SQLiteError) -> Int {
    Int(try connection.prepareScalar("SELECT count(*) FROM main.\(quoted(schema.name))"))
  }

  private func countWithoutKey(_ schema: TableSchema) throws(SQLiteError) -> Int {
    let nullable = schema.key.map { schema.columns[$0] }.filter { !$0.isNotNull }
    guard !nullable.isEmpty else { return 0 }
    let condition = nullable.map { "\(quoted($0.name)) IS NULL" }.joined(separator: " OR ")
    return Int(
      try connection.prepareScalar(
        "SELECT count(*) FROM main.\(quoted(schema.name)) WHERE \(condition)"))
  }

  private func number(_ sql: String) throws(SQLiteError) -> Int {
    Int(try connection.scalar(sql).integer ?? 0)
  }
}

/// Whether the file is whole.
extension Survey {
  package func health() throws(StoreError) -> FileHealth {
    try reporting { () throws(SQLiteError) in
      var uncaptured: [String] = []
      var lostRows: String?
      for table in tables.tracked {
        guard let schema = table.schema else { continue }
        if try !Capture.isIntact(schema, id: table.id, on: connection) {
          uncaptured.append(schema.name)
        }
        if lostRows == nil {
          lostRows = try IndexCheck.damage(of: schema.name, on: connection)
            .map { "\(schema.name): \($0)" }
        }
      }
      let look = try QuickCheck(connection)
      return FileHealth(
        damage: look.damage, lostRows: lostRows, breach: look.breach,
        misfit: look.misfit, hasJournal: try Journal.isPresent(on: connection),
        uncaptured: uncaptured,
        journalMode: try connection.scalar("PRAGMA journal_mode").string ?? "?",
        bytes: FileSize.of(connection.path), walBytes: FileSize.of(connection.path + "-wal"))
    }
  }
}

extension Connection {
  /// One integer from SQL that is not worth keeping prepared.
  func prepareScalar(_ sql: String) throws(SQLiteError) -> Int64 {
    let statement = try prepare(sql)
    return try statement.step() ? statement.integer(0) : 0
  }
}
