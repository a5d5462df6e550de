import Replication
import SQLite
import Testing

@testable import Store

/// What a member says of the places of rows, so much of it that a node would not end with it.
@Suite struct HostilePlacesTests {
  static let meant = Dot(HostileKeysTests.liar, 1 << 40)

  /// Sixteen keys under which a row was before, by its number.
  private static func places(of number: Int, above: Int, _ created: Dot) -> [FormerKey] {
    (0..<16).map { (place: Int) -> FormerKey in
      let value: Int64 = Int64(number * 16 + place + above)
      let key = Key([.integer(value)], collations: [])!
      return FormerKey(key: key, created: created, edit: created)
    }
  }

  /// Rows each of which was under 16 other keys before, as one row that was made once.
  private func claim(_ count: Int, of created: Dot, to replica: TestReplica) throws {
    let rows = (1...count).map { number in
      HostileKeysTests.row(
        replica, HostileKeysTests.patient, UInt64(number),
        [.integer(Int64(500_000 + number)), HostileKeysTests.text("x")]
      ) {
        $0.numbering.turn = .zero
        $0.numbering.former = Self.places(of: number, above: 10_000, created)
      }
    }
    try HostileKeysTests.send(rows, to: replica)
  }

  /// The work is as much as there are rows, not as rows times places.
  @Test(.timeLimit(.minutes(1))) func `many rows mean one that was in many places`() throws {
    let (replica, count) = (try KeysTests.site(1)[0], 60)
    try claim(count, of: Self.meant, to: replica)
    #expect(
      try replica.value("SELECT count(*) FROM _flotilla_former") == .integer(Int64(count * 16)))
    let parentage = try replica.store.kinship.parentage(replica.store.tables)
    let lab = try #require(replica.store.tables.table("lab"))
    let link = try #require(parentage.links(of: lab.id).first)
    let shape = TableShape(
      name: "lab", keyCount: 1, columns: ["id", "patient", "value"], affinities: [.integer])
    let rows = (1...400).map { number in
      HostileKeysTests.row(
        replica, shape, UInt64(count + number),
        [.integer(Int64(number)), .integer(10_016), HostileKeysTests.text("x")]
      ) {
        $0.numbering.turn = .zero
        $0.numbering.parents = (0..<16).map {
          ParentRow(
            link: link.id &+ UInt32($0), made: Creation(at: .zero, dot: Self.meant))
        }
      }
    }
    try HostileKeysTests.send(rows, to: replica)
    try replica.foldAll()
    // There is no such patient: they wait.
    #expect(try replica.value("SELECT count(*) FROM _flotilla_shelf") == .integer(400))
  }

  /// All rows are said to be made by one edit, so that each of them was where any of them was.
  @Test(.timeLimit(.minutes(1))) func `many rows say that they are one`() throws {
    let replica = try KeysTests.site(1)[0]
    let rows = (1...200).map { number in
      HostileKeysTests.row(
        replica, HostileKeysTests.patient, UInt64(number),
        [.integer(Int64(500_000 + number)), HostileKeysTests.text("x")]
      ) {
        $0.created = Self.meant
        $0.numbering.turn = .zero
        $0.numbering.former = Self.places(of: number, above: 0, Self.meant)
      }
    }
    try HostileKeysTests.send(rows, to: replica)
    #expect(try replica.value("SELECT count(*) FROM _flotilla_former") == .integer(3_200))
  }

  @Test func `one place is news once`() throws {
    let kinship = try KeysTests.site(1)[0].store.kinship
    let place = FormerKeys.Place(table: 1, key: Key(bytes: [1]), created: Self.meant)
    for _ in 0..<3 { kinship.hear(of: place) }
    #expect(kinship.news == [place])
    kinship.end()
    kinship.hear(of: place)
    #expect(kinship.news == [place])
  }

  /// The liar takes each number that Ann gets, by a row that it dates back or says to be a later
  /// one under that number.
  @Test(.timeLimit(.minutes(1)), arguments: [false, true])
  func `a row that is driven from number to number stays in sight`(isLater: Bool) throws {
    let replicas = try KeysTests.site(2)
    try replicas[0].write(
      "INSERT INTO patient VALUES (1, 'Ann'); INSERT INTO lab(patient, value) VALUES (1, 'Ann')")
    try KeysTests.settle(replicas)
    for claim in 1...Int64(Numbering.mostFormer + 3) {
      let ann = try replicas[0].value("SELECT id FROM patient WHERE name = 'Ann'").integer ?? 0
      KeysTests.later(replicas[1], than: replicas)
      for replica in replicas {
        let row = HostileKeysTests.row(
          replicas[1], HostileKeysTests.patient, UInt64(claim),
          [.integer(ann), HostileKeysTests.text("liar \(claim)")],
          stamp: isLater ? replicas[1].clock : claim
        ) { $0.numbering.turn = isLater ? $0.stamp : .zero }
        try HostileKeysTests.send([row], to: replica)
      }
      try KeysTests.settle(replicas)
      for replica in replicas {
        #expect(try KeysTests.hanging(replica) == ["Ann Ann"], "after \(claim)")
      }
    }
    let all = try replicas.map { try $0.application.prepareRows("SELECT id || name FROM patient") }
    #expect(all[0] == all[1])
    // Those that had its numbers stay, until it has moved as often as it can tell.
    let count = try replicas[0].value("SELECT count(*) FROM patient")
    #expect(count.integer == Int64(Numbering.mostFormer + 1))
    let log = try replicas[0].store.conflicts.list("", [])
    #expect(log.filter { $0.state == .open }.count == (isLater ? 3 : 1))
  }

  /// One row that the liar dates back has Ann leave her number, and all that refers to her.
  @Test(arguments: [false, true])
  func `many rows follow one in slices, also on a file that was closed meanwhile`(
    isClosed: Bool
  ) throws {
    var pace = Pace()
    pace.parkedRows = 10
    let replicas = try KeysTests.site(2, pace: pace)
    try replicas[0].write(
      """
      INSERT INTO patient VALUES (1, 'Ann');
      WITH RECURSIVE i(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM i WHERE x < 95)
      INSERT INTO lab(patient, value) SELECT 1, x FROM i
      """)
    try KeysTests.settle(replicas)
    let claim = HostileKeysTests.row(
      replicas[0], HostileKeysTests.patient, 1, [.integer(1), HostileKeysTests.text("liar")],
      stamp: 1
    ) { $0.numbering.turn = .zero }
    for replica in replicas { try HostileKeysTests.send([claim], to: replica) }
    var (slices, hasMore) = ([UInt64](), true)
    while hasMore, slices.count < 100 {
      if isClosed { try replicas[0].reopen() }
      let last = replicas[0].store.position.frontier[replicas[0].origin]
      hasMore = try replicas[0].store.fold(at: replicas[0].now).hasMore
      slices.append(replicas[0].store.position.frontier[replicas[0].origin] - last)
    }
    #expect(slices.allSatisfy { $0 <= 11 })
    #expect(slices.count { $0 > 0 } >= 8)
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(try KeysTests.hanging(replica).allSatisfy { $0.hasPrefix("Ann") })
      #expect(try KeysTests.hanging(replica).count == 95)
    }
    if isClosed { return }
    #expect(
      try replicas[0].value("SELECT max(rows) FROM _flotilla_rekeyed") == .integer(95))
  }

  /// Two machines have made order 1 with lines of the same keys. What is left after a slice is
  /// known from the tables alone, also that of rows which have no place in theirs.
  @Test(arguments: [false, true], [false, true])
  func `lines of one number follow their order, also on a file that was closed meanwhile`(
    isClosed: Bool, hasAnchor: Bool
  ) throws {
    var pace = Pace()
    pace.parkedRows = 10
    let schema = """
      CREATE TABLE orders(id INTEGER PRIMARY KEY, who TEXT);
      CREATE TABLE line(o INTEGER REFERENCES orders, n INTEGER, who TEXT, PRIMARY KEY(o, n))
      """
    let replicas = try KeysTests.site(2, schema: schema, tables: ["orders", "line"], pace: pace)
    if hasAnchor { try KeysTests.appoint(replicas) }
    for (replica, name) in zip(replicas, ["Ann", "Bob"]) {
      KeysTests.later(replica, than: replicas)
      try replica.write(
        """
        INSERT INTO orders VALUES (1, '\(name)');
        WITH RECURSIVE i(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM i WHERE x < 35)
        INSERT INTO line SELECT 1, x, '\(name)' FROM i
        """)
      try replica.foldAll()
    }
    try replicas[1].pull(from: replicas[0])
    for _ in 0..<100 {
      if isClosed { try replicas[1].reopen() }
      if try !replicas[1].store.fold(at: replicas[1].now).hasMore { break }
    }
    try KeysTests.settle(replicas)
    for replica in replicas {
      let lines = try replica.application.prepareRows(
        """
        SELECT orders.who || count(*) FROM line JOIN orders ON id = o WHERE line.who = orders.who
        GROUP BY o ORDER BY 1
        """)
      #expect(lines == ["Ann35", "Bob35"])
    }
  }
}
