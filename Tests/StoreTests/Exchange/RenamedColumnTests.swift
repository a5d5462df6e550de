import Replication
import SQLite
import Testing

@testable import Store

/// A column keeps the name under which the site first knew it: machines that rename it at different
/// times show the same values all along, and nothing is parked or emptied meanwhile.
@Suite struct RenamedColumnTests {
  static let schemas = [
    "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, name TEXT, age INTEGER)",
    "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, age INTEGER)",
    "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, age INTEGER, name TEXT NOT NULL UNIQUE)",
  ]

  /// Ways in which a migration gives `name` its new name.
  static let renames = [
    "ALTER TABLE person RENAME COLUMN name TO full_name",
    """
    BEGIN; CREATE TABLE new__person(id TEXT PRIMARY KEY NOT NULL, age INTEGER, full_name TEXT);
    INSERT INTO new__person SELECT id, age, name FROM person; DROP TABLE person;
    ALTER TABLE new__person RENAME TO person; COMMIT
    """,
    """
    BEGIN; CREATE TABLE new__person(id TEXT PRIMARY KEY NOT NULL,
      full_name TEXT NOT NULL DEFAULT 'nobody' CHECK (length(full_name) < 50), age INTEGER);
    INSERT INTO new__person SELECT id, coalesce(name, 'nobody'), age FROM person; DROP TABLE person;
    ALTER TABLE new__person RENAME TO person; COMMIT
    """,
    """
    BEGIN; ALTER TABLE person ADD COLUMN full_name TEXT; UPDATE person SET full_name = name;
    ALTER TABLE person DROP COLUMN name; COMMIT
    """,
  ]

  private func replicas(_ schema: String, _ count: Int = 2) throws -> [TestReplica] {
    let r = try (1...UInt64(count)).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["person"] : [])
    }
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try r[0].write("INSERT INTO person(id, name, age) VALUES ('a', 'Ann', 1), ('b', 'Bob', 2)")
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    return r
  }

  private func names(_ replica: TestReplica, _ column: String) throws -> [String] {
    try replica.application.prepareRows(
      "SELECT id || coalesce(\(column), '-') || coalesce(age, '-') FROM person ORDER BY id")
  }

  private func settle(_ r: [TestReplica]) throws {
    for _ in 0..<2 {
      for one in r { for other in r where one !== other { try one.pull(from: other) } }
    }
  }

  @Test(arguments: schemas, renames)
  func `edits made in the gap of a rolling rename flow both ways`(
    schema: String, rename: String
  ) throws {
    guard
      !(schema.contains("UNIQUE") || schema.contains("name TEXT NOT NULL"))
        || rename.hasPrefix("ALTER")
    else { return }
    let r = try replicas(schema)
    try r[0].write(rename)
    try r[0].foldAll()
    try r[1].write("INSERT INTO person(id, name) VALUES ('c', 'Cid')")
    try r[1].write("UPDATE person SET name = 'Rob' WHERE id = 'b'")
    try r[0].write("INSERT INTO person(id, full_name) VALUES ('d', 'Dan')")
    try settle(r)
    #expect(try names(r[0], "full_name") == ["aAnn1", "bRob2", "cCid-", "dDan-"])
    #expect(try names(r[1], "name") == ["aAnn1", "bRob2", "cCid-", "dDan-"])
    try r[0].write("UPDATE person SET age = 9 WHERE id IN ('b', 'c')")
    try settle(r)
    #expect(try names(r[1], "name") == ["aAnn1", "bRob9", "cCid9", "dDan-"])
    try r[1].write(rename)
    try settle(r)
    try r[1].write("UPDATE person SET full_name = 'Rick' WHERE id = 'b'")
    try settle(r)
    for replica in r {
      #expect(try names(replica, "full_name") == ["aAnn1", "bRick9", "cCid9", "dDan-"])
      #expect(try replica.store.tableSurvey.parkedRows().isEmpty)
      #expect(try replica.store.columns.kept() == [])
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  /// The one has seen `nick` come and go on as `tag`, the other one `tag` alone.
  @Test(arguments: [0, 1])
  func `two first names of one column become one`(last: Int) throws {
    let r = try replicas(Self.schemas[0])
    let add = "ALTER TABLE person ADD COLUMN nick TEXT"
    let rename = "ALTER TABLE person RENAME COLUMN nick TO tag"
    let again = "ALTER TABLE person RENAME COLUMN tag TO label"
    try r[0].write(add)
    try r[0].foldAll()
    try r[0].write("UPDATE person SET nick = 'A' WHERE id = 'a'")
    try r[0].foldAll()
    try r[1].write("\(add); \(rename)")
    try r[1].foldAll()
    try r[1].write("UPDATE person SET tag = 'B' WHERE id = 'b'")
    try r[1].foldAll()
    r[last].clock += 60_000
    try r[0].write("\(rename); \(again)")
    try r[0].foldAll()
    try r[1].write(again)
    try r[1].foldAll()
    for _ in 1...2 { try settle(r) }
    for replica in r {
      #expect(
        try replica.application.prepareRows("SELECT label FROM person ORDER BY id") == ["A", "B"])
      #expect(try replica.store.columns.kept().flatMap(\.columns) == [])
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  /// Nobody could judge which of two first names a name stands for.
  @Test func `two columns that two machines give one name are in no conflict log`() throws {
    let r = try replicas(
      "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, name TEXT, age INTEGER, nick TEXT)")
    try r[0].write("ALTER TABLE person RENAME COLUMN name TO x")
    try r[0].foldAll()
    try r[1].write("UPDATE person SET nick = id; ALTER TABLE person RENAME COLUMN nick TO x")
    try r[1].foldAll()
    try settle(r)
    for replica in r {
      #expect(try replica.value("SELECT count(*) FROM _flotilla_column") == .integer(1))
      #expect(try replica.store.conflictLog.list(all: true).map(\.table) == [])
    }
  }

  @Test func `a rename makes no new versions, and the site is told of it once`() throws {
    let r = try replicas(Self.schemas[0], 3)
    let frontier = r[0].store.position.frontier
    try r[0].write(Self.renames[0])
    try settle(r)
    let told = r[0].store.position.frontier
    #expect(told[r[0].origin] == frontier[r[0].origin] + 1)
    try r[1].write(Self.renames[0])
    try r[2].write(Self.renames[0])
    try settle(r)
    #expect(r.map(\.store.position.frontier) == [told, told, told])
  }

  @Test func `who joins after the rename gets the values`() throws {
    let r = try replicas(Self.schemas[1])
    try r[0].write(Self.renames[0])
    try r[0].foldAll()
    let late = try TestReplica(
      9,
      schema: "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, full_name TEXT NOT NULL, age)")
    try late.pull(from: r[1])
    // What nobody has told it of yet waits, and comes in place then.
    try late.pull(from: r[0])
    try late.foldAll()
    #expect(try names(late, "full_name") == ["aAnn1", "bBob2"])
    try late.write("UPDATE person SET full_name = 'Al' WHERE id = 'a'")
    try settle(r + [late])
    #expect(try names(r[1], "name") == ["aAl1", "bBob2"])
    #expect(late.store.position.digest == r[1].store.position.digest)
  }

  @Test func `values that waited come in place once somebody says how the column is called`() throws
  {
    let r = try replicas(Self.schemas[1])
    // Nothing tells that this is a rename: the values were changed on the way.
    try r[0].write(
      """
      BEGIN; CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, full_name TEXT DEFAULT '', age INTEGER);
      INSERT INTO p SELECT id, upper(name), age FROM person; DROP TABLE person;
      ALTER TABLE p RENAME TO person; COMMIT
      """)
    try r[0].foldAll()
    try r[1].write("INSERT INTO person(id, name) VALUES ('c', 'Cid')")
    try settle(r)
    #expect(try names(r[0], "full_name") == ["aANN1", "bBOB2", "c-"])
    #expect(
      try r[0].store.columns.kept() == [
        KeptColumns(table: "person", fate: .dropped, columns: ["name"], rows: 1)
      ])
    #expect(throws: StoreError.self) {
      try r[0].store.map("person", "name", to: "nickname", at: r[0].now)
    }
    try r[0].store.map("person", "name", to: "full_name", at: r[0].now)
    try r[0].foldAll()
    #expect(try names(r[0], "full_name") == ["aANN1", "bBOB2", "cCid-"])
    #expect(try r[0].store.columns.kept().flatMap(\.columns) == [])
    try settle(r)
    #expect(try names(r[1], "name") == ["aANN1", "bBOB2", "cCid-"])
    #expect(try r[1].store.tableSurvey.parkedRows().isEmpty)
    #expect(r[0].store.position.digest == r[1].store.position.digest)
    try r[1].write("UPDATE person SET name = 'Zoe' WHERE id = 'a'")
    try settle(r)
    #expect(try names(r[0], "full_name") == ["aZoe1", "bBOB2", "cCid-"])
  }

  @Test(arguments: [0, 1])
  func `a value under each of two names goes into the column that both are`(last: Int) throws {
    let r = try replicas(Self.schemas[0], 3)
    // The values were changed on the way: to this machine `full_name` is another column.
    try r[0].write(
      """
      BEGIN; CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, full_name TEXT, age INTEGER);
      INSERT INTO p SELECT id, upper(name), age FROM person; DROP TABLE person;
      ALTER TABLE p RENAME TO person; COMMIT
      """)
    try r[0].foldAll()
    r[last].clock += 60_000
    try r[0].write("ALTER TABLE person RENAME COLUMN full_name TO label")
    try r[0].foldAll()
    try r[1].write("ALTER TABLE person RENAME COLUMN name TO label")
    try r[1].foldAll()
    r[2].clock += 120_000
    try r[2].foldAll()
    try r[2].write("UPDATE person SET name = 'Rob', age = 3 WHERE id = 'b'")
    try r[2].foldAll()
    // It keeps `name` beside `full_name`, and hands both on with what it says of `label`.
    try r[0].pull(from: r[2])
    try r[1].pull(from: r[0])
    for _ in 1...2 { try settle(r) }
    try r[2].write("ALTER TABLE person RENAME COLUMN name TO label")
    for _ in 1...2 { try settle(r) }
    for replica in r {
      #expect(try names(replica, "label") == ["aANN1", "bRob3"])
      #expect(try replica.store.columns.kept().flatMap(\.columns) == [])
    }
    for other in r[1...] {
      #expect(other.store.position.digest == r[0].store.position.digest)
    }
  }

  /// To the first machine `full_name` is another column than `name`, and it hands on both.
  private func withTwoNames(_ constraint: String = "") throws -> [TestReplica] {
    let r = try replicas(Self.schemas[0], 3)
    try r[0].write(
      """
      BEGIN;
      CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, full_name TEXT \(constraint), age INTEGER);
      INSERT INTO p SELECT id, upper(name), age FROM person; DROP TABLE person;
      ALTER TABLE p RENAME TO person; COMMIT
      """)
    try r[0].foldAll()
    return r
  }

  private func losers(_ r: [TestReplica]) throws -> [String] {
    try r.flatMap { try $0.store.conflictLog.list(all: true) }.compactMap { conflict in
      conflict.loser?.values.compactMap { value in
        if case .text(let bytes) = value.value { return String(decoding: bytes, as: UTF8.self) }
        return nil
      }.joined(separator: " ")
    }
  }

  @Test func `of two values for one column all show that under its later name`() throws {
    let r = try withTwoNames()
    try r[1].write("UPDATE person SET name = 'Rob' WHERE id = 'b'")
    try settle(r)
    try r[0].write("UPDATE person SET full_name = 'Robert' WHERE id = 'b'")
    try settle(r)
    try r[0].store.map("person", "name", to: "full_name", at: r[0].now)
    for _ in 1...2 { try settle(r) }
    for (replica, column) in zip(r, ["full_name", "name", "name"]) {
      #expect(try names(replica, column).last == "bRobert2")
      #expect(replica.store.position.digest == r[0].store.position.digest)
    }
    #expect(try losers(r).contains("b Rob"))
  }

  /// In the machine that hands on both, a column had another name than its first one by then.
  @Test(arguments: [("age", "years", "full_name"), ("full_name", "label", "label")])
  func `so it is beside an earlier rename`(old: String, new: String, column: String) throws {
    let r = try withTwoNames()
    try r[0].write("ALTER TABLE person RENAME COLUMN \(old) TO \(new)")
    try settle(r)
    try r[1].write("UPDATE person SET name = 'Rob'")
    try settle(r)
    try r[0].write("UPDATE person SET \(column) = 'Robert'")
    try settle(r)
    try r[0].store.map("person", "name", to: column, at: r[0].now)
    for _ in 1...2 { try settle(r) }
    for (replica, column) in zip(r, [column, "name", "name"]) {
      let shown = try replica.application.prepareRows("SELECT \(column) FROM person")
      #expect(shown == ["Robert", "Robert"])
      #expect(replica.store.position.digest == r[0].store.position.digest)
    }
    #expect(try losers(r).contains("b Rob"))
  }

  @Test func `what stood for want of a value under a new name gives way to the kept one`() throws {
    let r = try withTwoNames("NOT NULL")
    r[1].clock += 60_000
    try r[1].foldAll()
    try r[1].write("UPDATE person SET name = 'Rob' WHERE id = 'b'")
    try r[1].foldAll()
    try settle(r)
    #expect(try names(r[0], "full_name").last == "bBOB2")
    try r[0].store.map("person", "name", to: "full_name", at: r[0].now)
    for _ in 1...2 { try settle(r) }
    for (replica, column) in zip(r, ["full_name", "name", "name"]) {
      #expect(try names(replica, column).last == "bRob2")
      #expect(replica.store.position.digest == r[0].store.position.digest)
    }
  }

  @Test func `the later name goes in where it is the kept one, and the other into the log`()
    throws
  {
    let r = try withTwoNames()
    try r[0].write("INSERT INTO person VALUES ('c', 'CYD', 3)")
    try settle(r)
    try r[1].write("UPDATE person SET name = 'Cid' WHERE id = 'c'")
    try settle(r)
    try r[0].store.map("person", "name", to: "full_name", at: r[0].now)
    for _ in 1...2 { try settle(r) }
    for (replica, column) in zip(r, ["full_name", "name", "name"]) {
      #expect(try names(replica, column).last == "cCYD3")
      #expect(replica.store.position.digest == r[0].store.position.digest)
    }
    #expect(try losers([r[1]]).contains("c Cid"))
  }

  @Test func `a rename beside another default and a column that a migration fills is recognised`()
    throws
  {
    let r = try replicas(
      "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, name TEXT, age INTEGER DEFAULT 1)")
    try r[0].write(
      """
      BEGIN; CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, full_name TEXT, age INTEGER DEFAULT 7,
        note TEXT NOT NULL);
      INSERT INTO p SELECT id, name, age, '' FROM person; DROP TABLE person;
      ALTER TABLE p RENAME TO person; COMMIT
      """)
    try r[0].foldAll()
    try r[1].write("UPDATE person SET name = 'Rob' WHERE id = 'b'")
    try settle(r)
    #expect(try names(r[0], "full_name") == ["aAnn1", "bRob2"])
    try r[0].write("UPDATE person SET full_name = 'Al' WHERE id = 'a'")
    try settle(r)
    #expect(try names(r[1], "name") == ["aAl1", "bRob2"])
  }

  @Test func `columns that swap their names keep their values elsewhere`() throws {
    let schema = "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, name TEXT, age TEXT)"
    let swap = """
      ALTER TABLE person RENAME COLUMN name TO t; ALTER TABLE person RENAME COLUMN age TO name;
      ALTER TABLE person RENAME COLUMN t TO age
      """
    let r = try replicas(schema)
    try r[0].write(swap)
    try r[0].write("INSERT INTO person(id, name, age) VALUES ('c', '3', 'Cid')")
    try settle(r)
    #expect(try names(r[1], "name") == ["aAnn1", "bBob2", "cCid3"])
    try r[1].write(swap)
    try settle(r)
    #expect(try names(r[1], "name") == ["a1Ann", "b2Bob", "c3Cid"])
    #expect(try r[0].content("person") == r[1].content("person"))
  }

  @Test(arguments: ["TEXT", "TEXT DEFAULT ''"])
  func `a new column under the name that another one had is a new one`(type: String) throws {
    let r = try replicas("CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, name \(type), age)")
    let migration = """
      BEGIN; ALTER TABLE person RENAME COLUMN name TO full_name;
      ALTER TABLE person ADD COLUMN name \(type); COMMIT
      """
    try r[0].write(migration)
    try r[0].foldAll()
    try r[0].write("UPDATE person SET age = 9 WHERE id = 'a'")
    try r[1].write("UPDATE person SET name = 'Rob' WHERE id = 'b'")
    for _ in 1...2 { try settle(r) }
    #expect(try names(r[0], "full_name") == ["aAnn9", "bRob2"])
    #expect(try names(r[1], "name") == ["aAnn9", "bRob2"])
    try r[0].write("UPDATE person SET name = 'nick' WHERE id = 'b'")
    try settle(r)
    try r[1].write(migration)
    for _ in 1...2 { try settle(r) }
    for replica in r {
      #expect(try names(replica, "full_name") == ["aAnn9", "bRob2"])
      #expect(try replica.value("SELECT name FROM person WHERE id = 'b'") == .string("nick"))
      #expect(try replica.content("person") == r[0].content("person"))
      #expect(try replica.store.conflictLog.list(all: true).isEmpty)
      #expect(try replica.store.columns.kept() == [])
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  @Test func `where two columns may be meant, a new one is neither until the site says`() throws {
    let schema = "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, a TEXT, b TEXT)"
    let steps = [
      "ALTER TABLE person RENAME COLUMN b TO d",
      """
      BEGIN; CREATE TABLE p(c TEXT DEFAULT 'x', id TEXT PRIMARY KEY NOT NULL, d TEXT);
      INSERT INTO p SELECT a, id, d FROM person; DROP TABLE person;
      ALTER TABLE p RENAME TO person; COMMIT
      """,
    ]
    let r = try (1...2).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["person"] : [])
    }
    try r[1].pull(from: r[0])
    for step in steps {
      try r[0].write(step)
      try r[0].foldAll()
    }
    // Here nobody has looked in between, and there is no row that could tell.
    for step in steps { try r[1].write(step) }
    try r[1].write("INSERT INTO person VALUES ('cc', '1', 'dd')")
    try settle(r)
    for replica in r {
      #expect(try replica.application.prepareRows("SELECT c || id || d FROM person") == ["cc1dd"])
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  @Test func `a column that is dropped beside one that is added is not renamed`() throws {
    let r = try replicas(
      "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, age INTEGER, name TEXT)")
    try r[0].write("ALTER TABLE person DROP COLUMN name; ALTER TABLE person ADD COLUMN note TEXT")
    try r[0].write("INSERT INTO person(id, note) VALUES ('c', 'new')")
    try settle(r)
    #expect(try names(r[1], "name") == ["aAnn1", "bBob2", "c--"])
    #expect(try r[0].prepareNotes() == ["-", "-", "new"])
  }

  /// It would show the values of the other one.
  @Test func `nor is it where no row tells`() throws {
    let schema = "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, name TEXT, age INTEGER)"
    let r = try (1...2).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["person"] : [])
    }
    try r[1].pull(from: r[0])
    try r[0].write("INSERT INTO person VALUES ('a', 'Ann', 1)")
    try r[1].write("ALTER TABLE person DROP COLUMN name; ALTER TABLE person ADD COLUMN note TEXT")
    try settle(r)
    #expect(try r[1].prepareNotes() == ["-"])
    try r[1].write("UPDATE person SET note = 'new'")
    try settle(r)
    #expect(try names(r[0], "name") == ["aAnn1"])
  }

  @Test func `a column that replaces another one by way of a copy is itself again`() throws {
    let r = try replicas(
      "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, name TEXT, age INTEGER)")
    for replica in r {
      for step in [
        "ALTER TABLE person ADD COLUMN t TEXT; UPDATE person SET t = name",
        "ALTER TABLE person DROP COLUMN name", "ALTER TABLE person RENAME COLUMN t TO name",
      ] {
        try replica.write(step)
        try replica.foldAll()
      }
      try replica.write("UPDATE person SET name = name || '\(replica.origin.rawValue & 7)'")
      try settle(r)
      for other in r { #expect(try names(other, "name") == names(replica, "name")) }
    }
    #expect(try names(r[0], "name") == ["aAnn121", "bBob122"])
  }

  /// It was counted by another name until then.
  @Test func `a column that is itself again keeps its value beside one that waited`() throws {
    let r = try replicas(Self.schemas[0])
    try r[0].write("DELETE FROM person WHERE id = 'a'; ALTER TABLE person ADD COLUMN t TEXT")
    try r[0].foldAll()
    try r[0].write("UPDATE person SET t = upper(name)")
    try r[0].foldAll()
    try r[0].write("ALTER TABLE person DROP COLUMN name")
    try settle(r)
    try r[1].write("UPDATE person SET name = 'Rob'")
    try settle(r)
    try r[0].write("ALTER TABLE person RENAME COLUMN t TO name")
    try settle(r)
    #expect(try names(r[0], "name") == ["bBOB2"])
    #expect(try names(r[1], "name") == ["bRob2"])
    try r[1].write("ALTER TABLE person ADD COLUMN t TEXT")
    try r[1].foldAll()
    try r[1].write("ALTER TABLE person DROP COLUMN name")
    try r[1].foldAll()
    try r[1].write("ALTER TABLE person RENAME COLUMN t TO name")
    try settle(r)
    for replica in r {
      #expect(try names(replica, "name") == ["bBOB2"])
      #expect(replica.store.position.digest == r[0].store.position.digest)
    }
  }
}

/// Random rolling renames: machines rename, make tables anew, write and meet in any order.
@Suite struct RandomRenameTests {
  private static let stages = ["name", "full_name", "display_name"]

  /// One machine: how far it has come with its migrations.
  private struct Machine {
    let replica: TestReplica
    var stage = 0

    var column: String { RandomRenameTests.stages[stage] }

    /// The next migration, as one of several tools would make it.
    mutating func migrate(_ random: inout Seeded, _ constraint: String) throws {
      let (old, new) = (column, RandomRenameTests.stages[stage + 1])
      stage += 1
      if random.chance(50) {
        return try replica.write("ALTER TABLE person RENAME COLUMN \(old) TO \(new)")
      }
      let columns = ["\(new) TEXT \(constraint)", "age INTEGER"].shuffled(using: &random)
      try replica.write(
        """
        BEGIN; CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, \(columns.joined(separator: ", ")));
        INSERT INTO p(id, \(new), age) SELECT id, \(old), age FROM person; DROP TABLE person;
        ALTER TABLE p RENAME TO person; COMMIT
        """)
    }

    func write(_ random: inout Seeded, _ step: Int) throws {
      let id = "'\(random.below(6))'"
      switch random.below(4) {
      case 0:
        try replica.write("INSERT OR IGNORE INTO person(id, \(column)) VALUES (\(id), 'n\(step)')")
      case 1: try replica.write("UPDATE person SET \(column) = 'u\(step)' WHERE id = \(id)")
      case 2: try replica.write("UPDATE person SET age = \(step) WHERE id = \(id)")
      default: try replica.write("DELETE FROM person WHERE id = \(id)")
      }
    }
  }

  @Test(arguments: Seeded.seeds(40))
  func `end with the same values everywhere, none of them lost`(seed: UInt64) throws {
    var random = Seeded(seed)
    let constraint = random.pick(["", "NOT NULL", "NOT NULL DEFAULT 'nobody'"])
    let schema =
      "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, name TEXT \(constraint), age INTEGER)"
    var machines = try (1...3).map {
      Machine(
        replica: try TestReplica(
          $0, schema: schema, tracking: $0 == 1 ? ["person"] : []))
    }
    for machine in machines.dropFirst() {
      try machine.replica.pull(from: machines[0].replica)
      try machine.replica.foldAll()
    }
    try machines[0].replica.write("INSERT INTO person VALUES ('0', 'first', 1)")
    for step in 0..<60 {
      let (one, other) = (random.below(3), random.below(3))
      // Times grow over all machines, so that the latest edit is known.
      for machine in machines { machine.replica.clock = 1_800_000_000_000 + Int64(step) * 1_000 }
      switch random.below(10) {
      case 0 where machines[one].stage < 2: try machines[one].migrate(&random, constraint)
      case 0...4: try machines[one].write(&random, step)
      case 5: try machines[one].replica.foldAll()
      default:
        if one != other { try machines[one].replica.pull(from: machines[other].replica) }
      }
    }
    for index in machines.indices {
      while machines[index].stage < 2 {
        try machines[index].migrate(&random, constraint)
        if random.chance(50) { try machines[index].replica.foldAll() }
      }
    }
    for _ in 0..<3 {
      for one in machines {
        for other in machines where one.replica !== other.replica {
          try one.replica.pull(from: other.replica)
        }
      }
    }
    for machine in machines {
      try machine.replica.foldAll()
      #expect(try machine.replica.content("person") == machines[0].replica.content("person"))
      #expect(try machine.replica.store.tableSurvey.parkedRows().isEmpty)
      #expect(try machine.replica.store.columns.kept().flatMap(\.columns) == [])
      #expect(try machine.replica.value("SELECT 1 FROM person WHERE display_name IS NULL") == .null)
      let digests = [machine.replica, machines[0].replica].map(\.store.position.digest)
      #expect(digests[0] == digests[1])
    }
  }
}

extension TestReplica {
  fileprivate func prepareNotes() throws -> [String] {
    try application.prepareRows("SELECT coalesce(note, '-') FROM person ORDER BY id")
  }
}
