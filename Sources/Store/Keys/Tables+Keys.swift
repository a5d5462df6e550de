import Replication
import SQLite

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
  /// their number has to do. Nil if they belong nowhere: nobody has named the columns of such a
  /// key, or as many shapes as are kept are here already.
  func rows(of shape: TableShape, isNameless: Bool) throws(StoreError) -> (ReplicaTable, Lead?)? {
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
      return other.flatMap { byID[$0.table] }.map { ($0, nil) }
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
      guard try makeRoom(for: table.name) else { return nil }
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
      try setBaseline(row[2].integer == 1, of: id)
    }
    let lead = Lead(before: before, after: shapes.leading(table.name))
    try reload()
    return (id, lead)
  }

  /// A number for the rows of one more shape. That of the table itself always gets one: peers may
  /// have told of as many shapes as are kept.
  private func makeHeld(
    _ key: KeyShape, _ generation: UInt64, of name: String
  ) throws(StoreError) -> Int64 {
    let id = try reporting { () throws(SQLiteError) in
      try connection.run(
        "INSERT INTO _flotilla_local(name) VALUES (?)", [.string(freeName(of: name, key))])
      let id = connection.lastInsertRowID
      try shapes.put(KeyShapes.Known(table: id, shape: key, generation: generation), of: name)
      return id
    }
    refresh(name)
    return id
  }

  /// Under which rows of a shape are known in this file alone. A member can find two shapes, or two
  /// tables, that make the same number.
  private func freeName(of name: String, _ key: KeyShape) throws(SQLiteError) -> String {
    let number = tableSeed(name) ^ mix(key.fingerprint)
    let first = KeyShapes.prefix + String(number, radix: 16)
    var (free, count) = (first, 0)
    while try connection.row("SELECT 1 FROM _flotilla_local WHERE name = ?", [.string(free)]) != nil
    {
      count += 1
      free = "\(first)_\(count)"
    }
    return free
  }

  /// Of too many shapes those go of which nothing is left but deleted rows; false if that makes no
  /// room for another one.
  private func makeRoom(for name: String) throws(StoreError) -> Bool {
    for old in held(of: name).reversed()
    where shapes.known(name).count >= Limits.keyShapes && !old.isLeading {
      let isEmpty = try reporting { () throws(SQLiteError) in
        try connection.row(
          "SELECT 1 FROM _flotilla_shelf WHERE tbl = ? LIMIT 1",
          [.integer(old.id)]) == nil
      }
      if isEmpty { try reporting { () throws(SQLiteError) in try forget(old) } }
    }
    return shapes.known(name).count < Limits.keyShapes
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
      if let table = byID[known.table] {
        byID[known.table] = table.taking(
          known, isLeading: isLeading(known.table, name))
      } else {
        add(held(known))
      }
    }
    noteChangedKeys()
  }

  /// What peers are told of the keys that tables have here, in the same order and with the same
  /// hashes at every node. It does not go by which shape leads: whoever sends rows can have that
  /// change with each of them.
  func noteChangedKeys() {
    let here = keysHere
    let known = byID.values.filter { table in
      table.isTracked && table.isHere && !rekeying.contains(table.id)
        && (table.generation > 0 || hasHeld && shapes.known(table.name).count > 1)
    }.compactMap { table in
      table.keyShape.map { (table, TableKey(table: table.seed, key: $0.fingerprint)) }
    }
    changedKeys =
      (here.map { [TableKey(table: 0, key: $0)] } ?? [])
      + known.filter { $0.0.generation > 0 }.map(\.1).sorted { $0.table < $1.table }
    // Each new table changes that hash, and tells nothing more of the keys of those before.
    keyMark = known.reduce(here == nil ? 0 : 1) { $0 &+ $1.1.share }
  }

  /// A hash over the keys under which tables are here; nil unless another shape of one leads or has
  /// led, or while rows are still looked at. Who tells the same one counts the same rows.
  private var keysHere: UInt64? {
    guard rekeying.isEmpty, hasHeld,
      byID.values.contains(where: { $0.isHeld && ($0.isLeading || $0.generation > 0) })
    else { return nil }
    return byID.values.reduce(0) { sum, table in
      guard !table.isHeld, let known = shapes.known(table.id) else { return sum }
      return sum &+ TableKey(table: table.seed, key: known.shape.fingerprint).share
    }
  }
}

extension TableKey {
  /// What it adds to a sum over several.
  fileprivate var share: UInt64 { mix(table ^ mix(key)) }
}
