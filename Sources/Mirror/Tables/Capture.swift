import SQLite

/// What notes on the server that its programs have changed a row: triggers that write the key into
/// a journal. The row itself is read when the journal is.
///
/// A session that sets the variable `own` to the table's number is not noted: that is the mirror
/// itself. Names are those of this mirror alone, for several may keep one table of the server equal
/// to theirs.
struct Capture {
  /// Where the mirror's own tables are.
  let database: String
  let links: [TableLink]
  /// Those that are not mirrored at present, and whose key is what it was.
  let stopped: [Stopped]
  /// A part of the names of triggers and variables.
  private let mark: String

  /// A table that is not mirrored at present: what is noted of it is taken in when it is again.
  struct Stopped: Equatable {
    let link: TableLink
    /// Whether all changes are noted; else only what takes a row from its key.
    let isWhole: Bool
  }

  init(database: String, links: [TableLink], stopped: [Stopped] = [], site: String) {
    (self.database, self.links, self.stopped) = (database, links, stopped)
    mark = String(RowKey.fingerprint([.string(site), .string(database)]).prefix(8))
  }

  /// The table that the mirror's session writes at the moment.
  var own: String { "@flotilla_\(mark)" }
  /// Its transaction, which stands beside the keys that its own writes have others' triggers note.
  var turn: String { "@flotilla_\(mark)_turn" }
  /// Under which number a row was that the mirror gives another one.
  var former: String { "@flotilla_\(mark)_former" }
  /// Stands in the place of its transaction where the mirror moves rows that programs have made.
  static let moved: Int64 = -1
  /// Whether an entry tells that a program's row came under a key where none was.
  static let isArrival = "(arrived AND (own IS NULL OR own = \(moved)))"

  /// All tables of which something is noted.
  var noted: [TableLink] { links + stopped.map(\.link) }

  func triggerName(_ rest: String) -> String { "flotilla_\(mark)_\(rest)" }

  func journal(_ number: Int) -> String {
    "\(serverName(database)).\(serverName("flotilla_journal_\(number)"))"
  }

  /// The columns of a journal that hold the key: `k1`, `k2`.
  static func keyNames(_ link: TableLink) -> [String] { link.key.indices.map { "k\($0 + 1)" } }

  /// A trigger as it is to be.
  struct Trigger {
    var table: Cascade.Place
    var name: String
    var timing: String
    var event: String
    var body: String
    /// What in the body notes changes of a table, by its number.
    var notes: [Int: [String]]
    /// The tables whose changes it notes.
    var numbers: [Int]

    /// What comes after CREATE.
    var statement: String {
      "TRIGGER \(serverName(table.schema)).\(serverName(name)) \(timing) \(event) "
        + "ON \(table.sqlName) FOR EACH ROW \(body)"
    }

    /// The tables whose changes nothing notes before it is made. One that is put in the place of
    /// another, because more or fewer tables are mirrored by now, has missed nothing.
    fileprivate func unnoted(by standing: [[String]]) -> [Int] {
      let former = standing.first { $0[1] == name && $0.dropLast() == look.dropLast()[...] }
      guard let former else { return numbers }
      return numbers.filter { !(notes[$0] ?? []).allSatisfy(former[6].contains) }
    }

    /// What makes it this one and no other: a table that is renamed takes its triggers along.
    fileprivate var look: [String] {
      [table.schema, name, table.schema, table.name, timing, event, body]
    }
  }

  /// Whether all triggers are as they are to be, and there is none beside them.
  func isIntact(
    on server: ServerConnection, cascades: [Cascade]
  ) throws(ServerError) -> Bool {
    let (lacking, surplus, _) = try differences(on: server, cascades)
    return lacking.isEmpty && surplus.isEmpty
  }

  /// Makes what is missing, and takes out what is not as it was; gives the numbers of the tables
  /// that lacked a trigger or a journal, whose changes may have gone by unnoticed, and those of
  /// which nothing noted the deletions: each is told of before anything is done.
  func install(
    on server: ServerConnection, cascades: [Cascade],
    missing: (Int) throws(ServerError) -> Void
  ) throws(ServerError) -> (lacking: Set<Int>, unseen: Set<Int>) {
    let (lacking, surplus, own) = try differences(on: server, cascades)
    let isSwift = server.limits.isMariaDB
    let bare = try withoutJournal(on: server)
    let numbers = Set(lacking.flatMap { isSwift ? $0.unnoted(by: own) : $0.numbers }).union(bare)
    let unseen = Set(lacking.filter { $0.event == "DELETE" }.flatMap { $0.unnoted(by: own) })
      .union(bare)
    for number in numbers.sorted() { try missing(number) }
    for link in noted { try server.execute(journalStatement(link)) }
    try widenJournals(on: server)
    try indexJournals(on: server)
    // Table by table, and one trigger in the place of the other: what a table that is locked has
    // goes on, and so do all the others.
    var failure: ServerError?
    func attempt(_ body: () throws(ServerError) -> Void) throws(ServerError) {
      do throws(ServerError) {
        try body()
      } catch {
        guard error.isLock else { throw error }
        failure = failure ?? error
      }
    }
    // Who has read the table waits behind it meanwhile.
    if !lacking.isEmpty { try server.execute("SET SESSION lock_wait_timeout = 5") }
    for trigger in lacking {
      let former = surplus.first { $0[0] == trigger.table.schema && $0[1] == trigger.name }
      try attempt { () throws(ServerError) in try make(trigger, for: former, on: server) }
    }
    // One whose foreign key is gone names columns that may be gone, too.
    let names = Set(lacking.map { [$0.table.schema, $0.name] })
    for one in surplus where !names.contains([one[0], one[1]]) {
      try attempt { () throws(ServerError) in try Self.drop(one[0], one[1], on: server) }
    }
    try server.execute("SET SESSION lock_wait_timeout = 1")
    if let failure { throw failure }
    return (numbers, unseen)
  }

  /// MariaDB puts one trigger in the place of another at once. One that a renamed table has taken
  /// along is no trigger of this table.
  private func make(
    _ trigger: Trigger, for former: [String]?, on server: ServerConnection
  ) throws(ServerError) {
    let isThere = former.map { $0[3] == trigger.table.name } ?? true
    let replaces = isThere && server.limits.isMariaDB
    if let former, !replaces { try Self.drop(former[0], former[1], on: server) }
    try server.execute("CREATE \(replaces ? "OR REPLACE " : "")\(trigger.statement)")
  }

  private func differences(
    on server: ServerConnection, _ cascades: [Cascade]
  ) throws(ServerError) -> (lacking: [Trigger], surplus: [[String]], own: [[String]]) {
    let wanted =
      links.flatMap { triggers($0) } + stopped.flatMap { triggers($0.link, isWhole: $0.isWhole) }
      + cascades.flatMap { $0.triggers(self) }
    let found = try Self.triggers(of: database, on: server)
    let looks = Set(wanted.map(\.look))
    let own = found.filter(\.isOurs).map(\.look)
    let standing = Set(own)
    return (
      wanted.filter { !standing.contains($0.look) },
      found.filter { !$0.isOurs || !looks.contains($0.look) }.map(\.look), own
    )
  }

  /// Triggers that write into journals of this database: what they are, and whether they have the
  /// rights of the user that asks.
  private static func triggers(
    of database: String, on server: ServerConnection
  ) throws(ServerError) -> [(look: [String], isOurs: Bool)] {
    let rows = try server.rows(
      of: 8,
      """
      SELECT trigger_schema, trigger_name, event_object_schema, event_object_table, action_timing,
        event_manipulation, action_statement, definer = CURRENT_USER()
      FROM information_schema.triggers WHERE trigger_name LIKE 'flotilla\\_%'
      """)
    let target = "\(serverName(database)).`flotilla_journal_"
    return rows.compactMap { row in
      let look = row.prefix(7).map { $0.string ?? "" }
      return look[6].contains(target) ? (look, row[7].integer == 1) : nil
    }
  }

  private static func drop(
    _ schema: String, _ name: String, on server: ServerConnection
  ) throws(ServerError) {
    try server.execute("DROP TRIGGER IF EXISTS \(serverName(schema)).\(serverName(name))")
  }

  /// The numbers of tables whose journal is not there, with what it held.
  private func withoutJournal(on server: ServerConnection) throws(ServerError) -> [Int] {
    try links(
      lacking: "SELECT table_name FROM information_schema.tables WHERE table_schema = ?",
      on: server
    ).map(\.number)
  }

  /// Those whose journals are not among the tables that a query finds in the mirror's database.
  private func links(
    lacking query: String, on server: ServerConnection
  ) throws(ServerError) -> [TableLink] {
    let rows = try server.rows(of: 1, query, [.string(database)])
    let names = Set(rows.map { $0[0].string ?? "" })
    return noted.filter { !names.contains("flotilla_journal_\($0.number)") }
  }

  /// Journals of an earlier version lack columns.
  private func widenJournals(on server: ServerConnection) throws(ServerError) {
    let narrow = try links(
      lacking: """
        SELECT table_name FROM information_schema.columns
        WHERE table_schema = ? AND column_name = 'former'
        """, on: server)
    for link in narrow {
      try server.execute(
        "ALTER TABLE \(journal(link.number)) ADD COLUMN \(Self.arrival[0]), "
          + "ADD COLUMN \(Self.arrival[1])")
    }
  }

  /// Those of an earlier version lack the index by which a row is looked for.
  private func indexJournals(on server: ServerConnection) throws(ServerError) {
    let plain = try links(
      lacking: """
        SELECT table_name FROM information_schema.statistics
        WHERE table_schema = ? AND index_name = 'row_key'
        """, on: server)
    for link in plain {
      do throws(ServerError) {
        try server.execute("ALTER TABLE \(journal(link.number)) ADD \(Self.index(link))")
      } catch {
        // Without the right to it a look takes longer, and finds the same.
        guard error.isDenied else { throw error }
      }
    }
  }

  /// By the openings of texts and bytes: a whole key may be longer than an index takes.
  private static func index(_ link: TableLink) -> String {
    let parts = zip(keyNames(link), link.serverKey).map { name, key in
      let base = link.server.column(key)?.base ?? ""
      let isLong = base.hasSuffix("text") || base.hasSuffix("blob")
      return isLong || ["char", "varchar", "varbinary"].contains(base) ? "\(name)(32)" : name
    }
    return "INDEX row_key (\(parts.joined(separator: ", ")))"
  }

  /// What a journal tells beside the key: whether a row came under it where none was, and which
  /// number it had if the mirror has moved it.
  private static let arrival = [
    "arrived BOOLEAN NOT NULL DEFAULT FALSE", "former BIGINT NULL",
  ]

  private func journalStatement(_ link: TableLink) -> String {
    let columns = zip(Self.keyNames(link), link.serverKey).map { name, key in
      let column = link.server.column(key)
      let collation = column?.collation.map { text in
        let letters = text.split(separator: "_").first.map(String.init) ?? "utf8mb4"
        return " CHARACTER SET \(letters) COLLATE \(text)"
      }
      return "\(name) \(Self.widest(column))\(collation ?? "") NOT NULL"
    }
    return """
      CREATE TABLE IF NOT EXISTS \(journal(link.number)) (
        id BIGINT AUTO_INCREMENT PRIMARY KEY,
        at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
        own BIGINT NULL,
        \(Self.arrival.joined(separator: ",\n  ")),
        \(columns.joined(separator: ",\n  ")),
        \(Self.index(link))
      ) ENGINE=InnoDB
      """
  }

  /// A type that takes what the key's column takes, and what it may take after a migration: a
  /// journal that is too narrow would stop the server's programs.
  private static func widest(_ column: ServerTable.Column?) -> String {
    switch column?.base {
    case "tinyint", "smallint", "mediumint", "int", "integer", "bigint":
      column?.isUnsigned == true ? "BIGINT UNSIGNED" : "BIGINT"
    case "char", "varchar": "VARCHAR(768)"
    case "varbinary": "VARBINARY(3072)"
    default: column?.type ?? "BIGINT"
    }
  }

  private func triggers(_ link: TableLink, isWhole: Bool = true) -> [Trigger] {
    let number = link.number
    let names = Self.keyNames(link).joined(separator: ", ")
    func note(_ row: String) -> String {
      let values = link.serverKey.map { "\(row).\(serverName($0))" }.joined(separator: ", ")
      let target = "\(journal(number))(\(names), own"
      return row == "OLD"
        ? "INSERT INTO \(target)) VALUES (\(values), \(turn));"
        : "INSERT INTO \(target), arrived, former) VALUES (\(values), \(turn), TRUE, \(former));"
    }
    let moved = link.serverKey.map { "OLD.\(serverName($0)) <=> NEW.\(serverName($0))" }
      .joined(separator: " AND ")
    let (old, new, isMoved) = (note("OLD"), note("NEW"), "IF NOT (\(moved)) THEN")
    let update =
      isWhole ? "\(old) \(isMoved) \(new) END IF;" : "\(isMoved) \(old) \(new) END IF;"
    let inserts = isWhole ? [("INSERT", "i", new)] : []
    return (inserts + [("UPDATE", "u", update), ("DELETE", "d", old)]).map { event, letter, body in
      Trigger(
        table: Cascade.Place(schema: link.server.schema, name: link.server.name),
        name: triggerName("\(number)_\(letter)"), timing: "AFTER", event: event,
        body: "BEGIN IF \(own) IS NULL OR \(own) <> \(number) THEN \(body) END IF; END",
        notes: [number: [body]], numbers: [number])
    }
  }

  /// Where the table is by now that bears the triggers of a number: they go along when it is
  /// renamed. Nil if nothing bears them.
  func bearer(of number: Int, on server: ServerConnection) throws(ServerError) -> Cascade.Place? {
    let row = try server.rows(
      of: 2,
      """
      SELECT event_object_schema, event_object_table FROM information_schema.triggers
      WHERE trigger_name = ? AND INSTR(action_statement, ?) > 0 LIMIT 1
      """, [.string(triggerName("\(number)_u")), .string(journal(number))]
    ).first
    guard let schema = row?[0].string, let name = row?[1].string else { return nil }
    return Cascade.Place(schema: schema, name: name)
  }

  /// Takes the triggers of some tables out. One that notes cascades of others, too, stays: what
  /// runs puts another in its place at once. Gives the tables that are still noted.
  func removeTriggers(
    of numbers: Set<Int>, beside others: [Int], on server: ServerConnection
  ) throws(ServerError) -> Set<Int> {
    let (journals, kept) = (numbers.map { ($0, journal($0)) }, others.map(journal))
    var noted: Set<Int> = []
    for (look, _) in try Self.triggers(of: database, on: server) {
      let named = journals.filter { look[6].contains($0.1) }.map(\.0)
      if kept.contains(where: look[6].contains) {
        noted.formUnion(named)
      } else if !named.isEmpty {
        try Self.drop(look[0], look[1], on: server)
      }
    }
    return noted
  }

  /// Takes out what `install` has made.
  static func remove(
    numbers: [Int], database: String, on server: ServerConnection
  ) throws(ServerError) {
    for (look, _) in try triggers(of: database, on: server) {
      try drop(look[0], look[1], on: server)
    }
    let tables = numbers.map { "flotilla_journal_\($0)" } + ["flotilla_held", "flotilla_table"]
    for table in tables + ["flotilla_state"] {
      try server.execute("DROP TABLE IF EXISTS \(serverName(database)).\(serverName(table))")
    }
  }
}
