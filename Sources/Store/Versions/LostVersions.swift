import Replication
import SQLite

/// Versions whose rows this replica had and has no more, though nobody deleted them.
///
/// An application may drop a table, and only afterwards does anybody here notice. Such a version
/// counts as not held: it is in no digest, it is not handed on, and what is handed on does not
/// cover its dot. It is remembered, for the table may come back with the same rows. A version of a
/// table that the site stopped tracking is remembered too: a row that has gone by the time the
/// table is tracked again was deleted.
final class LostVersions: FilePart {
  /// Why the row of a version is not here.
  enum Why: Int64 {
    /// The table does not exist here any more.
    case dropped = 0
    /// The site stopped tracking the table.
    case ended = 1
    /// The table has another name: what is missing when it has its own again was deleted.
    case renamed = 2
    /// That too, and others have replaced or deleted the row since: this version counts no more.
    case replaced = 3
    /// The table does not exist, and this was written here and sent to nobody. To wait for it would
    /// hold up for ever what is written later; with its table it is issued again.
    case unsent = 4
    /// The table does not exist, and this has come again and waits for it: what stands in its place
    /// once the table is here was written over it.
    case again = 5
  }

  private let connection: Connection
  private let origins: Origins
  private let versions: VersionTable
  /// How many versions were lost with their tables.
  private(set) var count = 0
  /// How many of these were replaced since.
  private var replacedCount = 0
  private var unsentCount = 0
  private var againCount = 0
  /// Tables of which something stood when the site stopped tracking them, by their folded names.
  private var endedTables: Set<String> = []
  /// Whether rows that went with a table have come back, by its local number: that none has holds
  /// in the open transaction alone.
  private var returned: [Int64: Bool] = [:]
  /// What migrations have done to tables, by their local numbers, since rows went with them.
  private var remakes: [Int64: Remake] = [:]

  init(
    _ connection: Connection, origins: Origins, versions: VersionTable
  ) throws(SQLiteError) {
    self.connection = connection
    self.origins = origins
    self.versions = versions
    try reload()
  }

  func reload() throws(SQLiteError) {
    guard try Layout.hasTable("_flotilla_lost", on: connection) else { return count = 0 }
    endedTables = Set(
      try connection.rows("SELECT DISTINCT name FROM _flotilla_lost WHERE why = 1")
        .compactMap { $0[0].string.map(folded) })
    let counts = try connection.row(
      "SELECT count(*) FILTER (WHERE why IN (0, 2)), count(*) FILTER (WHERE why = 3), "
        + "count(*) FILTER (WHERE why = 4), count(*) FILTER (WHERE why = 5) FROM _flotilla_lost")
    count = Int(counts?[0].integer ?? 0)
    replacedCount = Int(counts?[1].integer ?? 0)
    unsentCount = Int(counts?[2].integer ?? 0)
    againCount = Int(counts?[3].integer ?? 0)
    remakes = [:]
    guard let bytes = try Meta(connection: connection).blob(.remakes) else { return }
    var reader = ByteReader(bytes)
    while !reader.isAtEnd, let id = try? reader.word("table"),
      let remake = try? Remake(from: &reader)
    {
      remakes[Int64(bitPattern: id)] = remake
    }
  }

  /// A table is here again whose rows went with it, and a migration has made it another one: what
  /// programs put in from now on may be what they had there.
  func note(_ remake: Remake?, of table: ReplicaTable) throws(SQLiteError) {
    if count + unsentCount == 0 {
      guard !remakes.isEmpty else { return }
      remakes = [:]
    } else {
      guard let remake, !remake.isEmpty, try hasAny(of: table) else { return }
      remakes[table.id, default: Remake()].join(remake)
    }
    var writer = ByteWriter()
    for (id, remake) in remakes.sorted(by: { $0.key < $1.key }) {
      writer.word(UInt64(bitPattern: id))
      remake.write(to: &writer)
    }
    try Meta(connection: connection).set(.remakes, .blob(writer.bytes))
  }

  /// What migrations have done to a table since its rows went with it.
  func remake(of table: ReplicaTable) -> Remake? { remakes[table.id] }

  /// True if live versions of the table have neither a table nor a place on the shelf.
  func isLosing(_ table: ReplicaTable) throws(SQLiteError) -> Bool {
    try connection.row(
      "SELECT 1 FROM _flotilla_version AS v WHERE \(Self.homeless) LIMIT 1", [.integer(table.id)])
      != nil
  }

  /// The same of rows other than these.
  func isLosing(_ table: ReplicaTable, but keys: Set<Key>) throws(SQLiteError) -> Bool {
    try connection.with(
      "SELECT v.key FROM _flotilla_version AS v WHERE \(Self.homeless)", [.integer(table.id)]
    ) { (statement) throws(SQLiteError) in
      while try statement.step() {
        if !keys.contains(Key(bytes: statement.bytes(0))) { return true }
      }
      return false
    }
  }

  /// Moves versions here: those that are live and not whole on the shelf. Gives them one by one.
  func take(
    _ table: ReplicaTable, _ why: Why, _ moved: (Key, Version) -> Void
  ) throws(SQLiteError) {
    let columns = VersionTable.columns(of: "v") + ", v.key"
    try connection.run(
      """
      INSERT OR REPLACE INTO _flotilla_lost(name, why, \(VersionTable.columns), key)
      SELECT \(literal(table.name)), \(why.rawValue), \(columns)
      FROM _flotilla_version AS v WHERE \(Self.homeless)
      """, [.integer(table.id)])
    try connection.with(
      "SELECT \(columns) FROM _flotilla_version AS v WHERE \(Self.homeless)", [.integer(table.id)]
    ) { (statement) throws(SQLiteError) in
      while try statement.step() {
        guard let version = versions.version(from: statement, at: 0) else { continue }
        moved(Key(bytes: statement.bytes(VersionTable.columnCount)), version)
      }
    }
    try connection.run(
      """
      DELETE FROM _flotilla_version WHERE tbl = ?1 AND key IN (
        SELECT v.key FROM _flotilla_version AS v WHERE \(Self.homeless))
      """, [.integer(table.id)])
    versions.forgetAhead()
    returned[table.id] = nil
    try reload()
  }

  /// The version that was lost with its row, if that is so.
  func version(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Version? {
    guard count > 0 else { return nil }
    return try one("why IN (0, 2)", table, key)
  }

  /// What was written here and sent to nobody before the table went.
  func unsent(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Version? {
    guard unsentCount > 0 else { return nil }
    return try one("why = 4", table, key)
  }

  /// Whether a version was here before its table went, and has come again since.
  func hasComeAgain(
    _ version: Version, _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) -> Bool {
    guard againCount > 0 else { return false }
    return try one("why = 5", table, key)?.dot == version.dot
  }

  private func one(
    _ condition: String, _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) -> Version? {
    try connection.with(
      """
      SELECT \(VersionTable.columns) FROM _flotilla_lost
      WHERE name = ? AND key = ? AND \(condition)
      """, [.string(table.name), .blob(key.bytes)]
    ) { (statement) throws(SQLiteError) in
      try statement.step() ? versions.version(from: statement, at: 0) : nil
    }
  }

  /// The row is here again, or a newer version of it. What a table that has another name holds of
  /// it is remembered: there the row still stands.
  func remove(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) {
    guard count + unsentCount > 0 else { return }
    let row: [SQLite.Value] = [.string(table.name), .blob(key.bytes)]
    let replaced = try connection.run(
      "UPDATE _flotilla_lost SET why = 3 WHERE name = ? AND key = ? AND why = 2", row)
    replacedCount += replaced
    count -= replaced
    // While the table is not here, it waits for it.
    let change =
      !table.isHere ? "UPDATE _flotilla_lost SET why = 5" : "DELETE FROM _flotilla_lost"
    let dropped = try connection.run("\(change) WHERE name = ? AND key = ? AND why = 0", row)
    let unsent = try connection.run("\(change) WHERE name = ? AND key = ? AND why = 4", row)
    count -= dropped
    unsentCount -= unsent
    if !table.isHere { againCount += dropped + unsent }
  }

  /// A row that went with its table is in it again: somebody has put rows of before back.
  func noteReturn(of table: ReplicaTable, _ hasReturned: Bool = true) {
    returned[table.id] = hasReturned
  }

  /// Nil if nobody has looked.
  func hasReturned(_ table: ReplicaTable) -> Bool? { returned[table.id] }

  func begin() { returned = returned.filter(\.value) }

  /// Some of the versions that went with their table.
  func dropped(
    _ table: ReplicaTable, limit: Int
  ) throws(SQLiteError) -> [(key: Key, version: Version)] {
    guard count > 0 else { return [] }
    return try found(
      "name = ? AND why = 0 LIMIT ?", [.string(table.name), .integer(Int64(limit))])
  }

  /// What stood in a table when it got another name, and was replaced since.
  func replaced(_ table: ReplicaTable) throws(SQLiteError) -> [(key: Key, version: Version)] {
    try found("name = ? AND why = 3", [.string(table.name)])
  }

  /// What stood in a table when it went, and came again or was replaced since.
  func comeAgain(_ table: ReplicaTable) throws(SQLiteError) -> [(key: Key, version: Version)] {
    againCount == 0 ? [] : try found("name = ? AND why = 5", [.string(table.name)])
  }

  private func found(
    _ condition: String, _ arguments: [SQLite.Value]
  ) throws(SQLiteError) -> [(key: Key, version: Version)] {
    try connection.with(
      "SELECT \(VersionTable.columns), key FROM _flotilla_lost WHERE \(condition)", arguments
    ) { (statement) throws(SQLiteError) in
      var found: [(key: Key, version: Version)] = []
      while try statement.step() {
        guard let version = versions.version(from: statement, at: 0) else { continue }
        found.append((Key(bytes: statement.bytes(VersionTable.columnCount)), version))
      }
      return found
    }
  }

  /// True if the table had another name when it was last looked for.
  func isAway(_ table: ReplicaTable) throws(SQLiteError) -> Bool {
    guard count + replacedCount > 0 else { return false }
    return try connection.row(
      "SELECT 1 FROM _flotilla_lost WHERE name = ? AND why IN (2, 3) LIMIT 1", [.string(table.name)]
    )
      != nil
  }

  /// The table has its name again: its versions count as before.
  func giveBack(
    _ table: ReplicaTable, _ moved: (Key, Version) -> Void
  ) throws(SQLiteError) {
    let name = SQLite.Value.string(table.name)
    try connection.with(
      """
      SELECT \(VersionTable.columns), key FROM _flotilla_lost
      WHERE name = ? AND why = 2
      """, [name]
    ) { (statement) throws(SQLiteError) in
      while try statement.step() {
        guard let version = versions.version(from: statement, at: 0) else { continue }
        moved(Key(bytes: statement.bytes(VersionTable.columnCount)), version)
      }
    }
    try connection.run(
      """
      INSERT INTO _flotilla_version(tbl, key, \(VersionTable.columns))
      SELECT ?, key, \(VersionTable.columns) FROM _flotilla_lost
      WHERE name = ? AND why = 2
      """, [.integer(table.id), name])
    versions.forgetAhead()
    try forget(table.name, .renamed)
  }

  /// The table is here again with another key: its versions are those of the rows of before.
  func giveAllBack(_ table: ReplicaTable) throws(SQLiteError) {
    let name = SQLite.Value.string(table.name)
    try connection.run(
      """
      INSERT OR IGNORE INTO _flotilla_version(tbl, key, \(VersionTable.columns))
      SELECT ?, key, \(VersionTable.columns) FROM _flotilla_lost
      WHERE name = ? AND why IN (0, 2, 4)
      """, [.integer(table.id), name])
    versions.forgetAhead()
    try connection.run(
      "DELETE FROM _flotilla_lost WHERE name = ? AND why IN (0, 2, 3, 4, 5)", [name])
    try reload()
  }

  /// The table that had another name is gone altogether.
  func drop(_ table: ReplicaTable) throws(SQLiteError) {
    if replacedCount > 0 { try forget(table.name, .replaced) }
    guard count > 0 else { return }
    try connection.run(
      "UPDATE _flotilla_lost SET why = 0 WHERE name = ? AND why = 2", [.string(table.name)])
  }

  /// What was written here and sent to nobody is gone with its table: nobody waits for it. Gives
  /// these edits.
  func giveUpUnsent(
    _ table: ReplicaTable, of own: Origin, above delivered: UInt64
  ) throws(SQLiteError) -> [Version] {
    guard count > 0, let number = origins.knownNumber(of: own) else { return [] }
    let unsent = "name = ? AND why = 0 AND origin = ? AND seq > ?"
    let values: [SQLite.Value] = [
      .string(table.name), .integer(number), .integer(Int64(delivered)),
    ]
    let edits = try found(unsent, values).map(\.version)
    try connection.run("UPDATE _flotilla_lost SET why = 4 WHERE \(unsent)", values)
    if !edits.isEmpty { try reload() }
    return edits
  }

  /// Whether rows of a table have gone that may come again.
  func hasAny(of table: ReplicaTable) throws(SQLiteError) -> Bool {
    guard count + unsentCount > 0 else { return false }
    return try connection.row(
      "SELECT 1 FROM _flotilla_lost WHERE name = ? AND why IN (0, 2, 4) LIMIT 1",
      [.string(table.name)]) != nil
  }

  /// How many versions were lost with one table.
  func count(of table: ReplicaTable) throws(SQLiteError) -> Int {
    guard count > 0 else { return 0 }
    return Int(
      try connection.scalar(
        "SELECT count(*) FROM _flotilla_lost WHERE name = ? AND why IN (0, 2)",
        [.string(table.name)]
      ).integer ?? 0)
  }

  /// Whether it is known which rows a table had when the site stopped tracking it: it is tracked
  /// again, or may be.
  func knowsEnd(of table: ReplicaTable) -> Bool { endedTables.contains(folded(table.name)) }

  /// What stood under a key when the site stopped tracking the table.
  func ended(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Version? {
    knowsEnd(of: table) ? try one("why = 1", table, key) : nil
  }

  /// Versions from before the end of tracking, in the order of their keys.
  func ended(
    _ table: ReplicaTable, after key: Key?, limit: Int
  ) throws(SQLiteError) -> [(key: Key, version: Version)] {
    try found(
      "name = ? AND why = 1 AND key > ? ORDER BY key LIMIT ?",
      [.string(table.name), .blob(key?.bytes ?? []), .integer(Int64(limit))])
  }

  /// A table that the site stopped tracking goes on as another one.
  func rename(_ ended: String, to name: String) throws(SQLiteError) {
    try connection.run(
      "UPDATE OR REPLACE _flotilla_lost SET name = ? WHERE name = ? COLLATE NOCASE AND why = 1",
      [.string(name), .string(ended)])
    try reload()
  }

  /// Forgets what is remembered of a table for one reason.
  func forget(_ name: String, _ why: Why) throws(SQLiteError) {
    if why == .again, againCount == 0 { return }
    try connection.run(
      "DELETE FROM _flotilla_lost WHERE name = ? AND why = ?",
      [.string(name), .integer(why.rawValue)])
    try reload()
  }

  /// What a peer may count as held of `frontier` after it was sent everything that is here.
  func covers(_ frontier: Frontier, for peer: Frontier) throws(SQLiteError) -> Frontier {
    guard count > 0 else { return frontier }
    var entries = frontier.entries
    let numbers = try connection.rows(
      "SELECT DISTINCT origin FROM _flotilla_lost WHERE why IN (0, 2)")
    for number in numbers.compactMap({ $0[0].integer }) {
      guard let origin = origins.origin(of: number) else { continue }
      let first = try connection.scalar(
        "SELECT min(seq) FROM _flotilla_lost WHERE why IN (0, 2) AND origin = ? AND seq > ?",
        [.integer(number), .integer(Int64(peer[origin]))]
      ).integer
      if let first { entries[origin] = min(frontier[origin], UInt64(first) - 1) }
    }
    return Frontier(entries)
  }

  /// Live versions of one table that are not whole on the shelf.
  private static let homeless = """
    v.tbl = ?1 AND v.hash IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM _flotilla_shelf AS s
      WHERE s.tbl = v.tbl AND s.key = v.key AND s.why <> 'columns')
    """
}
