import Testing

@testable import Store

/// One migration on two machines makes a table, and both write into it before the site tracks it.
@Suite struct NewParentTests {
  private static let schema = """
    CREATE TABLE visit(id TEXT PRIMARY KEY, note TEXT);
    """
  private static let doctors = """
    CREATE TABLE doctor(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE room(id INTEGER PRIMARY KEY, doctor INTEGER REFERENCES doctor(id));
    ALTER TABLE visit ADD COLUMN doctor INTEGER REFERENCES doctor(id);
    """

  private func site() throws -> [TestReplica] {
    let r = [
      try TestReplica(1, schema: Self.schema, isJoining: false),
      try TestReplica(2, schema: Self.schema, isJoining: false),
    ]
    try r[0].store.track(["visit"], rule: nil, takesNew: true, at: r[0].now)
    try r[0].write("INSERT INTO visit(id) VALUES ('a'), ('b')")
    try r[0].foldAll()
    try r[1].pull(from: r[0])
    return r
  }

  private func migrate(_ replica: TestReplica, _ name: String, visit: String) throws {
    try replica.write(
      """
      \(Self.doctors)
      INSERT INTO doctor(id, name) VALUES (1, '\(name)');
      INSERT INTO room VALUES (1, 1);
      UPDATE visit SET doctor = 1 WHERE id = '\(visit)'
      """)
    try replica.foldAll()
  }

  private func check(_ r: [TestReplica]) throws {
    for (first, second) in [(0, 1), (1, 0), (0, 1), (1, 0)] {
      try r[first].pull(from: r[second])
      try r[first].foldAll()
    }
    for replica in r {
      let visits = try replica.prepareRows(
        "SELECT v.id || ' ' || d.name FROM visit v JOIN doctor d ON d.id = v.doctor ORDER BY v.id")
      #expect(visits == ["a Ann", "b Bob"])
      let rooms = try replica.prepareRows(
        "SELECT d.name FROM room r JOIN doctor d ON d.id = r.doctor ORDER BY d.name")
      #expect(rooms == ["Ann", "Bob"])
    }
  }

  @Test func `each child stays under its parent where one of them tracks the table first`() throws {
    let r = try site()
    try migrate(r[0], "Ann", visit: "a")
    try migrate(r[1], "Bob", visit: "b")
    try r[0].store.track(["doctor", "room"], rule: nil, at: r[0].now)
    try r[0].foldAll()
    try check(r)
  }

  @Test func `and where the other one migrates after it has got the rows`() throws {
    let r = try site()
    try migrate(r[0], "Ann", visit: "a")
    try r[0].store.track(["doctor", "room"], rule: nil, at: r[0].now)
    try r[0].foldAll()
    try r[1].pull(from: r[0])
    try migrate(r[1], "Bob", visit: "b")
    try check(r)
  }

  @Test func `and where both track it before they meet`() throws {
    let r = try site()
    for (replica, name, visit) in [(r[0], "Ann", "a"), (r[1], "Bob", "b")] {
      try migrate(replica, name, visit: visit)
      try replica.store.track(["doctor", "room"], rule: nil, at: replica.now)
      try replica.foldAll()
    }
    try check(r)
  }

  /// The table existed before. Its rows refer to nothing that the site knows when they are made.
  @Test func `rows that refer to a table which nobody tracks yet are two`() throws {
    let schema = "CREATE TABLE visit(id INTEGER PRIMARY KEY, note TEXT);"
    let r = try [1, 2].map { try TestReplica($0, schema: schema, isJoining: false) }
    try r[0].store.track(["visit"], rule: nil, takesNew: true, at: r[0].now)
    try r[0].foldAll()
    try r[1].pull(from: r[0])
    for (replica, name) in [(r[0], "Ann"), (r[1], "Bob")] {
      try replica.write(
        """
        CREATE TABLE doctor(id INTEGER PRIMARY KEY, name TEXT);
        ALTER TABLE visit ADD COLUMN doctor INTEGER REFERENCES doctor(id);
        INSERT INTO doctor VALUES (1, '\(name)');
        INSERT INTO visit VALUES (1, 'to \(name)', 1)
        """)
      try replica.foldAll()
      try replica.store.track(["doctor"], rule: nil, at: replica.now)
      try replica.foldAll()
    }
    for _ in 1...3 { try r[0].exchange(with: r[1]) }
    for replica in r {
      let visits = try replica.prepareRows(
        "SELECT note || ', ' || name FROM visit v JOIN doctor d ON d.id = v.doctor ORDER BY 1")
      #expect(visits == ["to Ann, Ann", "to Bob, Bob"])
      let reasons = try replica.prepareRows("SELECT DISTINCT reason FROM _flotilla_conflict")
      #expect(reasons == [] || reasons == ["key-collision"])
    }
  }
}
