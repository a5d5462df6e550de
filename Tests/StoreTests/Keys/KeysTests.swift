import Replication
import SQLite
import Testing

@testable import Store

/// Rows that refer to each other by numbers which several machines give at the same time.
@Suite struct KeysTests {
  static let clinic = """
    CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE lab(id INTEGER PRIMARY KEY, patient INTEGER REFERENCES patient, value TEXT)
    """

  static var slow: Pace {
    var pace = Pace()
    pace.journalEntries = 4
    return pace
  }

  /// So many replicas of a site; all of them have what the first one begins with.
  static func site(
    _ count: Int, schema: String = clinic, tables: [String] = ["patient", "lab"],
    beginning: String = "", pace: Pace = Pace()
  ) throws -> [TestReplica] {
    let replicas = try (1...count).map {
      try TestReplica(UInt64($0), schema: schema, tracking: $0 == 1 ? tables : [], pace: pace)
    }
    if !beginning.isEmpty { try replicas[0].write(beginning) }
    try replicas[0].foldAll()
    for replica in replicas.dropFirst() { try replica.pull(from: replicas[0]) }
    return replicas
  }

  /// What one does from now on comes after all that others have done.
  static func later(_ replica: TestReplica, than others: [TestReplica]) {
    replica.clock = 1_000 + (others.map(\.clock).max() ?? 0)
  }

  /// The first one is the anchor from now on.
  static func appoint(_ replicas: [TestReplica]) throws {
    let appointment = Appointment(
      term: Term(number: 1, incarnation: 7), node: replicas[0].store.node, isForced: false)
    for replica in replicas {
      let governance = Appointments.governance(of: [appointment], for: replica.store.node)
      if let governance { _ = try replica.store.govern(governance, at: replica.now) }
      try replica.foldAll()
    }
  }

  /// All exchange with all until nothing moves any more.
  static func settle(_ replicas: [TestReplica]) throws {
    for _ in 0..<12 {
      let before = replicas.map { "\($0.store.position.frontier)\($0.store.currentJudged)" }
      for left in replicas.indices {
        for right in replicas.indices where right > left {
          try replicas[left].exchange(with: replicas[right])
          try replicas[left].foldAll()
          try replicas[right].foldAll()
        }
      }
      let after = replicas.map { "\($0.store.position.frontier)\($0.store.currentJudged)" }
      if after == before { return }
    }
    Issue.record("they go on for ever")
  }

  /// Which value hangs under which name.
  static func hanging(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows(
      "SELECT name || ' ' || value FROM lab JOIN patient ON patient.id = lab.patient ORDER BY 1")
  }

  @Test(arguments: [false, true])
  func `two patients of one number, with results`(isReversed: Bool) throws {
    let replicas = try Self.site(2, beginning: "INSERT INTO patient VALUES (1, 'Old')")
    for (replica, name) in zip(replicas, ["Ann", "Bob"]) {
      Self.later(replica, than: replicas)
      try replica.write(
        """
        INSERT INTO patient VALUES (2, '\(name)');
        INSERT INTO lab(patient, value) VALUES (2, '\(name)-1'), (2, '\(name)-2'), (1, '\(name)-3')
        """)
      try replica.foldAll()
    }
    if isReversed {
      try replicas[1].pull(from: replicas[0])
    } else {
      try replicas[0].pull(from: replicas[1])
    }
    try Self.settle(replicas)
    for replica in replicas {
      #expect(
        try Self.hanging(replica) == [
          "Ann Ann-1", "Ann Ann-2", "Bob Bob-1", "Bob Bob-2", "Old Ann-3", "Old Bob-3",
        ])
      #expect(try replica.content("patient") == replicas[0].content("patient"))
      #expect(try replica.content("lab") == replicas[0].content("lab"))
      #expect(try replica.value("SELECT name FROM patient WHERE id = 2") == .string("Ann"))
    }
    let logs = try replicas.map { try $0.store.conflictLog.list(all: true) }
    #expect(logs[0].isEmpty)
    #expect(logs[1].count == 2)
    let patient = try #require(logs[1].first { $0.table == "patient" })
    #expect(patient.state == .rekeyed && patient.reason == "key-collision")
    let rekeyed = try #require(try replicas[1].store.conflicts.rekeyed(patient.id))
    #expect(rekeyed.rows == 2)
    #expect(rekeyed.key.values == [.integer(3)])
  }

  @Test(arguments: [["patient", "lab"], ["lab", "patient"], ["lab"]])
  func `rows follow that came into a table made anew before anybody looked`(
    tables: [String]
  ) throws {
    let replicas = try Self.site(
      2, beginning: "INSERT INTO patient VALUES (1, 'Old'); INSERT INTO lab VALUES (1, 1, 'Old-1')")
    for replica in replicas { try replica.foldAll() }
    for (replica, name) in zip(replicas, ["Ann", "Bob"]) {
      Self.later(replica, than: replicas)
      if name == "Bob" {
        for table in tables {
          let sql = try replica.value(
            "SELECT replace(sql, 'TABLE \(table)', 'TABLE new')"
              + " FROM sqlite_schema WHERE name = '\(table)'"
          )
          try replica.write(
            """
            \(sql.string ?? ""); INSERT INTO new SELECT * FROM \(table); DROP TABLE \(table);
            ALTER TABLE new RENAME TO \(table)
            """)
        }
      }
      try replica.write(
        """
        INSERT INTO patient VALUES (2, '\(name)');
        INSERT INTO lab(patient, value) VALUES (2, '\(name)-1'), (1, '\(name)-2')
        """)
      try replica.foldAll()
    }
    try Self.settle(replicas)
    for replica in replicas {
      let found = try Self.hanging(replica)
      #expect(found == ["Ann Ann-1", "Bob Bob-1", "Old Ann-2", "Old Bob-2", "Old Old-1"])
    }
  }

  @Test func `a row that the anchor certified before it moved goes back, and the log says so`()
    throws
  {
    let replicas = try Self.site(3)
    try Self.appoint(replicas)
    try Self.settle(replicas)
    for (replica, name) in zip(replicas.dropFirst(), ["Ann", "Bob"]) {
      Self.later(replica, than: replicas)
      try replica.write(
        """
        INSERT INTO patient VALUES (2, '\(name)');
        INSERT INTO lab(patient, value) VALUES (2, '\(name)-1')
        """
      )
      try replica.foldAll()
    }
    try replicas[0].pull(from: replicas[2])
    try replicas[0].foldAll()
    try replicas[1].exchange(with: replicas[2])
    #expect(try replicas[2].value("SELECT id FROM patient WHERE name = 'Bob'") == .integer(3))
    try Self.settle(replicas)
    for replica in replicas {
      #expect(try Self.hanging(replica) == ["Ann Ann-1", "Bob Bob-1"])
      #expect(try replica.value("SELECT id FROM patient WHERE name = 'Bob'") == .integer(2))
    }
    let log = try replicas[2].store.conflictLog.list(all: true).filter { $0.table == "patient" }
    #expect(log.map(\.state) == [.restored])
  }

  @Test(arguments: [false, true])
  func `beside an anchor nothing is rejected for its number`(meetsFirst: Bool) throws {
    let replicas = try Self.site(3)
    try Self.appoint(replicas)
    try Self.settle(replicas)
    for (replica, name) in zip(replicas.dropFirst(), ["Ann", "Bob"]) {
      Self.later(replica, than: replicas)
      try replica.write(
        """
        INSERT INTO patient VALUES (2, '\(name)');
        INSERT INTO lab(patient, value) VALUES (2, '\(name)-1'), (2, '\(name)-2')
        """)
      try replica.foldAll()
    }
    if meetsFirst {
      try replicas[1].exchange(with: replicas[2])
    } else {
      try replicas[0].pull(from: replicas[2])
      try replicas[0].foldAll()
    }
    try Self.settle(replicas)
    for replica in replicas {
      #expect(try Self.hanging(replica) == ["Ann Ann-1", "Ann Ann-2", "Bob Bob-1", "Bob Bob-2"])
      #expect(try replica.content("patient") == replicas[0].content("patient"))
      #expect(try replica.content("lab") == replicas[0].content("lab"))
      let open = try replica.store.conflictLog.list(all: true).filter { $0.state == .open }
      #expect(open.isEmpty, "\(replica.store.nodeName): \(open)")
      #expect(replica.store.pending.count == 0)
    }
  }

  /// Ann has number 2 on the first machine and, later, Bob on the second; the third knows Bob.
  private static func annAndBob(
    schema: String = clinic, tables: [String] = ["patient", "lab"], beginning: String = ""
  ) throws -> [TestReplica] {
    let replicas = try site(3, schema: schema, tables: tables, beginning: beginning)
    try replicas[0].write("INSERT INTO patient(id, name) VALUES (2, 'Ann')")
    try replicas[0].foldAll()
    later(replicas[1], than: replicas)
    try replicas[1].write("INSERT INTO patient(id, name) VALUES (2, 'Bob')")
    try replicas[1].foldAll()
    try replicas[2].pull(from: replicas[1])
    return replicas
  }

  @Test func `a result that a third one hung under the patient follows`() throws {
    let replicas = try Self.annAndBob()
    try replicas[2].write("INSERT INTO lab(id, patient, value) VALUES (7, 2, 'late')")
    try replicas[2].foldAll()
    try replicas[2].pull(from: replicas[0])
    // Until it is known where Bob is now the result is not shown under Ann.
    #expect(try Self.hanging(replicas[2]).isEmpty)
    try replicas[0].pull(from: replicas[2])
    #expect(try Self.hanging(replicas[0]).isEmpty)
    try Self.settle(replicas)
    for replica in replicas { #expect(try Self.hanging(replica) == ["Bob late"]) }
  }

  @Test func `a number is not taken from a row that waits`() throws {
    let replicas = try Self.annAndBob()
    try replicas[2].write("INSERT INTO lab(patient, value) VALUES (2, 'first')")
    try replicas[2].foldAll()
    try replicas[2].pull(from: replicas[0])
    #expect(try Self.hanging(replicas[2]).isEmpty)
    // SQLite gives the number of the result again: it is in no table.
    try replicas[2].write(
      "INSERT INTO lab(patient, value) VALUES (2, 'second'), (NULL, 'third')")
    try replicas[2].foldAll()
    try Self.settle(replicas)
    for replica in replicas {
      #expect(try Self.hanging(replica) == ["Ann second", "Bob first"])
      #expect(try replica.value("SELECT count(*) FROM lab") == .integer(3))
    }
  }

  @Test func `what somebody else wrote in the row that moves is written there`() throws {
    let replicas = try Self.annAndBob()
    try replicas[2].write("UPDATE patient SET name = 'Bobby' WHERE id = 2")
    try replicas[2].foldAll()
    try replicas[1].pull(from: replicas[0])
    try replicas[2].pull(from: replicas[1])
    try Self.settle(replicas)
    for replica in replicas {
      #expect(
        try replica.application.prepareRows("SELECT name FROM patient ORDER BY id") == [
          "Ann", "Bobby",
        ])
    }
  }

  @Test func `what somebody else wrote in the row that moves means what it meant`() throws {
    let replicas = try Self.annAndBob(
      schema: """
        CREATE TABLE ward(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT, ward INTEGER REFERENCES ward)
        """,
      tables: ["ward", "patient"], beginning: "INSERT INTO ward VALUES (1, 'east'), (2, 'west')")
    try replicas[1].write("UPDATE patient SET ward = 1 WHERE name = 'Bob'")
    try replicas[1].foldAll()
    try replicas[2].pull(from: replicas[1])
    try replicas[2].write("UPDATE patient SET ward = 2 WHERE name = 'Bob'")
    try replicas[2].foldAll()
    try replicas[1].pull(from: replicas[0])
    try replicas[2].pull(from: replicas[1])
    try Self.settle(replicas)
    for replica in replicas {
      #expect(
        try replica.application.prepareRows("SELECT name || ' ' || ward FROM patient WHERE id > 2")
          == [
            "Bob 2"
          ])
    }
  }

  /// With foreign keys off, which is how SQLite begins. An anchor that hears of the delete alone
  /// does not take it.
  @Test(arguments: [(false, false), (true, false), (false, true)])
  func `a table that a program empties and fills again keeps its children`(
    isLookedAt: Bool, hasAnchor: Bool
  ) throws {
    let replicas = try Self.site(
      3,
      beginning: """
        INSERT INTO patient VALUES (1, 'Ann'), (2, 'Bob');
        INSERT INTO lab(patient, value) VALUES (1, 'a'), (2, 'b')
        """)
    if hasAnchor { try Self.appoint(replicas) }
    try Self.settle(replicas)
    Self.later(replicas[1], than: replicas)
    try replicas[1].write("DELETE FROM patient")
    if isLookedAt {
      try replicas[1].foldAll()
      try Self.settle(replicas)
    }
    try replicas[1].write("INSERT INTO patient VALUES (2, 'Bob Lee'), (1, 'Ann Lee')")
    try replicas[1].foldAll()
    try Self.settle(replicas)
    for replica in replicas { #expect(try Self.hanging(replica) == ["Ann Lee a", "Bob Lee b"]) }
  }

  @Test func `a result of a deleted patient does not hang under the next one of the number`() throws
  {
    let replicas = try Self.annAndBob()
    try replicas[2].write("INSERT INTO lab(patient, value) VALUES (2, 'of Bob')")
    try replicas[2].foldAll()
    try replicas[1].write("DELETE FROM patient WHERE id = 2")
    try replicas[1].foldAll()
    try replicas[1].write("INSERT INTO patient VALUES (2, 'Cid')")
    try replicas[1].foldAll()
    try replicas[1].exchange(with: replicas[2])
    for replica in replicas.dropFirst() {
      #expect(try Self.hanging(replica) == [])
      #expect(try replica.store.tableSurvey.parkedRows().map(\.table) == ["lab"])
    }
  }

  @Test func `equal rows are one row, and their children hang under it`() throws {
    let replicas = try Self.site(2)
    for (number, replica) in replicas.enumerated() {
      try replica.write(
        """
        INSERT INTO patient VALUES (2, 'Same');
        INSERT INTO lab(id, patient, value) VALUES (\(number + 1), 2, 'v\(number)'), (9, 2, 'same')
        """)
      try replica.foldAll()
    }
    try Self.settle(replicas)
    for replica in replicas {
      #expect(try Self.hanging(replica) == ["Same same", "Same v0", "Same v1"])
      #expect(try replica.store.conflictLog.list(all: true).isEmpty)
    }
  }

  @Test func `the one that stands does so if its maker has left for good`() throws {
    let replicas = try Self.site(3)
    try replicas[0].write("INSERT INTO patient VALUES (2, 'Ann')")
    try replicas[0].foldAll()
    Self.later(replicas[1], than: replicas)
    try replicas[1].write(
      "INSERT INTO patient VALUES (2, 'Bob'); INSERT INTO lab VALUES (1, 2, 'Bob-1')")
    try replicas[1].foldAll()
    try replicas[2].pull(from: replicas[1])
    try replicas[2].write("INSERT INTO lab VALUES (2, 2, 'Bob-2')")
    let left = Array([replicas[0], replicas[2]])
    for replica in left {
      replica.store.departed = [replicas[1].origin]
      replica.store.kinship.gone = [replicas[1].origin]
    }
    try Self.settle(left)
    for replica in left {
      #expect(try Self.hanging(replica) == ["Bob Bob-1", "Bob Bob-2"])
      #expect(
        try replica.application.prepareRows("SELECT name FROM patient ORDER BY id") == [
          "Ann", "Bob",
        ])
    }
  }

  /// The others hear of it before they get its row, or afterwards.
  @Test(arguments: [false, true])
  func `what a revoked member has lost is in the log, and nobody makes it again`(
    isKnown: Bool
  ) throws {
    let replicas = try Self.site(3)
    try replicas[0].write("INSERT INTO patient VALUES (2, 'Ann')")
    try replicas[0].foldAll()
    Self.later(replicas[1], than: replicas)
    try replicas[1].write("INSERT INTO patient VALUES (2, 'Bob')")
    try replicas[1].foldAll()
    let left = [replicas[0], replicas[2]]
    if !isKnown {
      try replicas[0].pull(from: replicas[1])
      #expect(replicas[0].store.kinship.moving.count == 1)
    }
    for replica in left {
      replica.store.departed = [replicas[1].origin]
      (replica.store.left, replica.store.revoked) = ([replicas[1].origin], [replicas[1].origin])
    }
    if isKnown { try replicas[0].pull(from: replicas[1]) }
    try replicas[2].write("INSERT INTO patient VALUES (9, 'Eve')")
    try Self.settle(left)
    for replica in left {
      #expect(
        try replica.application.prepareRows("SELECT name FROM patient ORDER BY id") == [
          "Ann", "Eve",
        ])
    }
    #expect(replicas[0].store.kinship.moving.count == 0)
    let log = try replicas[0].store.conflicts.list("WHERE state = 'open'", [])
    #expect(log.map(\.reason) == [isKnown ? "unseen" : Reason.keyCollision.name])
  }

  @Test func `a long journal is folded from its end, and children know their parents`() throws {
    let schema = Self.clinic
    let replicas = try (1...2).map {
      try TestReplica(
        $0, schema: schema, tracking: $0 == 1 ? ["patient", "lab"] : [],
        pace: KeysTests.slow)
    }
    try replicas[1].pull(from: replicas[0])
    for (replica, name) in zip(replicas, ["Ann", "Bob"]) {
      try replica.write("INSERT INTO patient VALUES (2, '\(name)')")
      for number in 0..<9 {
        try replica.write("INSERT INTO lab(patient, value) VALUES (2, '\(name)-\(number)')")
      }
      try replica.foldAll()
    }
    try Self.settle(replicas)
    for replica in replicas {
      let wrong = try replica.application.prepareRows(
        "SELECT name || value FROM lab JOIN patient ON patient.id = lab.patient "
          + "WHERE value NOT LIKE name || '-%'")
      #expect(wrong.isEmpty)
      #expect(try replica.value("SELECT count(*) FROM lab") == .integer(18))
    }
  }
}
