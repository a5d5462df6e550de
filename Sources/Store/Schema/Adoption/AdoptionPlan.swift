import Replication
import SQLite

/// Finds out what another member has and this file lacks.
///
/// Nothing is taken from what a peer says of its statements: they are carried out in memory, beside
/// a sketch of this file's own schema, and what has come of it is compared.
struct AdoptionPlan {
  /// The name of the other member, for people.
  let node: String
  let store: Store
  private let here: SchemaSketch
  private let there: SchemaSketch
  private let mine: [String: SchemaSketch.Object]
  private let numbers: [SchemaObject]
  /// Tables, in small letters, to which nothing is added.
  private var untouched: Set<String> = []
  /// Tables of this file, in small letters, that have another name there.
  private var renamedTables: Set<String> = []
  private var books: [String] = []
  /// Tables that have another name there by now, in small letters, and their first ones.
  private var theirTables: [String: String] = [:]
  /// These first ones, in small letters.
  private var left: Set<String> = []
  /// How columns there were called first, by table and name, in small letters; who tells nothing
  /// of a table has no other names in it.
  private let theirFirsts: [String: [String: String]]
  /// All names, and those of what differs and is not added, in small letters.
  private var known: Set<String> = []
  private var missing: Set<String> = []
  private(set) var adoption = SchemaAdoption()

  init(_ store: Store, _ objects: [SchemaObject], of node: String) throws(StoreError) {
    (self.store, self.node) = (store, node)
    here = try SchemaSketch(try store.schemaCopy.definedObjects())
    there = try SchemaSketch(objects)
    numbers = objects.filter { $0.kind == .number }
    theirFirsts = SchemaCopy.toldFirsts(objects)
    let own = here.refused.compactMap { refused -> SchemaSketch.Object? in
      let object = refused.object
      return SchemaAdoption.Kind(object.kind).map {
        SchemaSketch.Object(kind: $0, name: object.name, table: object.name, sql: object.sql)
      }
    }
    mine = Dictionary(
      (own + (try here.objects())).map { (folded($0.name), $0) }, uniquingKeysWith: { $1 })
    for (object, why) in there.refused {
      guard let kind = SchemaAdoption.Kind(object.kind), !TableSchema.isReserved(object.name)
      else { continue }
      differ(kind, object.name, object.name, "cannot be made here: \(why)")
    }
    let theirs = try there.objects()
    known = Set(mine.keys).union(theirs.map { folded($0.name) })
    findTables(
      Set(theirs.filter { $0.kind == .table }.map { folded($0.name) }),
      SchemaCopy.toldTables(objects))
    for object in theirs {
      switch object.kind {
      case .table: try compare(table: object)
      default: try compare(object)
      }
    }
    fillIndexes()
    try noteOwn(theirs)
    try noteNumbers()
    noteBooks()
  }

  private mutating func differ(
    _ kind: SchemaAdoption.Kind, _ name: String, _ table: String, _ what: String,
    _ remedy: String? = nil
  ) {
    missing.insert(folded(name))
    adoption.differences.append(
      SchemaAdoption.Difference(kind: kind, name: name, table: table, what: what, remedy: remedy))
  }

  /// Tries one statement beside those before it.
  private mutating func add(
    _ kind: SchemaAdoption.Kind, _ name: String, _ table: String, _ sql: String
  ) -> Bool {
    let step = SchemaAdoption.Step(kind: kind, name: name, table: table, sql: sql)
    if let why = here.make(sql) {
      differ(kind, name, table, "cannot be added: \(why)", Self.migrate)
      return false
    }
    adoption.steps.append(step)
    return true
  }

  private static let migrate = "Make here the migration that made it there."

  /// Finds out which tables of the site are called how there. The name that one has now may be the
  /// first one of another: then it is that one's, as long as the first one's own is there.
  private mutating func findTables(_ names: Set<String>, _ told: [String: String]) {
    var queue = names.sorted()
    var (next, behind): (Int, [String: [String]]) = (0, [:])
    while next < queue.count {
      let name = queue[next]
      next += 1
      guard let first = store.tables.names.first(of: name) ?? told[name],
        !isSameName(first, name), theirTables[name] == nil
      else { continue }
      let former = folded(first)
      if store.tables.table(name)?.isTracked == true, names.contains(former),
        theirTables[former] == nil
      {
        behind[former, default: []].append(name)
        continue
      }
      theirTables[name] = first
      queue += behind.removeValue(forKey: name) ?? []
    }
    left = Set(theirTables.values.map(folded))
  }

  /// Whether what is called so there is none that the site knows by it: that has another name.
  private func isAnother(_ table: String) -> Bool {
    theirTables[table] == nil && left.contains(table)
  }

  /// How the columns of a table of this file were called first, in their order.
  private func firsts(of table: ReplicaTable, _ schema: TableSchema) throws(StoreError) -> [String]
  {
    try reporting { () throws(SQLiteError) in
      try store.tables.renames.read(table.name).names(of: schema).firsts
    }
  }

  private func theirFirst(_ column: String, of table: String) -> String {
    theirFirsts[folded(table)]?[folded(column)] ?? column
  }

  private mutating func compare(table object: SchemaSketch.Object) throws(StoreError) {
    let (name, table) = (object.name, folded(object.name))
    let columns = TablePart.all(of: object.sql).parts.compactMap(\.column)
    if MigrationBook.isOne(name, columns: columns) {
      untouched.insert(table)
      return books.append(name)
    }
    let isAnother = isAnother(table)
    if !isAnother, let local = store.tables.table(theirTables[table] ?? name), local.isTracked,
      local.isHere, !isSameName(local.nameHere, name)
    {
      let called = quoted(local.nameHere)
      untouched.insert(table)
      renamedTables.insert(folded(local.nameHere))
      return differ(
        .table, name, name, "is called \(called) here",
        mine[table] == nil
          ? "If you like: ALTER TABLE \(called) RENAME TO \(quoted(name))" : Self.migrate)
    }
    guard let own = mine[table] else {
      if let original = ScratchName.original(of: name, among: known) {
        untouched.insert(table)
        return differ(
          .table, name, name, "seems to be a copy of \(quoted(original)) that a migration makes",
          "Try again when the migration of \(node) is done.")
      }
      if !add(.table, name, name, object.sql) { untouched.insert(table) }
      return
    }
    guard own.kind == .table else {
      untouched.insert(table)
      return differ(.table, name, name, "is a \(own.kind.rawValue) here")
    }
    guard let local = store.tables.table(called: name), local.isTracked, let schema = local.schema
    else {
      untouched.insert(table)
      guard own.text != object.text else { return }
      return differ(
        .table, name, name, "is declared otherwise at \(node), and is not replicated here",
        "If it is the site's table: flotilla track DB TABLE")
    }
    guard !isAnother else {
      untouched.insert(table)
      return differ(
        .table, name, name, "is another table at \(node), where this one has a name of later",
        Self.migrate)
    }
    guard own.text != object.text else { return }
    let firsts = try firsts(of: local, schema)
    guard let other = try TableSchema.read(name, on: there.connection),
      KeyDefinition(schema, firsts: firsts).agrees(
        with: KeyDefinition(other, firsts: other.columns.map { theirFirst($0.name, of: name) }))
    else {
      untouched.insert(table)
      return differ(.table, name, name, "has another key at \(node)", Self.migrate)
    }
    try compare(columns: other, object, own, Array(zip(schema.columns.map(\.name), firsts)))
  }

  private mutating func compare(
    columns other: TableSchema, _ object: SchemaSketch.Object, _ own: SchemaSketch.Object,
    _ columns: [(name: String, first: String)]
  ) throws(StoreError) {
    let (theirs, ours) = (TablePart.all(of: object.sql), TablePart.all(of: own.sql))
    let table = own.name
    let hasRows = try store.hasRow(in: table)
    for part in theirs.parts {
      guard let name = part.column else { continue }
      let namesake = ours.parts.first { isSameName($0.column ?? "", name) }
      let first = theirFirst(name, of: table)
      let called = columns.first { isSameName($0.first, first) }?.name
      if let called, !isSameName(called, name) {
        let change = "RENAME COLUMN \(quoted(called)) TO \(quoted(name))"
        differ(
          .column, name, table, "is called \(called) here",
          namesake == nil ? "If you like: ALTER TABLE \(quoted(table)) \(change)" : Self.migrate)
        continue
      }
      if let namesake {
        if called == nil {
          differ(.column, name, table, "is another column here", Self.migrate)
        } else if namesake.text != part.text {
          differ(.column, name, table, "is declared otherwise at \(node)", Self.migrate)
        }
        continue
      }
      guard let column = other.column(named: name).map({ other.columns[$0] }) else { continue }
      if hasRows, !column.isGenerated, let why = column.isMissingFromRows {
        differ(.column, name, table, why, Self.migrate)
        continue
      }
      add(column, part, to: table)
    }
    let constraints = { (parts: [TablePart]) in Set(parts.filter { $0.column == nil }.map(\.text)) }
    if theirs.options != ours.options || constraints(theirs.parts) != constraints(ours.parts) {
      differ(.table, table, table, "has other constraints at \(node)", Self.migrate)
    }
  }

  /// The column must be there afterwards as it is there, and nothing else.
  private mutating func add(_ column: Column, _ part: TablePart, to table: String) {
    let before = (try? TableSchema.read(table, on: here.connection))?.columns.count
    let sql = "ALTER TABLE \(quoted(table)) ADD COLUMN \(part.sql)"
    guard add(.column, column.name, table, sql) else { return }
    guard let schema = try? TableSchema.read(table, on: here.connection),
      let last = schema.columns.last, schema.columns.count == (before ?? 0) + 1,
      isSameName(last.name, column.name),
      last.declaration(keyPlace: nil) == column.declaration(keyPlace: nil)
    else {
      adoption.steps.removeLast()
      return differ(
        .column, column.name, table, "cannot be added as it is declared at \(node)", Self.migrate)
    }
  }

  private mutating func compare(_ object: SchemaSketch.Object) throws(StoreError) {
    let (kind, name, table) = (object.kind, object.name, object.table)
    if let own = mine[folded(name)] {
      guard own.kind != kind || own.text != object.text else { return }
      return differ(kind, name, table, "is declared otherwise at \(node)", Self.migrate)
    }
    guard !untouched.contains(folded(table)) else {
      guard !books.contains(where: { isSameName($0, table) }) else { return }
      return differ(kind, name, table, "belongs to a table that is left as it is")
    }
    if let why = obstacle(to: object) { return differ(kind, name, table, why, Self.migrate) }
    _ = add(kind, name, table, object.sql)
  }

  /// Why a view or a trigger is better not here: it names what is not here as it is there, and
  /// would make a program's writes fail, or it would write where programs do not.
  private func obstacle(to object: SchemaSketch.Object) -> String? {
    guard object.kind == .view || object.kind == .trigger else { return nil }
    let text = SQLText(object.sql)
    if object.kind == .trigger, let reserved = text.reserved {
      return "names \(quoted(reserved)), which is no table of an application"
    }
    let name = text.tokens.first { missing.contains(folded($0.name)) }?.name
    return name.map { "names \(quoted($0)), which is not here as it is at \(node)" }
  }

  /// What this file has and the other one lacks, of the tables that are replicated here.
  private mutating func noteOwn(_ theirs: [SchemaSketch.Object]) throws(StoreError) {
    let tables = Dictionary(theirs.map { (folded($0.name), $0) }, uniquingKeysWith: { $1 })
    let remedy = "To bring it there, at \(node): flotilla schema DB --adopt \(store.nodeName)"
    for local in store.tables.tracked {
      guard let table = local.schema, !renamedTables.contains(folded(table.name)) else { continue }
      guard let other = tables[folded(table.name)] else {
        differ(.table, table.name, table.name, "is not at \(node)", remedy)
        adoption.missing.append(table.name)
        continue
      }
      guard !untouched.contains(folded(table.name)) else { continue }
      let columns = Set(
        TablePart.all(of: other.sql).parts.compactMap(\.column)
          .map { folded(theirFirst($0, of: table.name)) })
      for (column, first) in zip(table.columns, try firsts(of: local, table))
      where !columns.contains(folded(first)) {
        differ(.column, column.name, table.name, "is not at \(node)", remedy)
      }
      for own in mine.values.sorted(by: { $0.name < $1.name })
      where own.kind == .index && isSameName(own.table, table.name)
        && tables[folded(own.name)] == nil
      {
        differ(.index, own.name, table.name, "is not at \(node)", remedy)
      }
    }
  }

  /// A full-text index of another table's content (`content='doc'`) is made empty. Programs would
  /// get "database disk image is malformed" from its triggers, which take out what is not in it.
  private mutating func fillIndexes() {
    for step in adoption.steps {
      guard let content = SQLText(step.sql).contentElsewhere else { continue }
      let name = quoted(step.name)
      let fill = "INSERT INTO \(name)(\(name)) VALUES ('rebuild')"
      // A view of a peer is compiled where a person says so.
      if mine[folded(content)]?.kind == .table
        || adoption.steps.contains(where: {
          $0.kind == .table && isSameName($0.name, content)
        })
      {
        adoption.steps.append(
          SchemaAdoption.Step(kind: .table, name: step.name, table: step.table, sql: fill))
      } else {
        differ(.table, step.name, step.table, "comes empty", "To fill it: \(fill)")
      }
    }
  }

  private mutating func noteNumbers() throws(StoreError) {
    for name in SchemaCopy.numbers {
      let own = try reporting { () throws(SQLiteError) in
        try store.connection.scalar("PRAGMA main.\(name)").integer ?? 0
      }
      let told = numbers.first { $0.name == name }?.fields.first?.value
      let other = if case .integer(let number)? = told { number } else { Int64(0) }
      guard other != own else { continue }
      differ(
        .number, name, "", "is \(other) at \(node) and \(own) here",
        "If the application goes by it, set it once all else is equal: PRAGMA \(name) = \(other)")
    }
  }

  /// Nobody but its tool can say which migrations a file has had.
  private mutating func noteBooks() {
    guard !adoption.steps.isEmpty else { return }
    for name in books {
      differ(
        .book, name, name, "is the book of a migration tool, and stays as it is",
        "Rather run the migration here; or tell its tool that it was made (migrate --fake).")
    }
  }
}

extension SchemaAdoption.Kind {
  /// Nil of what tells which migrations were made.
  fileprivate init?(_ kind: SchemaObject.Kind) {
    switch kind {
    case .table: self = .table
    case .index: self = .index
    case .view: self = .view
    case .trigger: self = .trigger
    case .entry, .number: return nil
    }
  }
}

extension Column {
  /// Why ALTER TABLE cannot add the column to a table with rows.
  ///
  /// "If a NOT NULL constraint is specified, then the column must have a default value other than
  /// NULL"; "The column may not have a default value of CURRENT_TIME, CURRENT_DATE,
  /// CURRENT_TIMESTAMP, or an expression in parentheses" (sqlite.org/lang_altertable.html).
  fileprivate var isMissingFromRows: String? {
    if isNotNull, constantDefault == .some(.null) {
      return "is NOT NULL without a default, and there are rows"
    }
    return constantDefault == nil ? "has a default that is no constant, and there are rows" : nil
  }
}
