import Flotilla
import SQLite

/// What the mirror keeps on the server, in the transactions that change the rows: how far they are,
/// who mirrors, what does not go over.
struct ServerLedger {
  let server: ServerConnection
  let database: String
  let site: String
  let holder: String
  /// Another one each time the process connects.
  let session: String

  /// The state of the mirror as the server has it.
  struct State: Equatable {
    /// Up to where the change feed of the replica has gone out; nil before the first comparison.
    var cursor: String?
    /// Of which life of the replica's file that is.
    var life: Int64?
    /// Counts transactions: a server that was put back to a backup has a smaller one.
    var number: Int64
  }

  /// So long a mirror that says nothing keeps its place, in seconds.
  static let lease = 15

  /// What tells one server from others: several nodes of a cluster may be on one machine.
  private static let machine = "LEFT(CONCAT(@@hostname, ' ', @@datadir), 255)"

  /// The same, by another connection.
  func by(_ server: ServerConnection) -> ServerLedger {
    ServerLedger(
      server: server, database: database, site: site, holder: holder, session: session)
  }

  private func table(_ name: String) -> String {
    "\(serverName(database)).\(serverName("flotilla_\(name)"))"
  }

  /// Makes the tables that are missing.
  func install() throws(ServerError) {
    try server.execute(
      """
      CREATE TABLE IF NOT EXISTS \(table("state")) (
        site VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY,
        holder VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        node VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
        session VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
        connection BIGINT NOT NULL DEFAULT 0,
        host VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL DEFAULT '',
        until TIMESTAMP(6) NOT NULL DEFAULT '2000-01-01 00:00:00',
        place VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL,
        life BIGINT NULL, number BIGINT NOT NULL DEFAULT 0
      ) ENGINE=InnoDB
      """)
    try server.execute(
      """
      CREATE TABLE IF NOT EXISTS \(table("table")) (
        number INT PRIMARY KEY, site_table VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
        schema_name VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL,
        table_name VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL,
        is_filled BOOLEAN NOT NULL DEFAULT FALSE, is_stale BOOLEAN NOT NULL DEFAULT FALSE
      ) ENGINE=InnoDB
      """)
    try server.execute(
      """
      CREATE TABLE IF NOT EXISTS \(table("held")) (
        number INT NOT NULL, name CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        shown TEXT CHARACTER SET utf8mb4 NOT NULL, direction VARCHAR(3) NOT NULL,
        reason TEXT CHARACTER SET utf8mb4 NOT NULL,
        at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), PRIMARY KEY (number, name)
      ) ENGINE=InnoDB
      """)
  }

  /// Who mirrors into this database, for which site; nil if nobody does.
  static func occupant(
    of database: String, on server: ServerConnection
  ) throws(ServerError) -> (site: String, holder: String, node: String, isAlive: Bool)? {
    let exists = try server.rows(
      of: 1,
      """
      SELECT 1 FROM information_schema.tables
      WHERE table_schema = ? AND table_name = 'flotilla_state'
      """, [.string(database)])
    guard !exists.isEmpty else { return nil }
    let row = try server.rows(
      of: 4,
      """
      SELECT site, holder, node, until > CURRENT_TIMESTAMP(6)
      FROM \(serverName(database)).flotilla_state LIMIT 1
      """
    ).first
    guard let row else { return nil }
    return (
      row[0].string ?? "", row[1].string ?? "", row[2].string ?? "", row[3].integer == 1
    )
  }

  /// Says who mirrors, instead of whom it was before.
  func appoint(node: String, tables: [MirrorSettings.Table]) throws(ServerError) {
    try server.run(
      """
      INSERT INTO \(table("state"))(site, holder, node) VALUES (?, ?, ?)
      ON DUPLICATE KEY UPDATE holder = VALUES(holder), node = VALUES(node), session = '',
        place = NULL, life = NULL, until = '2000-01-01 00:00:00'
      """, [.string(site), .string(holder), .string(node)])
    for one in tables {
      try server.run(
        """
        INSERT IGNORE INTO \(table("table"))(number, site_table, schema_name, table_name)
        VALUES (?, ?, ?, ?)
        """,
        [
          .integer(Int64(one.number)), .string(one.table), .string(one.schema), .string(one.name),
        ])
    }
  }

  /// The tables that were mirrored before.
  func tables() throws(ServerError) -> [MirrorSettings.Table] {
    try server.rows(
      of: 4,
      "SELECT number, site_table, schema_name, table_name FROM \(table("table")) ORDER BY number"
    ).map { row in
      MirrorSettings.Table(
        number: Int(max(0, min(row[0].integer ?? 0, 1 << 30))), table: row[1].string ?? "",
        schema: row[2].string ?? "",
        name: row[3].string ?? "")
    }
  }

  /// Notes which tables are mirrored, as far as that is not known there.
  func list(_ tables: [MirrorSettings.Table]) throws(ServerError) {
    let known = try self.tables()
    for one in tables where !known.contains(where: { $0.isSame(as: one) }) {
      try server.run(
        """
        INSERT INTO \(table("table"))(number, site_table, schema_name, table_name)
        VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE site_table = VALUES(site_table),
          schema_name = VALUES(schema_name), table_name = VALUES(table_name)
        """,
        [
          .integer(Int64(one.number)), .string(one.table), .string(one.schema), .string(one.name),
        ])
    }
  }

  /// Takes out what is kept of tables that are mirrored no more; no trigger of them is left by
  /// then. The list comes last: what is on it is not done.
  func forgetAll(but numbers: Set<Int>) throws(ServerError) {
    try forget(tables().map(\.number).filter { !numbers.contains($0) })
  }

  func forget(_ numbers: [Int]) throws(ServerError) {
    for number in numbers {
      try server.execute("DROP TABLE IF EXISTS \(table("journal_\(number)"))")
      try server.run(
        "DELETE FROM \(table("held")) WHERE number = ?", [.integer(Int64(number))])
      try server.run(
        "DELETE FROM \(table("table")) WHERE number = ?", [.integer(Int64(number))])
    }
  }

  /// Takes the place, if nobody else has it; nil, and why not, if somebody has.
  ///
  /// What a process of this mirror held that has died is free as soon as its connection is gone.
  func enter() throws(ServerError) -> (state: State?, objection: String?) {
    try server.transaction { () throws(ServerError) in
      let row = try lockedRow(
        of: 8,
        """
        holder, node, session, until > CURRENT_TIMESTAMP(6), place, life, number,
          host = \(Self.machine) AND NOT EXISTS (SELECT 1 FROM information_schema.processlist
            WHERE id = \(table("state")).connection)
        """)
      guard let row else {
        return (
          nil, "the server does not know this mirror; flotilla mirror DB take URL begins anew"
        )
      }
      guard row[0].string == holder else {
        return (
          nil,
          "\(row[1].string ?? "another node") mirrors this site into the same database; "
            + "it stays so until this node takes it over: flotilla mirror DB take URL"
        )
      }
      let isFree = row[3].integer != 1 || row[2].string == session || row[7].integer == 1
      guard isFree else {
        return (
          nil, "another process of this mirror is at work; its place is free 15 s after it ends"
        )
      }
      try server.run(
        """
        UPDATE \(table("state")) SET session = ?, connection = CONNECTION_ID(),
          host = \(Self.machine), until = CURRENT_TIMESTAMP(6) + INTERVAL \(Self.lease) SECOND
        WHERE site = ?
        """, [.string(session), .string(site)])
      return (
        State(
          cursor: row[4].string, life: row[5].integer,
          number: max(0, min(row[6].integer ?? 0, 1 << 60))), nil
      )
    }
  }

  /// Gives the place free.
  func leave() throws(ServerError) {
    try server.run(
      "UPDATE \(table("state")) SET until = '2000-01-01 00:00:00' WHERE site = ? AND session = ?",
      [.string(site), .string(session)])
  }

  /// Inside a transaction: makes sure that the place is still ours, and keeps others out until the
  /// end of it. `last` is the number of the transaction before, if this session has made one: a
  /// dump may have been loaded since. Gives the time of the server, in µs since 1970.
  func hold(after last: Int64?) throws(ServerError) -> Int64 {
    let row = try lockedRow(
      of: 3, "session, CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(6)) * 1000000 AS SIGNED), number")
    guard row?[0].string == session else {
      throw .own("another process or node has taken the mirror over")
    }
    if let last, row?[2].integer != last {
      throw .own("an earlier state of the database was loaded while it was mirrored")
    }
    return row?[1].integer ?? 0
  }

  /// What stands of this mirror, locked until the end of the transaction. A connection that was
  /// lost in the middle of one has it locked until the server hears of that, or ends it.
  private func lockedRow(of width: Int, _ columns: String) throws(ServerError) -> [Value]? {
    do throws(ServerError) {
      return try server.rows(
        of: width, "SELECT \(columns) FROM \(table("state")) WHERE site = ? FOR UPDATE",
        [.string(site)]
      ).first
    } catch {
      guard error.isLock else { throw error }
      throw ServerError(
        code: error.code,
        message: "another transaction has the mirror's place locked. If it is of a connection that "
          + "was lost, the server ends it within \(ServerConnection.longestIdleness) s")
    }
  }

  /// The last statement of a transaction: how far it goes.
  func advance(cursor: String?, life: Int64?, number: Int64) throws(ServerError) {
    let place = cursor == nil ? "" : "place = ?, life = ?, "
    let values: [Value] = cursor.map { [.string($0), life.map(Value.integer) ?? .null] } ?? []
    try server.run(
      """
      UPDATE \(table("state")) SET \(place)number = ?,
        until = CURRENT_TIMESTAMP(6) + INTERVAL \(Self.lease) SECOND WHERE site = ?
      """, values + [.integer(number), .string(site)])
  }

  /// Lengthens the lease, and says how far the feed has been read; false if the place is somebody
  /// else's. `last` as in `hold`.
  func renew(cursor: String?, life: Int64, after last: Int64?) throws(ServerError) -> Bool {
    let place = cursor == nil ? "" : "place = ?, life = ?, "
    let values: [Value] = cursor.map { [.string($0), .integer(life)] } ?? []
    let isAsLeft = last == nil ? "" : " AND number = ?"
    let renewed = try server.run(
      """
      UPDATE \(table("state")) SET \(place)until =
        CURRENT_TIMESTAMP(6) + INTERVAL \(Self.lease) SECOND
      WHERE site = ? AND session = ?\(isAsLeft)
      """, values + [.string(site), .string(session)] + (last.map { [.integer($0)] } ?? []))
    if renewed == 1 { return true }
    _ = try hold(after: last)
    return false
  }

  /// Whether all rows of a table were compared once, and whether changes of it were passed over.
  func standing() throws(ServerError) -> [Int: (isFilled: Bool, isStale: Bool)] {
    var standing: [Int: (isFilled: Bool, isStale: Bool)] = [:]
    for row in try server.rows(
      of: 3, "SELECT number, is_filled, is_stale FROM \(table("table"))")
    {
      standing[Int(clamping: row[0].integer ?? 0)] = (row[1].integer == 1, row[2].integer == 1)
    }
    return standing
  }

  func mark(_ numbers: [Int], isStale: Bool) throws(ServerError) {
    for number in numbers {
      try server.run(
        """
        UPDATE \(table("table")) SET is_stale = ?, is_filled = is_filled OR NOT ?
        WHERE number = ?
        """,
        [.integer(isStale ? 1 : 0), .integer(isStale ? 1 : 0), .integer(Int64(number))])
    }
  }

  /// A table is to be compared: as if it never was, or only because of what the site has.
  func need(_ numbers: [Int], isWhole: Bool) throws(ServerError) {
    for number in numbers {
      try server.run(
        "UPDATE \(table("table")) SET \(isWhole ? "is_filled = FALSE" : "is_stale = TRUE") "
          + "WHERE number = ?", [.integer(Int64(number))])
    }
  }

  /// What does not go over.
  func held() throws(ServerError) -> [HeldRows.Name: HeldRows.Entry] {
    var held: [HeldRows.Name: HeldRows.Entry] = [:]
    let rows = try server.rows(
      of: 6,
      """
      SELECT number, name, LEFT(shown, 500), direction, LEFT(reason, 500),
        CAST(UNIX_TIMESTAMP(at) * 1000 AS SIGNED) FROM \(table("held")) LIMIT \(HeldRows.most)
      """)
    for row in rows {
      let name = HeldRows.Name(number: Int(clamping: row[0].integer ?? 0), key: row[1].string ?? "")
      held[name] = HeldRows.Entry(
        shown: row[2].string ?? "", direction: row[3].string == "in" ? .inward : .outward,
        reason: row[4].string ?? "", at: row[5].integer ?? 0)
    }
    return held
  }

  func hold(_ name: HeldRows.Name, _ entry: HeldRows.Entry) throws(ServerError) {
    try server.run(
      """
      INSERT INTO \(table("held"))(number, name, shown, direction, reason) VALUES (?, ?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE direction = VALUES(direction), reason = VALUES(reason)
      """,
      [
        .integer(Int64(name.number)), .string(name.key), .string(String(entry.shown.prefix(500))),
        .string(entry.direction.rawValue), .string(String(entry.reason.prefix(500))),
      ])
  }

  func release(_ name: HeldRows.Name) throws(ServerError) {
    try server.run(
      "DELETE FROM \(table("held")) WHERE number = ? AND name = ?",
      [.integer(Int64(name.number)), .string(name.key)])
  }
}

/// Rows that do not go over, and why.
struct HeldRows {
  struct Name: Hashable {
    let number: Int
    /// The fingerprint of the key.
    let key: String

    init(number: Int, key: String) { (self.number, self.key) = (number, key) }

    init(_ row: MirroredRow) {
      (number, key) = (row.link.number, RowKey.fingerprint(row.key))
    }
  }

  enum Direction: String {
    case outward = "out"
    case inward = "in"
  }

  struct Entry {
    var shown: String
    var direction: Direction
    var reason: String
    var at: Int64
  }

  /// So many are known; with more the tables have little in common.
  static let most = 100_000

  var entries: [Name: Entry] = [:] { didSet { revision += 1 } }
  /// Another one after each change.
  private(set) var revision = 0
}
