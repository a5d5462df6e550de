import Replication
import SQLite
import Store

/// One random schema with its migrations, on nodes that edit, migrate and meet in any order.
///
/// Each step draws from a seed of its own, so that what is left out changes no other.
package struct SchemaRun {
  package struct Plan: Sendable {
    package var seed: UInt64
    /// Whether whole numbers are keys of tables that refer to others, whose rows get other ones.
    package var hasNumbers: Bool
    /// Whether tables get other names.
    package var renamesTables = false
    /// Whether migrations commit their statements one by one.
    package var splitsMigrations = false
    /// Whether a table is made and renamed, and some see the second name alone.
    package var makesTwins = false
    /// Whether columns get names that others had.
    package var passesNames = false
    /// Whether a program drops a table, once, and makes it again.
    package var emptiesTables = false
    /// Whether there is an anchor, from the beginning on or later.
    package var hasAnchor = false
    /// Whether anchors also resign, and are replaced before they have heard of it.
    package var changesAnchors = false
    /// Whether disks fail, and processes are killed.
    package var hasMishaps = false
    /// Steps that are left out.
    package var without: Set<Int> = []
    /// At most so many migrations.
    package var migrations = 5

    package init(seed: UInt64, numbers: Bool = false) {
      self.seed = seed
      self.hasNumbers = numbers
    }
  }

  package let plan: Plan
  package let steps: Int
  package private(set) var faults: [String] = []
  package var story: [String] { tale.lines }
  var tale: Story
  private(set) var first = ApplicationSchema(tables: [])
  private(set) var migrations: [Migration] = []
  private(set) var nodes: [SchemaNode] = []
  private var trail = EditTrail()
  private var authors = AuthorTrail()
  private var edits = 0
  private var world: Int64 = 0
  private var emptied: String?
  /// What a person has said about the anchor.
  private var appointments: [Appointment] = []

  package init(_ plan: Plan, isTold: Bool = false) {
    self.plan = plan
    tale = Story(isTold: isTold)
    var random = Seeded(plan.seed)
    steps = 10 + random.below(50)
    do {
      try begin(&random)
      for step in 0..<steps where !plan.without.contains(step) {
        var random = Seeded(mix(plan.seed) &+ UInt64(step))
        try live(step, &random)
        guard nodes.allSatisfy({ $0.faults.isEmpty }), faults.isEmpty else { break }
      }
      if faults.isEmpty { try end(&random) }
    } catch {
      faults.append("\(error)")
    }
    faults += nodes.flatMap(\.faults)
  }

  private mutating func begin(_ random: inout Seeded) throws {
    let schema = ApplicationSchema(&random, hasNumbers: plan.hasNumbers)
    first = schema
    let wanted = min(plan.migrations, random.below(5))
    if plan.makesTwins { migrations = Migration.twins(schema, &random) }
    var last = migrations.last?.schema ?? schema
    for _ in 0..<20 where migrations.count < wanted {
      guard let next = Migration.draw(last, &random) else { continue }
      migrations.append(next)
      last = next.schema
      if plan.renamesTables, random.chance(500) {
        migrations.append(Migration.renamingTable(last, &random))
        last = migrations[migrations.count - 1].schema
      }
      if plan.passesNames, let chain = Migration.passingNames(last, &random) {
        migrations.append(chain)
        last = chain.schema
      }
    }
    for sql in schema.statements { tale.tell(sql) }
    for (place, migration) in migrations.enumerated() {
      tale.tell("migration \(place + 1): \(migration.statements.joined(separator: "; "))")
    }
    for number in 0..<(2 + random.below(3)) {
      nodes.append(try SchemaNode(number, schema, at: world, &random))
    }
    let hasRows = random.chance(600)
    if hasRows { for _ in 0..<3 { try write(0, &random, isFolding: false) } }
    let takesNew = random.chance(500)
    let rules = [nil, ServerWins.name, ServerWinsOnConflict.name, NewestWins.name]
    let rule = plan.hasAnchor ? random.pick(rules) : nil
    if plan.hasAnchor, random.chance(600) { try appoint(&random) }
    try nodes[0].store.track(
      schema.tables.map(\.name), rule: rule, takesNew: takesNew ? true : nil, at: nodes[0].now)
    for node in nodes {
      try node.foldAll()
      if node.number > 0 { try node.pull(from: nodes[0], inSteps: false) }
      try node.foldAll()
    }
  }

  private mutating func live(_ step: Int, _ random: inout Seeded) throws {
    advance(&random)
    let node = random.below(nodes.count)
    tale.tell("step \(step)")
    switch random.below(20) {
    case 0...7: try write(node, &random, isFolding: random.chance(500))
    case 8...9: try migrate(node, &random)
    case 11 where plan.emptiesTables && emptied == nil: try empty(node, &random)
    case 10...11:
      tale.tell("node-\(node) folds")
      try withMishap(nodes[node], &random) { try $0.fold() }
    case 12 where plan.hasAnchor && random.chance(400): try appoint(&random)
    case 12:
      tale.tell("node-\(node) starts anew")
      try nodes[node].restart()
    default:
      let other = (node + 1 + random.below(nodes.count - 1)) % nodes.count
      let (inSteps, limit) = (random.chance(300), random.chance(200) ? random.below(4) : .max)
      tale.tell("node-\(node) hears from node-\(other)\(inSteps ? ", in steps to \(limit)" : "")")
      let sender = nodes[other]
      try withMishap(nodes[node], &random) {
        try $0.pull(from: sender, inSteps: inSteps, limit: inSteps ? limit : .max)
      }
    }
  }

  private mutating func withMishap(
    _ node: SchemaNode, _ random: inout Seeded, _ work: (SchemaNode) throws -> Void
  ) throws {
    guard plan.hasMishaps, random.chance(400) else { return try work(node) }
    if try node.suffer(&random, { try work(node) }) { tale.tell("    which fails") }
  }

  /// A person says which node is the anchor; others hear of that when they meet it.
  private mutating func appoint(_ random: inout Seeded) throws {
    let node = nodes[random.below(nodes.count)]
    // Who has not heard of the last one cannot be told of the next.
    let term = Term(number: UInt64(appointments.count + 1), incarnation: 7)
    let resigns = plan.changesAnchors && !appointments.isEmpty && random.chance(300)
    let isForced = plan.changesAnchors && random.chance(300)
    appointments.append(
      Appointment(term: term, node: resigns ? nil : node.store.node, isForced: isForced))
    tale.tell("\(resigns ? "nobody" : node.name) is appointed\(isForced ? ", at once" : "")")
    try node.hear(appointments)
  }

  private mutating func advance(_ random: inout Seeded) {
    world += Int64(1 + random.below(random.chance(100) ? 60_000 : 500))
    tale.moment = world
    for node in nodes { node.setClock(world) }
  }
}

extension SchemaRun {
  /// A transaction of a program, of one statement or a few.
  private mutating func write(_ index: Int, _ random: inout Seeded, isFolding: Bool) throws {
    let node = nodes[index]
    var program = SchemaProgram(node.schema, edits: edits)
    let statements = (0...random.below(4)).map { _ in program.statement(&random) }
    edits = program.edits
    let connection = node.program
    do {
      try connection.run("BEGIN IMMEDIATE")
    } catch {
      guard error.isBusy else { throw error }
      return
    }
    let before = try node.rowsShown()
    tale.tell("node-\(index) writes:")
    // A row that gets the key of another one, whose ON DELETE SET NULL changes that very row, is
    // missing from its indexes then (seen with 3.40.1): the file is damaged, with us or without.
    let mayDamage = statements.contains { $0.hasPrefix("UPDATE OR REPLACE") }
    for sql in statements {
      do {
        try connection.execute(sql)
        tale.tell("    \(sql)")
      } catch {
        tale.tell("    refused (\(error.message)): \(sql)")
        if error.isCorrupt, mayDamage { return connection.rollBack() }
        guard error.refusesRow else { throw error }
      }
    }
    let after = try node.rowsShown()
    do {
      // What SQLite counts of references that lead to their own table it miscounts now and then.
      guard try connection.rows("PRAGMA foreign_key_check").isEmpty else {
        tale.tell("    all taken back: a reference leads nowhere")
        return connection.rollBack()
      }
      if mayDamage, let damage = try node.damage(seenBy: connection).first {
        tale.tell("    all taken back: \(damage)")
        return connection.rollBack()
      }
      try connection.run("COMMIT")
    } catch {
      guard error.isConstraint else { throw error }
      tale.tell("    all refused: \(error.message)")
      return connection.rollBack()
    }
    trail.add(before: before.mapValues(\.mark), after: after.mapValues(\.mark))
    authors.add(before: before, after: after, at: index, looks: node.looks)
    if isFolding { try node.fold() }
  }

  /// The next migration of one node.
  private mutating func migrate(_ index: Int, _ random: inout Seeded) throws {
    let node = nodes[index]
    guard node.level < migrations.count else { return }
    let migration = migrations[node.level]
    tale.tell("node-\(index) makes migration \(node.level + 1)")
    let isLookedAt = random.chance(500)
    // Which of two is which nobody can tell if they were made anew and then exchange their names.
    if isLookedAt || migration.exchangesTables { try node.foldAll() }
    let before = try node.marks()
    let isSplit = plan.splitsMigrations && migration.isWithoutForeignKeys
    do {
      if isSplit {
        for line in try node.makeInParts(migration, &random) { tale.tell(line) }
      } else {
        try make(migration, on: node.program)
      }
    } catch let error as SQLiteError where error.message.contains("trigger _flotilla_") {
      // A column is to go whose unique index has just gone: once somebody has looked, it may.
      tale.tell("    a second time, for: \(error.message)")
      try node.foldAll()
      try make(migration, on: node.program)
    }
    node.migrated(to: migration.schema)
    // Between the statements of one rows may come to wait.
    if !isSplit { faults += trail.migrated(before: before, after: try node.marks()) }
    // Programs go on at once, before anybody has looked.
    if random.chance(500) { try write(index, &random, isFolding: false) }
    guard !migration.newTables.isEmpty else { return }
    guard plan.makesTwins else {
      return try node.store.track(migration.newTables, rule: nil, at: node.now)
    }
    if node.level == 1, random.chance(500) { try migrate(index, &random) }
    try node.takeIn()
  }

  /// One loses a table, of which another has all that is known.
  private mutating func empty(_ index: Int, _ random: inout Seeded) throws {
    let (node, other) = (nodes[index], nodes[(index + 1) % nodes.count])
    try node.foldAll()
    try other.pull(from: node, inSteps: false)
    let table = random.pick(node.schema.tables)
    tale.tell("\(node.name) loses \(table.name), once \(other.name) has heard everything")
    trail.dropped(table.first, try node.marks())
    try node.empty(table)
    emptied = table.first
  }

  private func make(_ migration: Migration, on connection: Connection) throws {
    if migration.isWithoutForeignKeys { try connection.execute("PRAGMA foreign_keys = OFF") }
    do {
      try connection.transaction { () throws(SQLiteError) in
        for sql in migration.statements { try connection.execute(sql) }
      }
    } catch {
      throw SQLiteError(
        code: error.code, message: "a migration fails: \(error.message)", sql: error.sql)
    }
    try connection.execute("PRAGMA foreign_keys = ON")
  }

  /// All migrate and hear of everything.
  private mutating func end(_ random: inout Seeded) throws {
    if plan.hasAnchor, appointments.isEmpty { try appoint(&random) }
    for index in nodes.indices {
      while nodes[index].level < migrations.count {
        try migrate(index, &random)
        advance(&random)
      }
    }
    try settle(&random)
    if try nameTables() { try settle(&random) }
    if try nameColumns() { try settle(&random) }
    if try repair() { try settle(&random) }
    guard faults.isEmpty, nodes.allSatisfy({ $0.faults.isEmpty }) else { return }
    try compare()
  }

  /// All meet until nothing moves.
  private mutating func settle(_ random: inout Seeded) throws {
    var last: [[String]] = []
    for _ in 0..<(plan.hasAnchor ? 24 : 12) {
      for node in nodes {
        for other in nodes where other !== node { try node.pull(from: other, inSteps: false) }
        advance(&random)
      }
      for node in nodes { try node.foldAll() }
      let state = try nodes.map { try $0.everyRow() + [$0.standing] }
      if state == last { break }
      last = state
      guard faults.isEmpty, nodes.allSatisfy({ $0.faults.isEmpty }) else { return }
    }
  }

  /// Two whose digests differ at one frontier send each other all that they hold, as sessions do;
  /// gives whether any do. Rows that went with a table come again so, and those that were
  /// deleted between a migration and the next look, if no row of the table was left.
  private func repair() throws -> Bool {
    let digests = nodes.map(\.store.position.digest)
    guard digests.contains(where: { $0 != digests[0] }) else { return false }
    for node in nodes {
      for other in nodes where other !== node { try node.repair(from: other) }
    }
    return true
  }

  /// Whether programs alone make versions of rows: no triggers, foreign keys or migrations do.
  private var isPlain: Bool {
    ([first] + migrations.map(\.schema)).allSatisfy { schema in
      schema.tables.allSatisfy { $0.triggers.isEmpty && $0.foreignKeys.isEmpty }
    } && migrations.allSatisfy { !$0.isWithoutForeignKeys && !$0.writesRows }
  }

  /// Whether a migration takes a column away, of which its values are kept.
  private var dropsColumns: Bool {
    let last = Set(nodes[0].schema.tables.flatMap { $0.columns.map(\.number) })
    return ([first] + migrations.map(\.schema)).contains { schema in
      schema.tables.contains { table in
        table.columns.contains { $0.generated == nil && !last.contains($0.number) }
      }
    }
  }

  /// What must hold in the end.
  private mutating func compare() throws {
    let dumps = try nodes.map { try $0.everyRow() }
    for (node, dump) in zip(nodes, dumps).dropFirst() where dump != dumps[0] {
      let missing = dumps[0].filter { !dump.contains($0) }
      let extra = dump.filter { !dumps[0].contains($0) }
      faults.append("\(node.name) lacks \(missing) of node-0 and has \(extra)")
    }
    let digests = nodes.map(\.store.position.digest)
    if digests.contains(where: { $0 != digests[0] }) { faults.append("digests differ") }
    let frontiers = nodes.map(\.store.position.frontier)
    if frontiers.contains(where: { $0 != frontiers[0] }) { faults.append("frontiers differ") }
    var held: (marks: Set<String>, deleted: Set<EditTrail.Row>) = ([], [])
    for node in nodes {
      let own = try node.held()
      held.marks.formUnion(own.marks)
      held.deleted.formUnion(own.deleted)
      let audit = try node.audited()
      if audit.count > 0 || audit.wrongSums > 0 {
        let found = audit.findings.map { "\($0.table) \($0.kind)" }
        faults.append("\(node.name): verify finds \(found) and \(audit.wrongSums) wrong sums")
      }
      // Who migrated first may have edited the row, and passed on what it held before.
      let kept = try node.store.columns.kept()
        .filter { !$0.columns.isEmpty && $0.fate != .inItsForm }
        // A migration of an empty table makes nothing of the values that others have.
        .filter { $0.table != emptied }
      if !kept.isEmpty, !dropsColumns { faults.append("\(node.name): values wait: \(kept)") }
      faults += try node.parkedForNothing().map { "\(node.name): \($0)" }
      if plan.hasAnchor {
        let isJudged = appointments.last?.node != nil
        faults += try node.unjudged(isJudged).map { "\(node.name): \($0)" }
      }
    }
    faults += trail.faults(
      standing: try nodes[0].marks(), held: held.marks, deleted: held.deleted,
      asksForDeletes: isPlain)
    faults += authors.faults(standing: try nodes[0].rowsShown(), columns: steadyColumns)
  }
}
