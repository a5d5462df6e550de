/// Schemas from a seed.
extension ApplicationSchema {
  /// `hasNumbers` has whole numbers as keys of tables that refer to others, too.
  init(_ random: inout Seeded, hasNumbers: Bool) {
    tables = []
    let count = 1 + random.below(4)
    for _ in 0..<count { addTable(&random, hasNumbers: hasNumbers) }
    for table in tables.indices { addReferences(to: table, &random, among: 0..<tables.count) }
    for table in tables.indices { addConstraints(to: table, &random) }
    for table in tables.indices where random.chance(350) { addTrigger(to: table, &random) }
  }

  /// A table with a key, columns and a mark; what refers to others comes later.
  mutating func addTable(_ random: inout Seeded, hasNumbers: Bool) {
    let number = nextNumber()
    var columns: [Column] = []
    let isAlone = random.chance(150)
    let isNumbered = isAlone || hasNumbers
    let kind = random.below(isNumbered ? 10 : 8)
    var options = ""
    switch kind {
    case 0, 1: columns.append(keyColumn("TEXT", Self.words, &random))
    case 2:
      columns.append(keyColumn("TEXT", ["'a'", "'A'", "'b'", "'B'", "'c'"], &random))
      columns[0].collation = "NOCASE"
    case 3: columns.append(keyColumn("BLOB", ["x'01'", "x'02'", "x''", "x'61'"], &random))
    case 4:
      columns.append(keyColumn("TEXT", Self.words, &random))
      columns.append(keyColumn("INTEGER", ["1", "2", "3"], &random))
      if random.chance(500) { options = "WITHOUT ROWID" }
    case 5:
      columns.append(keyColumn("TEXT", Self.words, &random))
      options = "WITHOUT ROWID"
    case 6: columns.append(keyColumn("DATE", ["'2024-01-01'", "'2024-01-02'", "7"], &random))
    case 7:
      columns.append(keyColumn("TEXT", Self.words, &random))
      options = "STRICT"
    default:
      columns.append(keyColumn("INTEGER", ["1", "2", "3", "4", "5"], &random))
      columns[0].isNotNull = false
    }
    let key = columns.map(\.number)
    for _ in 0..<(1 + random.below(4)) {
      columns.append(freeColumn(options, &random))
      columns[columns.count - 1].isUnique = random.chance(150)
    }
    let mark = nextNumber()
    columns.append(Column(number: mark, name: "mark\(mark)", type: "TEXT", values: []))
    var table = Table(
      number: number, name: "t\(number)", first: "t\(number)", columns: columns, key: key,
      options: options, mark: mark)
    table.isAlone = kind >= 8 && !hasNumbers
    tables.append(table)
  }

  static let strict = ["TEXT", "INTEGER", "REAL", "BLOB"]
  static let words = ["'a'", "'b'", "'c'", "'d'", "'e'"]

  private mutating func keyColumn(
    _ type: String, _ values: [String], _ random: inout Seeded
  ) -> Column {
    let number = nextNumber()
    return Column(
      number: number, name: "k\(number)", type: type, isNotNull: true, values: values)
  }

  /// A column that is no part of anything yet.
  mutating func freeColumn(_ options: String, _ random: inout Seeded) -> Column {
    let number = nextNumber()
    let kinds: [(String, [String])] = [
      ("TEXT", ["'x'", "'y'", "'z'", "''", "'long one'"]),
      ("INTEGER", ["0", "1", "2", "3", "-1"]), ("REAL", ["0.5", "1", "2.25", "-1"]),
      ("BLOB", ["x'00'", "x'ff'", "x''"]),
      ("NUMERIC", ["1", "'1.5'", "2", "'none'"]), ("", ["1", "'1'", "1.5", "x'31'"]),
    ]
    let (type, values) = random.pick(options == "STRICT" ? Array(kinds[0..<4]) : kinds)
    var column = Column(number: number, name: "c\(number)", type: type, values: values)
    column.isNotNull = random.chance(250)
    if column.isNotNull ? random.chance(700) : random.chance(200) {
      column.fallback = values[0]
    }
    if type == "TEXT", random.chance(150) { column.collation = random.pick(["NOCASE", "RTRIM"]) }
    if random.chance(200) { column.check = Self.check(on: column, &random) }
    return column
  }

  static func check(on column: Column, _ random: inout Seeded) -> String? {
    switch column.type {
    case "TEXT": random.pick(["length({\(column.number)}) < 5", "{\(column.number)} <> 'z'"])
    case "INTEGER", "REAL": "{\(column.number)} \(random.pick([">= 0", "< 3", "<> 1"]))"
    default: nil
    }
  }

  /// Foreign keys from a table to others, to itself, or from its key.
  mutating func addReferences(
    to child: Int, _ random: inout Seeded, among parents: Range<Int>
  ) {
    guard !tables[child].isAlone else { return }
    for _ in 0..<random.pick([0, 1, 1, 2]) {
      let parent = tables[random.pick(Array(parents))]
      guard !parent.isAlone else { continue }
      let isOfKey =
        parent.key.count == 1 && tables[child].key.count == 1
        && parent.number != tables[child].number && random.chance(100)
      addReference(from: child, to: parent, isOfKey: isOfKey, &random)
    }
  }

  private mutating func addReference(
    from child: Int, to parent: Table, isOfKey: Bool, _ random: inout Seeded
  ) {
    var target = parent.key
    let unique = parent.columns.first { $0.isUnique && $0.generated == nil }
    if let unique, random.chance(300) { target = [unique.number] }
    let types = target.compactMap { parent.column($0)?.type }
    if tables[child].options == "STRICT", types.contains(where: { !Self.strict.contains($0) }) {
      return
    }
    var columns: [Int] = []
    for wanted in target {
      guard let column = parent.column(wanted) else { continue }
      if isOfKey, target == parent.key {
        let key = tables[child].key[0]
        guard let index = tables[child].index(of: key) else { return }
        tables[child].columns[index].values = column.values
        tables[child].columns[index].type = column.type
        tables[child].columns[index].collation = column.collation
        columns.append(key)
        continue
      }
      let number = nextNumber()
      var added = Column(
        number: number, name: "r\(number)", type: column.type, values: column.values)
      added.collation = column.collation
      added.isNotNull = random.chance(150)
      added.fallback = random.chance(200) ? column.values[0] : nil
      tables[child].columns.append(added)
      columns.append(number)
    }
    tables[child].foreignKeys.append(
      ForeignKey(
        columns: columns, parent: parent.number,
        parentColumns: target == parent.key && random.chance(500) ? [] : target,
        actions: Self.actions(&random)))
  }

  static func actions(_ random: inout Seeded) -> String {
    let actions = ["", "CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT", "NO ACTION"]
    let (delete, update) = (random.pick(actions), random.pick(actions))
    return [
      delete.isEmpty ? "" : "ON DELETE \(delete)", update.isEmpty ? "" : "ON UPDATE \(update)",
      random.chance(400) ? "DEFERRABLE INITIALLY DEFERRED" : "",
    ].filter { !$0.isEmpty }.joined(separator: " ")
  }

  /// Unique values, checks of several columns, generated columns and indexes.
  mutating func addConstraints(to index: Int, _ random: inout Seeded) {
    let table = tables[index]
    let free = table.free
    if random.chance(350), let place = tables[index].index(of: random.pick(free).number) {
      tables[index].columns[place].isUnique = true
    }
    if free.count > 1, random.chance(200) {
      tables[index].uniques.append([free[0].number, free[1].number])
    }
    if free.count > 1, random.chance(200) {
      tables[index].checks.append("{\(free[0].number)} IS NULL OR {\(free[1].number)} IS NOT NULL")
    }
    if random.chance(250) { addGenerated(to: index, random.pick(free), &random) }
    while random.chance(350) { addIndex(to: index, isUnique: random.chance(450), &random) }
  }

  private mutating func addGenerated(
    to index: Int, _ source: Column, _ random: inout Seeded
  ) {
    let number = nextNumber()
    var column = Column(
      number: number, name: "g\(number)", type: "TEXT", values: [])
    column.generated = "coalesce({\(source.number)}, '-') || '!'"
    column.isStored = random.chance(500)
    column.isUnique = random.chance(200)
    tables[index].columns.append(column)
  }

  @discardableResult
  mutating func addIndex(to index: Int, isUnique: Bool, _ random: inout Seeded) -> Index {
    let free = tables[index].free
    let (one, other) = (random.pick(free).number, random.pick(free).number)
    let terms = random.pick([
      "{\(one)}", "{\(one)}, {\(other)}", "lower({\(one)})", "{\(one)} DESC",
      "coalesce({\(one)}, {\(other)})", "{\(one)} COLLATE NOCASE",
    ])
    let condition = random.pick([
      nil, nil, "{\(other)} IS NOT NULL", "{\(one)} > 1", "{\(other)} <> 'x'",
    ])
    let made = Index(
      name: "i\(nextNumber())", isUnique: isUnique, terms: terms, condition: condition)
    tables[index].indexes.append(made)
    return made
  }
}
