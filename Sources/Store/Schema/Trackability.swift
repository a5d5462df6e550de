import SQLite

/// Whether a table can be tracked, and what its owner should know.
package enum Trackability: Sendable, Equatable {
  case refused(reason: String, remedy: String?)
  case accepted(warnings: [String])

  /// `choice`: what is to become of two rows under one key, if somebody says so now.
  package static func check(
    table name: String, choice: KeyHandling.Kind? = nil, on connection: Connection
  ) throws(StoreError) -> Trackability {
    if let refusal = try refusalByKind(name, connection) { return refusal }
    let schema: TableSchema
    do {
      guard let found = try TableSchema.read(name, on: connection) else {
        return .refused(reason: "there is no table \(quoted(name))", remedy: nil)
      }
      schema = found
    } catch {
      guard error.code == .schema else { throw error }
      return .refused(reason: error.message, remedy: error.remedy)
    }
    if let refusal = refusalByKey(schema) { return refusal }
    let alike = try reporting { () throws(SQLiteError) in
      try Self.alike(schema.name, on: connection)
    }
    if let refusal = refusalByNames(schema, alike: alike) { return refusal }
    if let refusal = try refusalByRows(schema, connection) { return refusal }
    guard choice == nil || schema.hasNumber else {
      return .refused(
        reason: "the key of \(quoted(schema.name)) is not one whole number",
        remedy: "Only such a key can be exchanged for a fresh one: leave --on-collision out.")
    }
    let (isRelated, isReferred) = try reporting { () throws(SQLiteError) in
      try Self.relations(of: schema, connection)
    }
    let chosen = try reporting { () throws(SQLiteError) in
      try CollisionChoices(connection: connection).read(schema.name)
    }
    return .accepted(
      warnings: warnings(
        schema, isRelated: isRelated, isReferred: isReferred,
        isChosen: choice != nil || chosen != nil))
  }

  /// The table's schema if it can hold rows of the site, whatever rows are in it now.
  ///
  /// The site's settings come from peers: one that names a table of Flotilla's or a part of a
  /// virtual table must not open it to them. What was the site's here before (`isKnown`) is no part
  /// of one whose module nobody knows.
  static func schema(
    of name: String, id: Int64, isKnown: Bool = false, among objects: StoredObjects,
    on connection: Connection, _ schemas: SchemaCache
  ) throws(StoreError) -> SchemaCache.Known? {
    if !Tables.isSettings(name) {
      if TableSchema.isReserved(name) { return nil }
      // In a plain file what is no ordinary table is not found.
      if !objects.isPlain, try refusalByKind(name, isKnown: isKnown, connection) != nil {
        return nil
      }
    }
    do {
      guard let known = try schemas.read(name, id: id, among: objects, on: connection),
        refusalByKey(known.schema) == nil
      else { return nil }
      let alike = try reporting { () throws(SQLiteError) in
        objects.isSpelledPlainly ? nil : try Self.alike(known.schema.name, on: connection)
      }
      return refusalByNames(known.schema, alike: alike) == nil ? known : nil
    } catch {
      guard error.code == .schema else { throw error }
      return nil
    }
  }

  /// Refuses what is no table of the application's own.
  private static func refusalByKind(
    _ name: String, isKnown: Bool = false, _ connection: Connection
  ) throws(StoreError) -> Trackability? {
    if TableSchema.isReserved(name) {
      return .refused(
        reason: "\(quoted(name)) belongs to SQLite or to Flotilla", remedy: nil)
    }
    let (found, virtual) = try reporting { () throws(SQLiteError) in
      (
        try connection.rows(
          """
          SELECT 'main', type, name, rootpage FROM main.sqlite_schema
          WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE
          UNION ALL SELECT 'temp', type, name, rootpage FROM temp.sqlite_schema
          WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE
          """, [.string(name)]), try VirtualTable.all(on: connection)
      )
    }
    guard let first = found.first(where: { $0[0] == .string("main") }) ?? found.first else {
      return try .refused(
        reason: "there is no table \(quoted(name))", remedy: remedy(missing: name, connection))
    }
    let name = first[2].string ?? name
    guard first[0] == .string("main") else {
      return .refused(
        reason: "\(quoted(name)) is not in this file but in temp",
        remedy: "Create it in the main schema.")
    }
    if first[1] == .string("view") {
      return .refused(
        reason: "\(quoted(name)) is a view", remedy: "Track the tables that it reads.")
    }
    if first[3] == .integer(0) {
      return .refused(
        reason: "\(quoted(name)) is a virtual table: its rows are kept by an extension",
        remedy: "Track the table that it is made from; triggers fill it at every node.")
    }
    let keepers = virtual.filter { $0.isKnown || !isKnown }
    guard let keeper = keepers.first(where: { $0.keeps(name) }) else { return nil }
    return .refused(
      reason: "\(quoted(name)) \(keeper.isKnown ? "is" : "seems to be") a part of the virtual "
        + "table \(quoted(keeper.name))",
      remedy: "Track the table that the virtual table is made from.")
  }

  private static func remedy(
    missing name: String, _ connection: Connection
  ) throws(StoreError) -> String? {
    let all = try TableSchema.all(on: connection).filter { !TableSchema.isReserved($0) }
    let near =
      all.map { (name: $0, distance: editDistance($0, name)) }
      .filter { $0.distance <= 1 + name.utf8.count / 3 }
      .sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }
      .prefix(3).map { quoted($0.name) }
    if !near.isEmpty { return "Did you mean \(near.joined(separator: " or "))?" }
    if all.isEmpty { return "There is no table in this file yet." }
    let shown = all.sorted().prefix(8).map(quoted).joined(separator: ", ")
    return "The tables are: \(shown)\(all.count > 8 ? " and \(all.count - 8) more" : "")."
  }

  /// Refuses a key by which rows cannot be told apart on every node.
  private static func refusalByKey(_ schema: TableSchema) -> Trackability? {
    let name = quoted(schema.name)
    if schema.key.isEmpty {
      return .refused(
        reason: "table \(name) has no PRIMARY KEY, so its rows cannot be told apart",
        remedy: "Create it anew with one, for example \"id TEXT PRIMARY KEY NOT NULL\", copy the "
          + "rows (INSERT INTO … SELECT lower(hex(randomblob(16))), * FROM \(name)) and rename it.")
    }
    if schema.key.count > Journal.maximumWidth {
      return .refused(
        reason: "the primary key of \(name) has \(schema.key.count) columns",
        remedy: "Use a key of at most \(Journal.maximumWidth) columns.")
    }
    if schema.hasRepeatedKeyColumn {
      return .refused(
        reason: "the primary key of \(name) names a column twice",
        remedy: "Name each column once, with one collation.")
    }
    return nil
  }

  /// Refuses a table with rows that have NULL in the key: many rows may have the same.
  private static func refusalByRows(
    _ schema: TableSchema, _ connection: Connection
  ) throws(StoreError) -> Trackability? {
    for column in schema.nullableKeyColumns {
      let name = quoted(schema.columns[column].name)
      let count = try reporting { () throws(SQLiteError) -> Int in
        let statement = try connection.prepare(
          "SELECT count(*) FROM main.\(quoted(schema.name)) WHERE \(name) IS NULL")
        return try statement.step() ? statement.int(0) : 0
      }
      guard count > 0 else { continue }
      return .refused(
        reason: "\(count) row\(count == 1 ? "" : "s") of \(quoted(schema.name)) "
          + "\(count == 1 ? "has" : "have") NULL in the key column \(name)",
        remedy: "Give them a key or delete them: … WHERE \(name) IS NULL.")
    }
    return nil
  }

  /// Whether it refers to a table by a foreign key, or a table to it; and whether a table does.
  private static func relations(
    of schema: TableSchema, _ connection: Connection
  ) throws(SQLiteError) -> (isRelated: Bool, isReferred: Bool) {
    let isReferred = try connection.rows(
      """
      SELECT DISTINCT f."table" = ?1 COLLATE NOCASE
      FROM main.sqlite_schema AS s, pragma_foreign_key_list(s.name, 'main') AS f
      WHERE s.type = 'table' AND s.rootpage > 0
        AND (s.name = ?1 COLLATE NOCASE OR f."table" = ?1 COLLATE NOCASE)
      """, [.string(schema.name)])
    return (!isReferred.isEmpty, isReferred.contains([.integer(1)]))
  }

  /// What will happen, and what to do if that is not wanted.
  private static func warnings(
    _ schema: TableSchema, isRelated: Bool, isReferred: Bool, isChosen: Bool
  ) -> [String] {
    var warnings: [String] = []
    let name = quoted(schema.name)
    // Who has chosen what becomes of it knows.
    if schema.hasIntegerKey, !isChosen {
      warnings.append(
        isRelated
          ? "\(name) has an integer key: where two nodes give one number to two rows, the later "
            + "one gets a fresh number and what refers to it follows; with UUIDs as keys none "
            + "has to"
          : "\(name) has an integer key, and no foreign key leads from or to it: where two nodes "
            + "give one number to two rows, one of them goes to the conflict log; flotilla track "
            + "DB TABLE --on-collision rekey gives the later one a fresh number instead")
    }
    // Numbers that are counted up, as the lines of an order are.
    if schema.key.count > 1, isReferred,
      schema.key.contains(where: { schema.columns[$0].affinity == .integer })
    {
      warnings.append(
        "\(name) has a key of several columns, and rows that refer to it: where two nodes make one "
          + "key, as line 1 of an order, that is one row written twice; one of the two goes to the "
          + "conflict log, and what refers to it refers to the other; with UUIDs as keys both stay")
    }
    if schema.isAutoincrement {
      warnings.append(
        "\(name) uses AUTOINCREMENT: once the site has a second node, each gives numbers from "
          + "blocks of its own; they leave gaps and pass 2,147,483,647 in time, so programs must "
          + "read them as 64-bit integers")
    }
    return warnings
  }
}

/// The number of bytes to insert, delete or change, regardless of ASCII case.
private func editDistance(_ left: String, _ right: String) -> Int {
  let left = Array(left.lowercased().utf8)
  let right = Array(right.lowercased().utf8)
  var row = Array(0...right.count)
  for (i, a) in left.enumerated() {
    var diagonal = row[0]
    row[0] = i + 1
    for (j, b) in right.enumerated() {
      let above = row[j + 1]
      row[j + 1] = min(above + 1, row[j] + 1, diagonal + (a == b ? 0 : 1))
      diagonal = above
    }
  }
  return row[right.count]
}
