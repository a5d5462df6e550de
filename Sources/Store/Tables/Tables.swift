import Replication
import SQLite

/// The tables of the site by local number and by name.
final class Tables {
  /// The replicated table that lists the site's tracked tables.
  static let settings = "_flotilla_table"
  /// A row of that name in the table of settings is no table: while it is there, the site takes in
  /// new tables by itself.
  static let takesNew = "_flotilla_new"
  /// The rows of the settings that name a table.
  static let listing = "_flotilla_table WHERE name <> '\(takesNew)'"

  /// Whether it is one of the replicated tables that hold for the whole site.
  static func isSettings(_ name: String) -> Bool {
    isSameName(name, settings) || isSameName(name, Renames.settings)
  }
  /// Names that peers may bring along, at most.
  static let limit = 2_000

  private let connection: Connection
  private(set) var byID: [Int64: ReplicaTable] = [:]
  private var idByName: [String: Int64] = [:]
  private var remembered: [String: [KeyCollation]] = [:]
  private let schemas: SchemaCache
  let renames: Renames
  /// What the owner of this file has said about tables.
  let choices: TableChoices
  /// Tables of which rows have not been looked at since their key was changed.
  private(set) var rekeying: Set<Int64> = []
  /// The keys that were changed, of the tables that are here and of which all rows were looked at.
  private(set) var changedKeys: [TableKey] = []
  /// Whether rows of any table wait because they are of another shape of key.
  private(set) var hasHeld = false
  /// The shapes in which the keys of each table have come.
  private let shapes: KeyShapes
  /// How often the tables were read.
  private(set) var age = 0

  init(_ connection: Connection, _ schemas: SchemaCache) throws(StoreError) {
    (self.connection, self.schemas) = (connection, schemas)
    self.renames = Renames(connection: connection)
    self.choices = TableChoices(connection: connection)
    self.shapes = KeyShapes(connection)
    try reload()
  }

  /// Reads the tracked tables and their schemas again.
  func reload() throws(StoreError) {
    let (rows, tracked, collations, objects, columns) = try reporting {
      () throws(SQLiteError) in
      (
        try connection.rows("SELECT id, name, baseline, comparing FROM _flotilla_local"),
        try trackedNames(), try rememberedCollations(), try StoredObjects(connection),
        try renames.read()
      )
    }
    let withheld = try reporting { () throws(SQLiteError) in
      try shapes.reload()
      return try choices.withheld()
    }
    remembered = collations
    age += 1
    (byID, idByName, hasHeld, rekeying) = ([:], [:], false, [])
    defer { noteChangedKeys() }
    for row in rows {
      guard let id = row[0].integer, let name = row[1].string else { continue }
      if Store.Comparison(table: id, row[3].blob ?? [])?.isOfKey == true { rekeying.insert(id) }
      if name.hasPrefix(KeyShapes.prefix) {
        if let known = shapes.known(id) { add(held(known)) }
        continue
      }
      let isTracked = Self.isSettings(name) || tracked.contains { isSameName($0, name) }
      // Without its owner's word a table is as if it were not here.
      var known =
        isTracked && !withheld.contains(folded(name))
        ? try Trackability.schema(of: name, id: id, among: objects, on: connection, schemas) : nil
      known?.take(columns[folded(name)])
      add(
        ReplicaTable(
          id: id, name: name, known: known, isTracked: isTracked,
          isBaseline: row[2].integer != 0, collations: remembered[folded(name)] ?? [],
          key: shapes.known(id), isLeading: isLeading(id, name)))
    }
  }

  /// Rows of another shape of key than the table of their name has here.
  private func held(_ known: KeyShapes.Known) -> ReplicaTable {
    let name = shapes.name(of: known.table) ?? ""
    return ReplicaTable(
      id: known.table, name: name, known: nil, isTracked: false, isBaseline: false, key: known,
      isHeld: true, isLeading: isLeading(known.table, name))
  }

  private func isLeading(_ id: Int64, _ name: String) -> Bool {
    shapes.leading(name).map { $0 == id } ?? true
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

  func table(_ name: String) -> ReplicaTable? {
    idByName[folded(name)].flatMap { byID[$0] }
  }

  /// The table of a name; a name that is new here gets a number and waits for its table.
  func tableOrNew(_ name: String) throws(StoreError) -> ReplicaTable {
    if let table = table(name) { return table }
    guard !folded(name).hasPrefix(KeyShapes.prefix) else {
      throw StoreError(.wire, "\(name) is no name of a table")
    }
    guard byID.count < Self.limit else {
      throw StoreError(.table, "the site names more than \(Self.limit) tables")
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

  /// Notes that rows are to be looked at since the key of their table was changed, or that all were.
  func note(_ comparison: Store.Comparison) {
    if comparison.isOfKey {
      rekeying.insert(comparison.table)
    } else if rekeying.remove(comparison.table) == nil {
      return
    }
    noteChangedKeys()
  }

  /// The same order and the same hashes at every node.
  private func noteChangedKeys() {
    changedKeys = byID.values.compactMap { table in
      guard table.isTracked, table.schema != nil, table.generation > 0, table.isLeading,
        !rekeying.contains(table.id), let key = table.keyShape
      else { return nil }
      return TableKey(table: table.seed, key: key.fingerprint)
    }.sorted { $0.table < $1.table }
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

  private func add(_ table: ReplicaTable) {
    byID[table.id] = table
    if table.isHeld { hasHeld = true } else { idByName[folded(table.name)] = table.id }
  }
}

/// The shapes of keys.
extension Tables {
  /// Which rows counted in the digest, and which do now.
  struct Lead: Equatable {
    var before: Int64?
    var after: Int64?
  }

  /// True if the versions of a table have another shape of key than it has now, or none is noted.
  func hasOtherKey(_ table: ReplicaTable) -> Bool {
    shapes.known(table.id)?.shape != table.statements?.shape.key
  }

  /// Whether it is noted which shape the keys of its versions have.
  func isKeyKnown(_ table: ReplicaTable) -> Bool { shapes.known(table.id) != nil }

  /// The rows of one table that are of another shape of key than it has here, the newest shape
  /// first.
  func held(of name: String) -> [ReplicaTable] {
    guard hasHeld else { return [] }
    return shapes.known(name).sorted { $0.generation > $1.generation }
      .compactMap { byID[$0.table] }.filter(\.isHeld)
  }

  /// The rows of a table whose shape of key leads.
  func leading(_ name: String) -> ReplicaTable? { shapes.leading(name).flatMap { byID[$0] } }

  /// Among which rows one of this shape belongs; a shape that is new here gets a number.
  ///
  /// A node that has no table called its key columns 0, 1, … where it spoke of a key alone: then
  /// their number has to do.
  func rows(of shape: TableShape, isNameless: Bool) throws(StoreError) -> (ReplicaTable, Lead?) {
    let table = try tableOrNew(shape.name)
    guard !table.isSettings else {
      let isItsKey = table.keyShape?.names.elementsEqual(shape.key.names, by: isSameName)
      guard isNameless && shape.keyCount == table.keyShape?.count || isItsKey == true else {
        throw StoreError(.wire, "the settings of the site have another key")
      }
      return (table, nil)
    }
    let known = shapes.known(shape.name)
    if isNameless {
      if table.keyShape.map({ $0.count == shape.keyCount }) ?? true { return (table, nil) }
      let other = known.first { $0.shape.count == shape.keyCount }
      guard let other = other.flatMap({ byID[$0.table] }) else {
        throw StoreError(.wire, "a key of \(quoted(table.name)) has columns that nobody has named")
      }
      return (other, nil)
    }
    let key = shape.key
    let before = shapes.leading(shape.name)
    if let found = known.first(where: { $0.shape == key }) {
      guard shape.generation > found.generation, let rows = byID[found.table] else {
        return (byID[found.table] ?? table, nil)
      }
      try note(key, shape.generation, of: rows)
    } else if known.isEmpty, table.keyShape.map({ $0 == key }) ?? true {
      try note(key, shape.generation, of: table)
    } else {
      let id = try makeHeld(key, shape.generation, of: table.name)
      return (byID[id] ?? table, Lead(before: before, after: shapes.leading(shape.name)))
    }
    let found = known.first { $0.shape == key }?.table ?? table.id
    return (byID[found] ?? table, Lead(before: before, after: shapes.leading(shape.name)))
  }

  /// Notes the shape of the keys of a table that has none yet, or a later generation of it.
  func note(_ key: KeyShape, _ generation: UInt64, of table: ReplicaTable) throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      try shapes.put(
        KeyShapes.Known(table: table.id, shape: key, generation: generation), of: table.name)
    }
    refresh(table.name)
  }

  /// The table of this name has another key from now on: the rows of the shape that it has are its
  /// own, those of the one that it had are held. Gives the number of its rows.
  func changeKey(
    of table: ReplicaTable, to key: KeyShape
  ) throws(StoreError) -> (id: Int64, lead: Lead) {
    let known = shapes.known(table.name)
    let before = shapes.leading(table.name)
    let next = min(Limits.generations, (known.map(\.generation).max() ?? 0) + 1)
    let id: Int64
    if let found = known.first(where: { $0.shape == key }) {
      id = found.table
      if found.table != before, let rows = byID[id] { try note(key, next, of: rows) }
    } else {
      id = try makeHeld(key, next, of: table.name)
    }
    try reporting { () throws(SQLiteError) in
      let row = try connection.row(
        """
        SELECT a.name, b.name, b.baseline FROM _flotilla_local AS a, _flotilla_local AS b
        WHERE a.id = ? AND b.id = ?
        """, [.integer(id), .integer(table.id)])
      guard let row, let held = row[0].string else { return }
      let between = held + "_"
      for (name, id) in [(between, table.id), (table.name, id), (held, table.id)] {
        try connection.run(
          "UPDATE _flotilla_local SET name = ?, comparing = NULL WHERE id = ?",
          [.string(name), .integer(id)])
      }
      try connection.run(
        "UPDATE _flotilla_local SET baseline = ? WHERE id = ?", [row[2], .integer(id)])
    }
    let lead = Lead(before: before, after: shapes.leading(table.name))
    try reload()
    return (id, lead)
  }

  /// A number for the rows of one more shape.
  private func makeHeld(
    _ key: KeyShape, _ generation: UInt64, of name: String
  ) throws(StoreError) -> Int64 {
    try makeRoom(for: key, of: name)
    let id = try reporting { () throws(SQLiteError) in
      let number = tableSeed(name) ^ mix(key.fingerprint)
      try connection.run(
        "INSERT INTO _flotilla_local(name) VALUES (?)",
        [.string(KeyShapes.prefix + String(number, radix: 16))])
      let id = connection.lastInsertRowID
      try shapes.put(KeyShapes.Known(table: id, shape: key, generation: generation), of: name)
      return id
    }
    refresh(name)
    return id
  }

  /// Of too many shapes those go of which nothing is left but deleted rows.
  private func makeRoom(for key: KeyShape, of name: String) throws(StoreError) {
    guard byID.count < Self.limit else {
      throw StoreError(.table, "the site names more than \(Self.limit) tables")
    }
    for old in held(of: name).reversed()
    where shapes.known(name).count >= Limits.keyShapes && !old.isLeading {
      let isEmpty = try reporting { () throws(SQLiteError) in
        try connection.row(
          "SELECT 1 FROM _flotilla_shelf WHERE tbl = ? LIMIT 1",
          [.integer(old.id)]) == nil
      }
      if isEmpty { try reporting { () throws(SQLiteError) in try forget(old) } }
    }
    guard shapes.known(name).count >= Limits.keyShapes else { return }
    throw StoreError(
      .table,
      "rows of \(quoted(name)) are here in \(Limits.keyShapes) shapes of its key; another one, "
        + "(\(key.names.joined(separator: ", "))), is refused",
      remedy: "Give the table the same key on all machines.")
  }

  /// Lets go of rows of another shape of key, and of the shape.
  func forget(_ table: ReplicaTable) throws(SQLiteError) {
    for name in ["version", "shelf", "journal", "pending"] {
      try connection.run("DELETE FROM _flotilla_\(name) WHERE tbl = ?", [.integer(table.id)])
    }
    try connection.run("DELETE FROM _flotilla_local WHERE id = ?", [.integer(table.id)])
    try shapes.remove(table.id)
    byID[table.id] = nil
    refresh(table.name)
  }

  private func refresh(_ name: String) {
    for known in shapes.known(name) {
      if var table = byID[known.table] {
        table.take(known, isLeading: isLeading(known.table, name))
        byID[known.table] = table
      } else {
        add(held(known))
      }
    }
    noteChangedKeys()
  }
}
