import Replication

/// Messages and rows to test with: at least one of every kind, and every field at its bounds.
enum Samples {
  static let site = Identity(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)
  static let node = Identity(high: 1, low: 2)
  static let longName = String(repeating: "n", count: Limits.name)

  static func origin(_ number: UInt64) -> Origin { Origin(rawValue: number) }

  static func hello(
    version: UInt64 = Session.versions.upperBound, purpose: Hello.Purpose = .member,
    site: Identity = site, node: Identity = node, name: String = "desk", run: UInt64 = 77,
    clock: Int64 = 1_000,
    port: UInt16 = 7_000
  ) -> Hello {
    Hello(
      version: version, purpose: purpose, site: site, node: node, name: name, run: run,
      clock: clock, port: port, schema: 5)
  }

  static let statement = TestSite().sign(
    .admit(key: PlainNotary.key(1), role: .writer), by: TestSite.root, at: 5)

  static let join = Join(
    name: "laptop", key: PlainNotary.key(1), proof: [UInt8](repeating: 7, count: 64))

  static let admit = Admit(
    rootKey: PlainNotary.key(255), nodeName: "desk-2", statements: [statement])

  static let frontiers = [
    Frontier(), Frontier([origin(1): 1]), Frontier([origin(0): 1, origin(.max): 1 << 62]),
    Frontier([origin(3): 127, origin(4): 128, origin(5): 16_384]),
  ]

  static var stability: StabilityNews {
    let mark = Mark(number: Mark.highest, id: .max)
    return StabilityNews(
      standing: CutStanding(whole: mark, cleared: Mark(number: 1, id: 0), isRenewing: true),
      cut: Cut(
        mark: mark, previous: Mark(number: Mark.highest - 1, id: 5), frontier: frontiers[2]),
      acknowledgements: [
        node: Acknowledgement(
          node: node, mark: mark, last: Dot(origin(.max), 1 << 62),
          signature: [UInt8](repeating: 7, count: 64)),
        site: Acknowledgement(
          node: site, mark: Mark(number: 1, id: 0), last: Dot(origin(0), 0)),
      ],
      floors: Floors([
        0: Floor(term: .none, epoch: 0, stamp: .zero),
        255: Floor(term: Term(number: 1 << 62, incarnation: 1), epoch: 1 << 62, stamp: .highest),
      ]))
  }

  static var digest: Digest {
    Digest(buckets: (0..<256).map { mix(UInt64($0)) })!
  }

  static let accountRows: [AccountRow] = [
    AccountRow(
      table: "Zeilen", key: Key(bytes: [0x14]), state: .live, dot: Dot(origin(1), 1),
      stamp: .zero, hash: 1),
    AccountRow(
      table: "Zeilen", key: Key(bytes: [0x15, 1]), state: .deleted,
      dot: Dot(origin(.max), 1 << 62), stamp: .highest, hash: 0),
    AccountRow(
      table: "zz", key: Key(bytes: []), state: .uncaptured, dot: nil, stamp: .zero, hash: .max),
    AccountRow(
      table: "zz", key: Key(bytes: [0]), state: .missing, dot: Dot(origin(2), 3), stamp: .zero,
      hash: 0),
    AccountRow(
      table: "zz", key: Key(bytes: [0, 0]), state: .changed, dot: Dot(origin(2), 4), stamp: .zero,
      hash: 9),
  ]

  static var accounts: [Message] {
    let sums = Account.Sums(
      frontier: frontiers[3], rows: 1 << 62, uncaptured: 3, apart: 2, shown: .max - 1,
      digest: digest)
    return [
      .inspect(Inspect(number: 1, buckets: [])),
      .inspect(Inspect(number: .max, buckets: Array(0...255))),
      .account(Account(number: 1, .sums(sums))),
      .account(Account(number: .max, .rows(accountRows, isLast: false))),
      .account(Account(number: 2, .rows([], isLast: true))),
      .account(Account(number: 3, .nothing(.notAllowed))),
      .account(Account(number: 4, .nothing(.failed))),
    ]
  }

  /// What can be said about time, the wall clock being that of the `Hello`.
  static var views: [ClockView] {
    let first = Founding(source: .clock, generation: 1, id: 5)
    let last = Founding(reign: Founding.most, source: .person, generation: Founding.most, id: .max)
    return [
      ClockView(wall: 1_000, site: 0, founding: first), ClockView(wall: 1_000, isGood: true),
      ClockView(wall: 1_000, site: -Limits.clock, founding: last, held: Limits.clock, isGood: true),
      ClockView(
        wall: 1_000,
        founding: Founding(source: .memory, generation: 300, id: 0), last: Limits.clock,
        estimate: -Limits.clock),
    ]
  }

  static func reach(_ seq: UInt64) -> Reach {
    Reach(
      origin: origin(seq), node: node, life: .max, seq: seq, run: 0,
      signature: (1...64 as ClosedRange<UInt8>).map(\.self))
  }

  static var messages: [Message] {
    var all: [Message] = [
      .hello(hello()), .hello(hello(version: .max, purpose: .join, name: "", port: 0)),
      .hello(hello(name: longName, run: .max, clock: Limits.clock, port: .max)),
      .hello(hello(site: .none, name: "Büro 漢", clock: -Limits.clock)),
      .begin(Begin(.repair, rows: 0)), .begin(Begin(.repair, rows: .max, number: .max)),
      .begin(Begin(.push(origin: origin(9), from: 0, to: 1), rows: 1)),
      .begin(Begin(.push(origin: origin(.max), from: (1 << 62) - 1, to: 1 << 62), rows: 1)),
      .rows(number: 0, []), .rows(number: .max, batch.bytes), .part(number: 1, []),
      .part(number: 128, [1, 2, 3]),
      .end(End(rows: 0, check: 0)), .end(End(rows: .max, check: .max)),
      .pause(End(rows: 0, check: 0)), .pause(End(rows: 300, check: 0x0102_0304_0506_0708)),
      .members([]),
      .members([
        Member(node: node, name: "desk", addresses: [], lives: [0, .max]),
        Member(
          node: site, name: longName, addresses: Array(repeating: "[fe80::1%2]:7", count: 16),
          lives: Array(1...8)),
      ]),
      .buckets(Buckets(frontierHash: .max, digest: digest)),
      .stability(stability), .stability(StabilityNews(standing: CutStanding())),
      .join(join), .join(Join(name: longName, key: join.key, proof: join.proof)),
      .offer(Offer(siteName: "clinic", rows: .max, objects: 3)), .admit(admit),
      .statements([]), .statements([statement, statement]),
      .schema(SchemaObject(kind: .table, name: "t", sql: "CREATE TABLE t(a PRIMARY KEY)")),
      .schema(SchemaObject(kind: .trigger, name: "", sql: "")), .describe,
      .program("0.1.0"), .program(String(repeating: "~", count: Limits.program)), .knock,
      .knocked(.reached), .knocked(.untried),
      .packed(Packed(size: Limits.frame, bytes: [1, 2, 3])), .packed(Packed(size: 0, bytes: [])),
      .schema(SchemaObject(.entry, of: "alembic_version", [])),
      .schema(
        SchemaObject(
          .entry, of: "migrations",
          [.init(column: "id", value: .integer(.min)), .init(column: "x", value: .null)])),
      .schema(SchemaObject(.number, of: "user_version", [.init(column: "", value: .integer(7))])),
      .reaches(number: 0, [reach(1)]), .reaches(number: .max, [reach(1 << 62), reach(7)]),
      .bye(Bye(.stopping, "stopping")), .bye(Bye(Bye.Code(rawValue: .max), "")),
    ]
    all += accounts
    for view in views {
      var hello = hello()
      hello.view = view
      all += [.hello(hello), .ping(sent: 0, view), .pong(echo: 1, view)]
    }
    for clock in [0, -1, 1, Limits.clock, -Limits.clock] {
      let view = ClockView(wall: -clock, last: clock, estimate: -clock)
      all += [.ping(sent: clock, ClockView(wall: clock)), .pong(echo: clock, view)]
    }
    for frontier in frontiers {
      all.append(.begin(Begin(.full(covers: frontier), rows: 128)))
      for asks in [false, true] {
        all.append(
          .have(
            Have(
              frontier: frontier, frontierHash: frontier.hash, rootDigest: 3,
              resume: frontiers[3], asks: asks, testimony: asks ? reach(128) : nil)))
      }
    }
    return all
  }

  static let notes = TableShape(name: "notes", keyCount: 1, columns: ["id", "text", "done"])
  static let lines = TableShape(name: "Zeilen", keyCount: 2, columns: ["order", "no", "price"])

  /// A batch with rows of every kind.
  static var batch: RowBatchWriter {
    var writer = RowBatchWriter()
    for (shape, version, content) in rows { writer.add(shape, version, content) }
    return writer
  }

  static var rows: [(TableShape, Version, WireRow.Content)] {
    let (a, b) = (Dot(origin(1), 1), Dot(origin(.max), 1 << 62))
    let live = Version(dot: a, created: a, stamp: .zero, hash: 1, isDeleted: false)
    let edited = Version(dot: b, created: a, stamp: .highest, hash: .max, isDeleted: false)
    let gone = Version(dot: b, created: b, stamp: .highest, hash: 0, isDeleted: true)
    return [
      (notes, live, .values([.integer(.min), .null, .integer(.max)])),
      (notes, edited, .values([.text([0x61, 0]), .real(-0.0), .blob([])])),
      (lines, edited, .values([.blob([0, 255]), .real(.infinity), .text([0xFF])])),
      (lines, live, .withheld(key: [.integer(-1), .real(.leastNonzeroMagnitude)])),
      (lines, gone, .deleted(key: [.text([]), .integer(0)])),
    ]
  }
}

extension Message {
  /// The frame without its length, as `FrameBuffer` gives it.
  var body: [UInt8] { Array(frame.dropFirst(4)) }
}
