import Replication
import SQLite

/// The tables of the site by local number and by name.
package final class Tables: FilePart {
  /// The replicated table that lists the site's tracked tables.
  static let settings = "_flotilla_table"
  /// A row of that name in the table of settings is no table: while it is there, the site takes in
  /// new tables by itself.
  static let takesNew = "_flotilla_new"
  /// The rows of the settings that name a table.
  static let listing = "_flotilla_table WHERE name <> '\(takesNew)'"

  /// Whether it is one of the replicated tables that hold for the whole site.
  static func isSettings(_ name: String) -> Bool {
    siteWide.contains { isSameName(name, $0) }
  }
  /// The replicated tables that hold for the whole site.
  static let siteWide = [settings, Renames.settings, CollisionChoices.settings]
  /// Tables that the site tracks, at most; and names of others that peers may bring along.
  var limit = 2_000
  let connection: Connection
  var byID: [Int64: ReplicaTable] = [:]
  private var idByName: [String: Int64] = [:]
  private var remembered: [String: [KeyCollation]] = [:]
  private let schemas: SchemaCache
  let renames: Renames
  /// What the owner of this file has said about tables.
  let choices: TableChoices
  /// Tables of which rows have not been looked at since their key was changed.
  private(set) var rekeying: Set<Int64> = []
  /// Of those that are compared for the first time the ones that were tracked before.
  private(set) var again: Set<Int64> = []
  /// The keys that were changed, of the tables that are here and of which all rows were looked at.
  var changedKeys: [TableKey] = []
  /// Another number whenever peers are to hear of these anew.
  var keyMark: UInt64 = 0
  /// Whether rows of any table wait because they are of another shape of key.
  private(set) var hasHeld = false
  /// The shapes in which the keys of each table have come.
  let shapes: KeyShapes
  /// Under which names this file has them.
  private(set) var names = TableNames()
  /// Those whose columns were seen here once, in small letters.
  private(set) var seen: Set<String> = []
  /// Empty tables that a migration is about to fill: see `isAwaited`.
  private var awaited: [String] = []
  /// Tables of the site that this file may have as others, which no row has shown yet.
  var twins: [Int64] = []
  /// The schema that was looked at last; -1 if it is to be looked at anew.
  var schemaVersion: Int64 = -1
  /// Tables with damaged indexes: until that uptime they are not compared, and all else goes on.
  var damaged: [Int64: Int64] = [:]
  /// How often the tables were read.
  private(set) var age = 0

  init(_ connection: Connection, _ schemas: SchemaCache) throws(StoreError) {
    (self.connection, self.schemas) = (connection, schemas)
    self.renames = Renames(connection: connection)
    self.choices = TableChoices(connection: connection)
    self.shapes = KeyShapes(connection)
    try reload()
  }

  /// Triggers that were made on the way are gone again.
  func rolledBack() { schemaVersion = -1 }

  /// Reads the tracked tables and their schemas again.
  func reload() throws(StoreError) {
    let (rows, collations, objects, columns) = try reporting {
      () throws(SQLiteError) in
      (
        // The site may list any number of others.
        try connection.rows(
          """
          SELECT id, name, baseline, comparing,
            EXISTS (SELECT 1 FROM \(Self.listing) AND name = l.name) FROM _flotilla_local AS l
          """),
        try rememberedCollations(), try StoredObjects(connection), try renames.read()
      )
    }
    let withheld = try reporting { () throws(SQLiteError) in
      try shapes.reload()
      return try choices.withheld()
    }
    let owner = columns[TableNames.owner] ?? Renames.Columns()
    names = TableNames(seen: owner.tables, settings: owner.settings, among: objects)
    seen = []
    for (name, kept) in columns where !kept.known.isEmpty { seen.insert(name) }
    remembered = collations
    age += 1
    (byID, idByName, hasHeld, rekeying, again, awaited) = ([:], [:], false, [], [], [])
    defer { noteChangedKeys() }
    for row in rows {
      guard let id = row[0].integer, let name = row[1].string else { continue }
      if Store.Comparison(table: id, row[3].blob ?? [])?.isOfKey == true { rekeying.insert(id) }
      if name.hasPrefix(KeyShapes.prefix) {
        if let known = shapes.known(id) { add(held(known)) }
        continue
      }
      if row[2] == .integer(2) { again.insert(id) }
      let isTracked = Self.isSettings(name) || row[4] == .integer(1)
      let nameHere = names.here(id, name)
      // Without its owner's word a table is as if it were not here.
      let isHere = isTracked && !withheld.contains(folded(name)) && names.isPresent(id, name)
      let isFilled = try reporting { () throws(SQLiteError) in
        if isHere { return try !isAwaited(nameHere, id) }
        return true
      }
      if !isFilled { awaited.append(nameHere) }
      var known =
        isHere && isFilled
        ? try Trackability.schema(
          of: nameHere, id: id, isKnown: seen.contains(folded(name)),
          among: objects, on: connection, schemas)
        : nil
      known?.take(name, columns[folded(name)])
      add(
        ReplicaTable(
          id: id, name: name, nameHere: nameHere, known: known, isTracked: isTracked,
          isBaseline: row[2].integer != 0, collations: remembered[folded(name)] ?? [],
          key: shapes.known(id), isLeading: isLeading(id, name)))
    }
  }

  /// Whether a table is as if it were not here: it is empty, and its triggers hang on another one.
  ///
  /// A migration has said `ALTER TABLE person RENAME TO person_old; CREATE TABLE person(…)`.
  /// It will copy the rows next. Nothing was deleted, and no row of others may be in its way.
  private func isAwaited(_ name: String, _ id: Int64) throws(SQLiteError) -> Bool {
    guard let bearer = names.bearer(of: id), !isSameName(bearer, name) else { return false }
    return try !hasRows(name)
  }

  /// Whether this file has such a table, and rows in it.
  func hasRows(_ name: String) throws(SQLiteError) -> Bool {
    let found = try connection.row(
      """
      SELECT name FROM main.sqlite_schema
      WHERE type = 'table' AND name = ? COLLATE NOCASE AND rootpage > 0
      """, [.string(name)])
    guard let declared = found?[0].string else { return false }
    return try connection.prepareScalar(
      "SELECT EXISTS (SELECT 1 FROM main.\(quoted(declared)))") != 0
  }

  /// A table that was empty may be filled by now, though the schema is the same.
  func lookForFilled() throws(SQLiteError) {
    for name in awaited where try hasRows(name) { schemaVersion = -1 }
  }

  /// Rows of another shape of key than the table of their name has here.
  func held(_ known: KeyShapes.Known) -> ReplicaTable {
    let name = shapes.name(of: known.table) ?? ""
    return ReplicaTable(
      id: known.table, name: name, known: nil, isTracked: false, isBaseline: false, key: known,
      isHeld: true, isLeading: isLeading(known.table, name))
  }

  func isLeading(_ id: Int64, _ name: String) -> Bool {
    shapes.leading(name).map { $0 == id } ?? true
  }

  /// What the tables that the site tracks are called in this file, as it is now: the schema may
  /// have changed since they were read.
  func namesHere() throws(SQLiteError) -> [String] {
    let (owner, objects) = (try renames.read(TableNames.owner), try StoredObjects(connection))
    let names = TableNames(seen: owner.tables, settings: owner.settings, among: objects)
    return try trackedNames().flatMap { first -> [String] in
      guard let id = table(first)?.id, !names.isPresent(id, first) else {
        return [table(first).map { names.here($0.id, first) } ?? first]
      }
      return [first] + names.others(first)
    }
  }

  /// The tables of this file that are none of the site's, each as it would be that one; not those
  /// of which somebody has said what they are.
  func strangers(for table: ReplicaTable) throws(StoreError) -> [ReplicaTable] {
    let (objects, said, columns) = try reporting { () throws(SQLiteError) in
      (try StoredObjects(connection), try choices.all(), try renames.read(table.name))
    }
    let present = tracked.filter { names.isPresent($0.id, $0.name) }
    let known = Set(present.map { folded($0.nameHere) })
    let borne = Set(objects.bearers.values.map(folded))
    var strangers: [ReplicaTable] = []
    for (key, name) in objects.tables.sorted(by: { $0.key < $1.key }) {
      guard !TableSchema.isReserved(name), !known.contains(key), !borne.contains(key),
        said[key] == nil, ScratchName.original(of: name, among: known) == nil,
        var found = try Trackability.schema(
          of: name, id: table.id, among: objects, on: connection, schemas)
      else { continue }
      found.take(table.name, columns)
      strangers.append(
        ReplicaTable(
          id: table.id, name: table.name, known: found, isTracked: true, isBaseline: false,
          key: shapes.known(table.id)))
    }
    return strangers
  }

  /// Whether the site says that it tracks a table.
  func isListed(_ name: String) throws(SQLiteError) -> Bool {
    try connection.row("SELECT 1 FROM \(Self.listing) AND name = ?", [.string(name)]) != nil
  }

  /// The names that the site tracks.
  func trackedNames() throws(SQLiteError) -> [String] {
    try connection.rows("SELECT name FROM \(Self.listing) ORDER BY name")
      .compactMap { $0[0].string }
  }

  var tracked: [ReplicaTable] {
    byID.values.filter { $0.isTracked && !$0.isSettings }.sorted { $0.id < $1.id }
  }

  /// The tables that hold for the whole site.
  var settings: [ReplicaTable] { byID.values.filter(\.isSettings).sorted { $0.id < $1.id } }

  /// The table that the site knows by a name.
  func table(_ name: String) -> ReplicaTable? {
    idByName[folded(name)].flatMap { byID[$0] }
  }

  /// The table that people mean by a name: the one that has it in this file, else the site's, else
  /// the one that another machine calls so.
  func table(called name: String) -> ReplicaTable? {
    if let table = table(name), table.isTracked, table.isHere, isSameName(table.nameHere, name) {
      return table
    }
    let known = tracked.filter { isSameName($0.nameHere, name) }
    return known.first(where: \.isHere) ?? known.first ?? table(name)
      ?? names.first(of: name).flatMap { table($0) }
  }

  /// Whether there is room for a name that peers bring along.
  ///
  /// Those that the site does not track leave no room for each other alone: a member that invents
  /// thousands of them is in nobody's way who tracks a table.
  func hasRoom(for name: String) -> Bool {
    table(name) != nil || byID.values.count { !$0.isTracked } < limit
  }

  /// The table of a name; a name that is new here gets a number and waits for its table.
  func tableOrNew(_ name: String) throws(StoreError) -> ReplicaTable {
    if let table = table(name) { return table }
    guard !folded(name).hasPrefix(KeyShapes.prefix) else {
      throw StoreError(.wire, "\(name) is no name of a table")
    }
    let id = try reporting { () throws(SQLiteError) in
      try connection.run("INSERT INTO _flotilla_local(name) VALUES (?)", [.string(name)])
      return connection.lastInsertRowID
    }
    let table = ReplicaTable(
      id: id, name: name, known: nil, isTracked: false, isBaseline: false,
      collations: remembered[folded(name)] ?? [], key: shapes.known(id))
    add(table)
    return table
  }

  /// Notes that rows are to be looked at since the key of their table was changed, or that all
  /// were.
  func note(_ comparison: Store.Comparison) {
    if comparison.isOfKey {
      rekeying.insert(comparison.table)
    } else if rekeying.remove(comparison.table) == nil {
      return
    }
    noteChangedKeys()
  }

  /// Whether another shape of any table's key leads than the one that it has here.
  var leadsElsewhere: Bool { hasHeld && byID.values.contains { $0.isHeld && $0.isLeading } }

  /// Whether what is in a table may be older than what the site holds, and ranks below that once it
  /// is compared. It counts from the next reading of the tables on.
  func setBaseline(
    _ isBaseline: Bool, again: Bool = false, of id: Int64
  ) throws(SQLiteError) {
    try connection.run(
      "UPDATE _flotilla_local SET baseline = ? WHERE id = ?",
      [.integer(isBaseline ? again ? 2 : 1 : 0), .integer(id)])
  }

  /// A table has been compared with its versions: what comes to it from now on is an edit.
  func endBaseline(of id: Int64) { byID[id]?.isBaseline = false }

  /// Whether it is remembered how the key of the table compares text.
  func isRemembered(_ name: String, _ collations: [KeyCollation]) -> Bool {
    remembered[folded(name)] == collations
  }

  /// Remembers how the key of a table compares text: its versions outlast it, and while it is not
  /// here, its keys must be those of the other nodes.
  func remember(_ name: String, _ collations: [KeyCollation]) throws(SQLiteError) {
    guard !isRemembered(name, collations) else { return }
    try connection.run(
      """
      INSERT INTO _flotilla_key(name, collations) VALUES (?, ?)
      ON CONFLICT DO UPDATE SET collations = excluded.collations
      """, [.string(name), .blob(collations.map(\.rawValue))])
    remembered[folded(name)] = collations
  }

  /// The hashes of the columns that a table had here; empty if that is not known.
  private func rememberedColumns(_ name: String) throws(SQLiteError) -> [UInt64] {
    let bytes =
      try connection.scalar("SELECT columns FROM _flotilla_key WHERE name = ?", [.string(name)])
      .blob ?? []
    return stride(from: 0, to: bytes.count - bytes.count % 8, by: 8).map { start in
      bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  /// Whether the columns of a table are those that are remembered.
  func hasColumnsAsRemembered(_ table: ReplicaTable) throws(SQLiteError) -> Bool {
    try rememberedColumns(table.name) == (table.statements?.columnHashes ?? []).sorted()
  }

  /// Remembers the columns of a table; true if one that it had is gone.
  func rememberColumns(_ table: ReplicaTable) throws(SQLiteError) -> Bool {
    let columns = (table.statements?.columnHashes ?? []).sorted()
    let before = try rememberedColumns(table.name)
    guard before != columns else { return false }
    let bytes = columns.flatMap { column in
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: column >> UInt64($0)) }
    }
    try connection.run(
      "UPDATE _flotilla_key SET columns = ? WHERE name = ?", [.blob(bytes), .string(table.name)])
    let gone = Set(before).subtracting(columns)
    for column in gone {
      try connection.run(
        "INSERT OR IGNORE INTO _flotilla_dropped(name, column) VALUES (?, ?)",
        [.string(table.name), .integer(Int64(bitPattern: column))])
    }
    for column in columns {
      try connection.run(
        "DELETE FROM _flotilla_dropped WHERE name = ? AND column = ?",
        [.string(table.name), .integer(Int64(bitPattern: column))])
    }
    return !gone.isEmpty
  }

  /// The hashes of columns that a table had here and has no more.
  func dropped(_ name: String) throws(SQLiteError) -> Set<UInt64> {
    guard try Layout.hasTable("_flotilla_dropped", on: connection) else { return [] }
    let rows = try connection.rows(
      "SELECT column FROM _flotilla_dropped WHERE name = ?", [.string(name)])
    return Set(rows.compactMap { $0[0].integer.map(UInt64.init(bitPattern:)) })
  }

  /// Whether a table has lost a column here.
  func hasDropped() throws(SQLiteError) -> Bool {
    try connection.row("SELECT 1 FROM _flotilla_dropped LIMIT 1") != nil
  }

  private func rememberedCollations() throws(SQLiteError) -> [String: [KeyCollation]] {
    guard try Layout.hasTable("_flotilla_key", on: connection) else { return [:] }
    var collations: [String: [KeyCollation]] = [:]
    for row in try connection.rows("SELECT name, collations FROM _flotilla_key") {
      collations[folded(row[0].string ?? "")] =
        (row[1].blob ?? []).map { KeyCollation(rawValue: $0) ?? .binary }
    }
    return collations
  }

  /// A hash over the names and columns of all tracked tables, to compare two nodes' schemas.
  var schemaHash: UInt64 {
    tracked.reduce(0) { sum, table in
      let columns = table.statements?.columnHashes.reduce(0, &+) ?? 0
      return sum &+ mix(table.seed ^ columns)
    }
  }

  func add(_ table: ReplicaTable) {
    byID[table.id] = table
    if table.isHeld { hasHeld = true } else { idByName[folded(table.name)] = table.id }
  }
}
