import Replication
import SQLite
import Testing

@testable import Store

/// What a member says of numbers, parents and places does no more harm than what it writes.
@Suite struct HostileKeysTests {
  static let liar = Origin(rawValue: 99)
  static let patient = TableShape(
    name: "patient", keyCount: 1, columns: ["id", "name"], affinities: [.integer])
  static let note = TableShape(
    name: "note", keyCount: 1, columns: ["id", "text"], affinities: [.text])

  /// A row as it would be folded here.
  static func row(
    _ replica: TestReplica, _ shape: TableShape, _ seq: UInt64, _ values: [Replication.Value],
    stamp: Int64? = nil, _ change: (inout Version) -> Void = { _ in }
  ) -> (TableShape, Version, WireRow.Content) {
    var sum = ContentHash()
    for (column, value) in zip(shape.columns, values) where value != .null {
      sum.add(column: ContentHash.column(column), value)
    }
    let dot = Dot(liar, seq)
    var version = Version(
      dot: dot, created: dot,
      stamp: Stamp(millisecondsSince1970: stamp ?? replica.clock + Int64(seq)), hash: sum.value,
      isDeleted: false)
    change(&version)
    return (shape, version, .values(values))
  }

  /// An exchange of the liar with a replica.
  static func send(
    _ rows: [(TableShape, Version, WireRow.Content)], to replica: TestReplica,
    upTo seq: UInt64? = nil, licence: LeafLicence? = nil
  ) throws {
    var writer = RowBatchWriter()
    for row in rows { writer.add(row.0, row.1, row.2) }
    let last = seq ?? rows.map(\.1.dot.seq).max() ?? 0
    var merge = Merge(
      sender: Identity(high: 9, low: 9), kind: .full(covers: Frontier([liar: last])),
      batches: [writer.bytes], rowsBefore: 0, checkBefore: 0,
      end: End(rows: UInt64(rows.count), check: writer.check), movesFrontier: true)
    merge.licence = licence
    _ = try replica.store.merge(merge, at: replica.now)
  }

  static func text(_ text: String) -> Replication.Value { .text(Array(text.utf8)) }

  // MARK: Numbers

  @Test func `one row with the last of all numbers does not end the giving of fresh ones`() throws {
    let replicas = try KeysTests.site(2)
    for replica in replicas {
      let last = Self.row(replica, Self.patient, 1, [.integer(.max), Self.text("Last")])
      try Self.send([last], to: replica)
    }
    for (replica, name) in zip(replicas, ["Ann", "Bob"]) {
      KeysTests.later(replica, than: replicas)
      try replica.write(
        """
        INSERT INTO patient VALUES (2, '\(name)');
        INSERT INTO lab(patient, value) VALUES (2, '\(name)')
        """)
      try replica.foldAll()
    }
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(try replica.value("SELECT id FROM patient WHERE name = 'Ann'") == .integer(2))
      #expect(try replica.value("SELECT id FROM patient WHERE name = 'Bob'") == .integer(3))
      #expect(
        try replica.value(
          "SELECT name FROM patient JOIN lab ON lab.patient = patient.id WHERE value = 'Bob'")
          == .string("Bob"))
    }
  }

  @Test func `AUTOINCREMENT goes on once the row with the last number is deleted`() throws {
    let replica = try TestReplica(
      1, schema: "CREATE TABLE patient(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)",
      tracking: ["patient"])
    try replica.store.setMember(1, of: 2)
    try replica.write("INSERT INTO patient(name) VALUES ('Ann')")
    try replica.foldAll()
    let first = try replica.value("SELECT id FROM patient").integer ?? 0
    try Self.send(
      [Self.row(replica, Self.patient, 1, [.integer(.max), Self.text("Last")])], to: replica)
    #expect(throws: SQLiteError.self) {
      try replica.write("INSERT INTO patient(name) VALUES ('Bob')")
    }
    #expect(try replica.store.tableSurvey.keyHandling(of: ["patient"]).map(\.next) == [nil])
    try replica.write("DELETE FROM patient WHERE name = 'Last'")
    try replica.foldAll()
    try replica.write("INSERT INTO patient(name) VALUES ('Bob')")
    let next = try replica.value("SELECT id FROM patient WHERE name = 'Bob'").integer ?? 0
    #expect(next > first && next < NumberBlocks.limit)
  }

  // MARK: Turns

  /// A turn on a row of a table without numbers, or one later than the row itself: what is deleted
  /// and made again has to stand all the same.
  @Test(arguments: [(note, Stamp.zero), (note, .highest), (patient, .highest)])
  func `a row is made again whatever turn was claimed`(shape: TableShape, turn: Stamp) throws {
    let schema = KeysTests.clinic + "; CREATE TABLE note(id TEXT PRIMARY KEY, text TEXT)"
    let replicas = try KeysTests.site(2, schema: schema, tables: ["patient", "lab", "note"])
    let key: Replication.Value = shape.name == "note" ? Self.text("k") : .integer(7)
    for replica in replicas {
      let claimed = Self.row(
        replica, shape, 1, [key, Self.text("theirs")], stamp: replicas[0].clock
      ) { $0.numbering.turn = turn }
      try Self.send([claimed], to: replica)
    }
    KeysTests.later(replicas[0], than: replicas)
    let (table, column) = (shape.name, shape.columns[1])
    try replicas[0].write("DELETE FROM \(table)")
    try replicas[0].foldAll()
    try replicas[0].write(
      "INSERT INTO \(table) VALUES (\(shape.name == "note" ? "'k'" : "7"), 'ours')")
    try replicas[0].foldAll()
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(try replica.value("SELECT \(column) FROM \(table)") == .string("ours"))
    }
    #expect(replicas[0].store.position.digest == replicas[1].store.position.digest)
  }

  // MARK: Places

  /// The liar says that Ann is now 10, 10 is now 11, 11 is 12, and 12 is 10.
  @Test(arguments: [2, 3, 5, 7]) func `places in a circle move nothing for ever`(length: Int) throws
  {
    let replica = try KeysTests.site(1)[0]
    try replica.write(
      "INSERT INTO patient VALUES (1, 'Ann'); INSERT INTO lab(patient, value) VALUES (1, 'Ann')")
    try replica.foldAll()
    let key = try #require(replica.store.tables.table("patient")?.key([.integer(1)]))
    let table = try #require(replica.store.tables.table("patient"))
    let ann = try #require(try replica.store.versions.version(table: table.id, key: key))
    var seq: UInt64 = 0
    func place(_ number: Int) -> FormerKey {
      let dot = Dot(Self.liar, UInt64(number + 1))
      return FormerKey(key: table.key([.integer(Int64(10 + number))])!, created: dot, edit: dot)
    }
    var rows: [(TableShape, Version, WireRow.Content)] = []
    for number in 0..<length {
      seq += 1
      let values: [Replication.Value] = [.integer(Int64(10 + number)), Self.text("\(number)")]
      rows.append(
        Self.row(replica, Self.patient, seq, values) {
          $0.numbering.turn = .zero
          $0.numbering.former =
            number == 0
            ? [FormerKey(key: key, created: ann.created, edit: ann.edit)] : [place(number - 1)]
        })
    }
    try Self.send(rows, to: replica)
    seq += 1
    try Self.send(
      [
        Self.row(replica, Self.patient, seq, [.integer(10), Self.text("again")]) {
          $0.created = Dot(Self.liar, 1)
          $0.createdAt = rows[0].1.createdAt
          $0.numbering.turn = .zero
          $0.numbering.former = [place(length - 1)]
        }
      ], to: replica)
    try replica.foldAll()
    let before = replica.store.position.frontier[replica.origin]
    for _ in 0..<20 {
      try Self.send([], to: replica, upTo: seq)
      try replica.write("UPDATE lab SET value = value || 'x'")
      try replica.foldAll()
    }
    #expect(replica.store.position.frontier[replica.origin] <= before + 21)
  }

  /// A member that may write `patient` alone says where a row is that somebody else made: others do
  /// not write in `lab` because of that.
  @Test func `a leaf moves no rows but its own`() throws {
    let replica = try KeysTests.site(1)[0]
    try replica.write(
      "INSERT INTO patient VALUES (1, 'Ann'); INSERT INTO lab(patient, value) VALUES (1, 'Ann')")
    try replica.foldAll()
    let table = try #require(replica.store.tables.table("patient"))
    let key = try #require(table.key([.integer(1)]))
    let ann = try #require(try replica.store.versions.version(table: table.id, key: key))
    let licence = LeafLicence(
      origin: Self.liar, rights: Rights(general: .read, tables: ["patient": .write]))
    try Self.send(
      [
        Self.row(replica, Self.patient, 1, [.integer(5), Self.text("Eve")]) {
          $0.numbering.turn = .zero
          $0.numbering.former = [FormerKey(key: key, created: ann.created, edit: ann.edit)]
        }
      ], to: replica, licence: licence)
    try replica.foldAll()
    #expect(try replica.value("SELECT patient FROM lab") == .integer(1))
  }

  // MARK: Many rows

  /// The work is as much as there are rows, not as there are pairs of them.
  @Test(.timeLimit(.minutes(1))) func `many rows lose their numbers at once`() throws {
    let replicas = try KeysTests.site(2)
    for (replica, name) in zip(replicas, ["Ann", "Bob"]) {
      KeysTests.later(replica, than: replicas)
      let numbers = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
      try replica.write(
        """
        \(numbers) INSERT INTO patient SELECT i, '\(name)' || i FROM n;
        \(numbers) INSERT INTO lab SELECT i, i, '\(name)' || i FROM n
        """)
      try replica.foldAll()
    }
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(
        try replica.value(
          """
          SELECT count(*) FROM lab JOIN patient ON patient.id = lab.patient
          WHERE lab.value = patient.name
          """) == .integer(2_000))
    }
  }

  // MARK: Rows kept for others

  @Test func `rows that others lose are kept as far as there is room`() throws {
    let replica = try KeysTests.site(1)[0]
    let count = 3_000
    try replica.write(
      """
      WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO patient SELECT i, 'mine' FROM n
      """)
    try replica.foldAll()
    let long = String(repeating: "x", count: 100)
    for start in stride(from: 1, through: count, by: 1_000) {
      try Self.send(
        (start..<start + 1_000).map { number in
          Self.row(
            replica, Self.patient, UInt64(number), [.integer(Int64(number)), Self.text(long)]
          ) { $0.numbering.turn = .zero }
        }, to: replica)
    }
    let kept = try replica.value("SELECT count(*) FROM _flotilla_moving").integer ?? 0
    #expect(kept == 2_000)
    #expect(
      try replica.value("SELECT count(*) FROM patient WHERE name = 'mine'") == .integer(3_000))
  }

  // MARK: Files and schemas

  @Test func `a file that says what cannot be is opened all the same`() throws {
    let replica = try KeysTests.site(1)[0]
    try replica.write(
      """
      INSERT INTO patient VALUES (1, 'Ann'); INSERT INTO lab(patient, value) VALUES (1, 'Ann');
      """)
    try replica.foldAll()
    try replica.write(
      """
      INSERT INTO _flotilla_former(tbl, key, origin, seq, next, norigin, nseq)
      SELECT tbl, key, origin, -1, key, origin, -5 FROM _flotilla_version;
      INSERT OR REPLACE INTO _flotilla_former(tbl, key, origin, seq, next, norigin, nseq)
      SELECT tbl, key, origin, seq, key, origin, -5 FROM _flotilla_version
      """)
    try replica.reopen()
    let table = try #require(replica.store.tables.table("patient"))
    let key = try #require(table.key([.integer(1)]))
    let version = try #require(try replica.store.versions.version(table: table.id, key: key))
    let place = FormerKeys.Place(table: table.id, key: key, created: version.created)
    let found = try replica.store.moved.whereabouts(place)
    let isMoving = if case .moving = found { true } else { false }
    #expect(isMoving, "it has a place of no edit")
    #expect(try replica.store.kinship.former.before(place).isEmpty)
  }

  /// Many columns of two tables refer to the other one, as `created_by` and `updated_by` do.
  @Test(.timeLimit(.minutes(1)))
  func `tables that refer to each other in many ways are folded at once`() throws {
    func columns(_ table: String) -> String {
      (1...8).map { "r\($0) INTEGER REFERENCES \(table)" }.joined(separator: ", ")
    }
    let replica = try TestReplica(
      1,
      schema: """
        CREATE TABLE a(id INTEGER PRIMARY KEY, \(columns("b")));
        CREATE TABLE b(id INTEGER PRIMARY KEY, \(columns("a")));
        CREATE TABLE c(id INTEGER PRIMARY KEY, a INTEGER REFERENCES a)
        """, tracking: ["a", "b", "c"])
    try replica.write("INSERT INTO a(id) VALUES (1); INSERT INTO b(id, r1) VALUES (1, 1)")
    try replica.foldAll()
    #expect(replica.store.position.frontier[replica.origin] > 0)
  }

  // MARK: Shapes

  /// The first name of a key's column is a part of its shape, and a setting of the site.
  @Test func `names of a key column that change again and again end no node`() throws {
    let replicas = try KeysTests.site(
      2, beginning: "INSERT INTO patient VALUES (1, 'Ann'); INSERT INTO lab VALUES (1, 1, 'Ann')")
    let names = TableShape(
      name: Renames.settings, keyCount: 2, columns: ["tbl", "name", "first"],
      affinities: [.text, .text])
    for number in 1...12 {
      let values = ["patient", "id", "z\(number)"].map(Self.text)
      for replica in replicas {
        let stamp = 1_900_000_000_000 + Int64(number)
        let name = Self.row(replica, names, UInt64(number), values, stamp: stamp)
        try Self.send([name], to: replica)
        try replica.foldAll()
      }
      try replicas[number % 2].write("UPDATE patient SET name = name || \(number)")
      try replicas[number % 2].foldAll()
      try KeysTests.settle(replicas)
    }
    for replica in replicas {
      #expect(try replica.value("SELECT name FROM patient") == .string("Ann123456789101112"))
      #expect(try replica.value("SELECT count(*) FROM lab") == .integer(1))
    }
  }

  @Test func `a migration of a key goes on where invented shapes have taken the room`() throws {
    let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'a')"
    let first = try TestReplica(1, schema: schema, tracking: ["t"])
    let second = try TestReplica(2, schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)")
    try second.pull(from: first)
    for number in 1..<UInt64(Limits.keyShapes) {
      let shape = TableShape(
        name: "t", keyCount: 1, columns: ["k\(number)", "v"], affinities: [.text],
        generation: Limits.generations)
      for replica in [first, second] {
        try Self.send([Self.row(replica, shape, number, [Self.text("k"), .null])], to: replica)
      }
    }
    for replica in [first, second] {
      KeysTests.later(replica, than: [first, second])
      try replica.write(
        """
        CREATE TABLE n(v TEXT PRIMARY KEY, id INTEGER); INSERT INTO n SELECT v, id FROM t;
        DROP TABLE t; ALTER TABLE n RENAME TO t
        """)
      try replica.foldAll()
    }
    try first.write("INSERT INTO t VALUES ('b', 2)")
    try first.foldAll()
    try KeysTests.settle([first, second])
    #expect(try second.content("t") == first.content("t"))
    #expect(try second.value("SELECT count(*) FROM t") == .integer(2))
  }

  @Test func `shapes that two nodes were told differently part nobody`() throws {
    let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)"
    let replicas = try KeysTests.site(2, schema: schema, tables: ["t"])
    let count = UInt64(Limits.keyShapes)
    for (replica, first) in zip(replicas, [1, count]) {
      for number in first..<(first + count - 1) {
        let shape = TableShape(
          name: "t", keyCount: 1, columns: ["k\(number)", "v"], affinities: [.text])
        try Self.send([Self.row(replica, shape, number, [Self.text("k"), .null])], to: replica)
      }
    }
    try replicas[0].write("INSERT INTO t VALUES (1, 'one')")
    try replicas[1].write("INSERT INTO t VALUES (2, 'two')")
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(try replica.application.prepareRows("SELECT v FROM t ORDER BY 1") == ["one", "two"])
    }
  }

  /// A delete that names no column comes before anybody has said what the key is.
  @Test(arguments: [false, true])
  func `a key that no column would store stays with nobody`(isTable: Bool) throws {
    let first = try TestReplica(
      1, schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)", tracking: ["t"])
    let nameless = TableShape(name: "other", keyCount: 1, columns: ["0"])
    let named = TableShape(
      name: "other", keyCount: 1, columns: ["id", "v"], affinities: [.integer])
    let text = Self.text("7")
    func gone(_ version: inout Version) { (version.isDeleted, version.hash) = (true, 0) }
    var row = Self.row(first, nameless, 1, [text], gone)
    row.2 = .deleted(key: [text])
    try Self.send([row], to: first)
    if isTable {
      try first.write("CREATE TABLE other(id INTEGER PRIMARY KEY, v TEXT)")
      try first.store.track(["other"], rule: nil, at: first.now)
    } else {
      try Self.send([Self.row(first, named, 2, [.integer(1), .null])], to: first)
    }
    try first.write("INSERT INTO t VALUES (1, 'one')")
    try first.foldAll()
    let second = try TestReplica(2, schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)")
    try second.pull(from: first)
    #expect(try second.content("t") == first.content("t") && second.content("t").count == 1)
    #expect(try first.audit().wrongSums == 0)
    // Where the key is known by then it is left out.
    try Self.send([row], to: second)
    #expect(second.store.position.digest(.here) == first.store.position.digest(.here))
  }

  /// Each version of one row names other parents, and other places that it never had.
  @Test func `what rows name and nobody has is bounded`() throws {
    let replica = try KeysTests.site(1)[0]
    let most = 2 * Limits.frontierEntries
    var number: UInt64 = 1 << 40
    func dot() -> Dot {
      number += 1
      return Dot(Origin(rawValue: number), 1)
    }
    for batch in 0..<UInt64(6) {
      let rows = (1...UInt64(100)).map { place in
        Self.row(replica, Self.patient, batch * 100 + place, [.integer(7), Self.text("\(place)")]) {
          version in
          version.numbering.parents = (0..<UInt32(Numbering.mostParents)).map {
            ParentRow(link: $0, made: Creation(at: .zero, dot: dot()))
          }
        }
      }
      try Self.send(rows, to: replica)
    }
    let origins = try replica.value("SELECT count(*) FROM _flotilla_origin").integer ?? 0
    #expect(origins > 20_000 && origins <= Int64(most))
    // What comes of those that are known, and names none, goes on.
    let honest = Self.row(replica, Self.patient, 1_000, [.integer(8), Self.text("Ann")])
    try Self.send([honest], to: replica)
    #expect(try replica.value("SELECT name FROM patient WHERE id = 8") == .string("Ann"))
  }

  // MARK: Shapes that lead

  /// A key that no table has.
  private static func invented(_ generation: UInt64) -> TableShape {
    TableShape(
      name: "patient", keyCount: 1, columns: ["k", "name"], affinities: [.text],
      generation: generation)
  }

  /// Two replicas to which a liar has told rows of a key of a far generation.
  private func beside(_ generation: UInt64) throws -> [TestReplica] {
    let schema = "CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT)"
    let replicas = try KeysTests.site(
      2, schema: schema, tables: ["patient"], beginning: "INSERT INTO patient VALUES (1, 'Ann')")
    for replica in replicas {
      try Self.send(
        [Self.row(replica, Self.invented(generation), 1, [Self.text("k"), Self.text("x")])],
        to: replica)
    }
    return replicas
  }

  /// Sums of what each of them holds.
  private func sums(_ replicas: [TestReplica], _ scope: DigestScope) -> [Digest] {
    replicas.map { $0.store.position.digest(scope) }
  }

  @Test(arguments: [1, Limits.generations])
  func `an invented key takes no row out of what two nodes compare`(generation: UInt64) throws {
    let replicas = try beside(generation)
    #expect(sums(replicas, .here)[0] == sums(replicas, .here)[1])
    let keys = replicas.map(\.store.position.keys)
    #expect(keys[0].count == 1 && keys[0] == keys[1] && keys[0].first?.table == 0)
    // One of them has another content of an edit than the other.
    for (replica, name) in zip(replicas, ["one", "two"]) {
      try Self.send(
        [Self.row(replica, Self.patient, 2, [.integer(7), Self.text(name)], stamp: 1_900_000_000)],
        to: replica)
    }
    #expect(replicas[0].store.position.frontier == replicas[1].store.position.frontier)
    #expect(sums(replicas, .here)[0] != sums(replicas, .here)[1])
    for replica in replicas {
      #expect(try replica.audit().digest(.here) == replica.store.position.digest(.here))
      #expect(try replica.audit().wrongSums == 0)
      try replica.store.untrack(["patient"], at: replica.now)
      try replica.foldAll()
      #expect(replica.store.position.digestHere == nil)
    }
  }

  /// Each time peers heard of it in a new connection.
  @Test func `who has two shapes of a key lead by turns changes once what peers hear of keys`()
    throws
  {
    let replica = try KeysTests.site(1)[0]
    var marks: Set<UInt64> = []
    for turn in 1...50 as ClosedRange<UInt64> {
      let rows = [(Self.patient, .integer(Int64(turn))), (Self.invented(1), Self.text("\(turn)"))]
      for (row, place) in zip(rows as [(TableShape, Replication.Value)], [turn * 2 - 1, turn * 2]) {
        let shape = row.0.of(generation: place)
        try Self.send([Self.row(replica, shape, place, [row.1, Self.text("x")])], to: replica)
        marks.insert(replica.store.position.keyMark)
      }
    }
    #expect(marks.count <= 2)
    #expect(replica.store.position.keys.map(\.table).contains(0))
  }

  /// A migration cannot say a higher one then. Two lead by their hashes.
  @Test(arguments: KeyChangeTests.changes, [false, true])
  func `a migration goes on where the highest generation was claimed`(
    change: KeyChangeTests.Change, isOwn: Bool
  ) throws {
    let replicas = try KeyChangeTests.site(2, change)
    let own = try #require(replicas[0].store.tables.table("t")?.keyShape)
    let other = TableShape(name: "t", keyCount: 1, columns: ["k"], affinities: [.text])
    let claimed = isOwn ? TableShape(name: "t", key: own, generation: 0) : other
    let key = own.columns.map { column in
      isOwn && column.affinity == .integer ? Replication.Value.integer(77) : Self.text("77")
    }
    for replica in replicas {
      let shape = claimed.of(generation: Limits.generations)
      var row = Self.row(replica, shape, 1, [])
      (row.1.hash, row.1.isDeleted) = (0, true)
      row.2 = .deleted(key: Array(key.prefix(shape.keyCount)))
      try Self.send([row], to: replica)
    }
    try replicas[0].write(change.migration)
    try KeyChangeTests.set(replicas[0], change.found(4), "first")
    try KeyChangeTests.set(replicas[1], "a = \(change.key(5))", "second")
    for _ in 0..<2 { try replicas[0].exchange(with: replicas[1]) }
    try replicas[1].write(change.migration)
    try KeyChangeTests.settle(replicas)
    #expect(try replicas[0].content("t") == replicas[1].content("t"))
    #expect(sums(replicas, .here)[0] == sums(replicas, .here)[1])
    for replica in replicas {
      #expect(try KeyChangeTests.value(replica, change.found(4)) == "first")
      #expect(try KeyChangeTests.value(replica, change.found(5)) == "second")
    }
  }

  @Test func `sums of what is here are kept, and made where a version before has not`() throws {
    let replica = try beside(9)[0]
    try replica.write("INSERT INTO patient VALUES (2, 'Bob')")
    try replica.foldAll()
    let here = replica.store.position.digest(.here)
    #expect(here != replica.store.position.digest)
    try replica.reopen()
    #expect(replica.store.position.digest(.here) == here)
    // A version before counts on, and does not know of these sums.
    for left in ["bucket < 256", "bucket <> 512", "bucket < 256 OR bucket % 2 = 1"] {
      try replica.write("DELETE FROM _flotilla_digest WHERE NOT (\(left))")
      try replica.reopen()
      #expect(replica.store.position.digest(.here) == here)
      try replica.reopen()
      #expect(replica.store.position.digest(.here) == here)
    }
  }
}
