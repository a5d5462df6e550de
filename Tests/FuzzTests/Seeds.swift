import Network
import Replication

@testable import Flotilla
@testable import Store

/// Inputs to start from: what nodes really say.
extension FuzzTarget {
  var seeds: [[UInt8]] {
    switch self {
    case .frame:
      Seeds.messages.flatMap { [$0.frame + [0], $0.frame + [7]] }
        + [Seeds.messages.prefix(6).flatMap(\.frame) + [0]]
    case .message: Seeds.messages.map { Array($0.frame.dropFirst(4)) }
    case .batch: Seeds.batches
    case .key: Seeds.values.map { [0] + $0 } + Seeds.values.map { [0b0110] + $0 }
    case .packed: Seeds.packed
    case .shelf: Seeds.shelf
    case .session: Seeds.sessions
    case .merge: Seeds.batches.map { Seeds.merge(0, $0, []) } + Seeds.merges
    case .schema: Seeds.schemas.map { $0.flatMap { [UInt8($0.0)] + $0.1.utf8 + [0] } }
    case .sql: Seeds.schemas.flatMap { $0.map { Array($0.1.utf8) } }
    case .control: Seeds.requests.map { Array($0.utf8) }
    case .code: ["0123-4567-89AB-CDEF-GHJK-WW", "k7qf m2xd"].map { Array($0.utf8) }
    case .address:
      ["192.168.1.2:7391", "[fe80::1%eth0]:7391", "::1", "host.name.:80"].map { Array($0.utf8) }
    case .statements: Seeds.statements
    case .appointment: Seeds.appointments
    case .certificate: Seeds.certificates
    case .handshake: Seeds.handshakes
    case .siteKey:
      [Array(SiteKeyText(SigningKey(seed: Array(repeating: 9, count: 32))!).text(site: "s").utf8)]
    case .pem: [Array(SigningKey(seed: Array(repeating: 9, count: 32))!.pem.utf8)]
    case .json: Seeds.json.map { Array($0.utf8) }
    case .query: Seeds.queries.map { Array($0.utf8) }
    case .question: Seeds.questions.map { Array($0.utf8) }
    case .header: Seeds.headers.map { Array($0.utf8) }
    case .txt: [Array("\u{6}v=1\u{4}a=b".utf8), Array("\u{B}k=f9585,aaa\u{0}\u{2}=x".utf8)]
    }
  }
}

enum Seeds {
  static let statement = SignedStatement(
    SiteStatement(
      site: Identity(high: 1, low: 2), issuer: Identity(high: 1, low: 2), previous: .none, time: 5,
      kind: .admit(key: [UInt8](repeating: 3, count: 32), role: .writer)),
    signature: [UInt8](repeating: 4, count: 64))

  static let origins = [Origin(rawValue: 20), Origin(rawValue: 1 << 63)]
  static let frontier = Frontier([origins[0]: 3, origins[1]: 1 << 40])

  private static let view = ClockView(
    wall: 1_800_000_000_000, site: 1_790_000_000_000,
    founding: Founding(reign: 1, source: .person, generation: 300, id: 9), held: 70_000,
    isGood: true)

  static let reach = Reach(
    origin: origins[0], node: Identity(high: 0x0123_4567, low: 20), life: 7, seq: 300, run: 9,
    signature: [UInt8](repeating: 4, count: Reach.signatureLength))

  static var messages: [Message] {
    let node = Identity(high: 0x0123_4567, low: 20)
    return [
      .hello(SessionDriver.hello(node: node)),
      .have(Have(frontier: frontier, frontierHash: 1, rootDigest: 2, resume: frontier)),
      .begin(Begin(.full(covers: frontier), rows: 2)), .rows(number: 1, batches[0]),
      .part(number: 300, [1, 2]),
      .end(End(rows: 2, check: 9)), .pause(End(rows: 300, check: 9)), .ping(sent: 1_000, view),
      .begin(Begin(.push(origin: origins[0], from: 2, to: 3), rows: 1)),
      .begin(Begin(.repair, rows: 1)),
      .pong(echo: -1, ClockView(wall: 1_800_000_000_000, last: 0, estimate: -1)),
      .members([
        Member(node: node, name: "desk", addresses: ["192.168.1.2:7391"], lives: [7, 1 << 63])
      ]),
      .buckets(Buckets(frontierHash: 1, digest: Digest())),
      .join(
        Join(
          name: "laptop", key: [UInt8](repeating: 1, count: 32),
          proof: [UInt8](repeating: 2, count: 64))),
      .offer(Offer(siteName: "site", rows: 3, objects: 1)),
      .admit(
        Admit(
          rootKey: [UInt8](repeating: 3, count: 32), nodeName: "laptop", statements: [statement])),
      .statements([statement]),
      .schema(SchemaObject(kind: .table, name: "t", sql: "CREATE TABLE t(a PRIMARY KEY)")),
      .bye(Bye(.stopping, "the node stops")),
      .begin(Begin(.full(covers: frontier), rows: 2, judged: judged)),
      .begin(Begin(.push(origin: origins[0], from: 2, to: 3), rows: 1, judged: judged)),
      .rows(number: 1, certified),
      .inspect(Inspect(number: 1, buckets: [0, 7, 255])),
      .account(Account(number: 1, .sums(SessionDriver.sums))),
      .account(Account(number: 1, .rows(SessionDriver.accountRows, isLast: true))),
      .account(Account(number: 1, .nothing(.failed))), .describe, .program("0.1.0"), .knock,
      .knocked(.silent), .packed(Packed(size: 602, bytes: Array(packed[0].dropFirst(3)))),
      .reaches(number: 3, [reach]),
      .have(Have(frontier: frontier, frontierHash: 1, rootDigest: 2, testimony: reach)),
    ]
  }

  static let tables = [
    TableShape(name: "t", keyCount: 1, columns: ["id", "v", "n"], affinities: [.integer]),
    TableShape(
      name: "pair", keyCount: 2, columns: ["a", "b"], collations: [.nocase], affinities: [.text]),
    TableShape(
      name: "firm", keyCount: 1, columns: ["k", "r"], collations: [.rtrim], affinities: [.text],
      generation: 1),
    TableShape(name: "secret", keyCount: 1, columns: ["name", "value", "more"]),
    TableShape(name: "_flotilla_table", keyCount: 1, columns: ["name", "rule"]),
  ]

  /// Of other versions of the library these would be other bytes: two are made by hand.
  static let packed: [[UInt8]] = [
    [
      27, 0xDA, 4, 0x28, 0xB5, 0x2F, 0xFD, 0x60, 0x5A, 1, 0x10, 0, 0, 5, 1, 0xC3, 0x12, 0, 0,
    ],
    [27, 4, 0x28, 0xB5, 0x2F, 0xFD, 0x20, 4, 0x21, 0, 0, 4, 1, 0, 0],
    [4, 1] + [UInt8](repeating: 7, count: 600),
  ]

  static func text(_ text: String) -> Value { .text(Array(text.utf8)) }

  static let rows: [(table: Int, content: WireRow.Content)] = [
    (0, .values([.integer(1), text("b"), .integer(5)])),
    (0, .values([.integer(2), text("a"), .null])), (0, .deleted(key: [.integer(1)])),
    (1, .values([text("X"), .real(1)])), (1, .withheld(key: [text("x"), text("y")])),
    (2, .values([text("k  "), .real(0.5)])), (2, .values([text("k"), .blob([0, 1])])),
    (3, .values([text("k"), .null, .integer(-1)])), (4, .values([text("secret"), text("newest")])),
    (4, .deleted(key: [text("T")])),
  ]

  static func batch(_ rows: [(table: Int, content: WireRow.Content)]) -> [UInt8] {
    var writer = RowBatchWriter()
    for (index, row) in rows.enumerated() {
      let dot = Dot(origins[index % 2], UInt64(index + 1))
      let isDeleted = if case .deleted = row.content { true } else { false }
      let version = Version(
        dot: dot, created: index % 3 == 0 ? Dot(origins[0], 1) : dot,
        stamp: Stamp(rawValue: 1 << 61 + Int64(index)), hash: isDeleted ? 0 : 7,
        isDeleted: isDeleted)
      writer.add(tables[row.table], version, row.content)
    }
    return writer.bytes
  }

  static var batches: [[UInt8]] {
    [batch(rows)] + rows.map { batch([$0]) } + [certified] + numbered
  }

  static let judged = Judged(term: Term(number: 1, incarnation: 77), frontier: frontier)

  /// What an anchor says: certificates, with all that can stand beside them, and rulings.
  static var certified: [UInt8] {
    var writer = RowBatchWriter()
    for (index, row) in rows.enumerated() {
      let edit = Dot(origins[1], UInt64(index + 1))
      let isDeleted = if case .deleted = row.content { true } else { false }
      var version = Version(
        dot: edit, created: edit, stamp: Stamp(rawValue: 1 << 61), hash: isDeleted ? 0 : 7,
        isDeleted: isDeleted)
      version.context.add(Dot(origins[0], 1))
      version.session = UInt64(index % 2)
      version.term = judged.term
      if index % 3 > 0 {
        version = version.certified(
          Dot(origins[0], UInt64(index + 5)), term: judged.term, epoch: UInt64(index), at: .zero)
      }
      writer.add(tables[row.table], version, row.content)
    }
    for (index, kind) in [Ruling.Kind.rejected(.offline), .tookOffice, .stoodDown].enumerated() {
      let dot = Dot(origins[0], UInt64(index + 50))
      let version = Version(dot: dot, created: dot, stamp: .zero, hash: 0, isDeleted: false)
      writer.add(
        tables[0], version,
        .ruling(Ruling(kind, edit: Dot(origins[1], 1), rule: "server-wins"), key: [.integer(1)]))
    }
    return writer.bytes
  }

  static func merge(_ flags: UInt8, _ first: [UInt8], _ second: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(flags)
    writer.blob(first)
    writer.raw(second)
    return writer.bytes
  }

  /// Two exchanges of each pair of kinds, some after an edit here.
  static var merges: [[UInt8]] {
    let halves = (batch(Array(rows.prefix(5))), batch(Array(rows.suffix(5))))
    return (UInt8(0)..<32).map { merge($0, halves.0, halves.1) }
      + [merge(0, certified, halves.0), merge(0, halves.1, certified)]
      + numbered.flatMap { first in numbered.map { merge(0, first, $0) } }
  }

  static var values: [[UInt8]] {
    rows.map { row in
      var writer = ByteWriter()
      for value in WireRow(table: 0, version: version, content: row.content).values {
        writer.value(value)
      }
      return writer.bytes
    } + [[0x13, 0xFE, 0x21, 0xBF, 0xE0, 0, 0, 0, 0, 0, 0, 0x30, 0x61, 0, 0xFF, 0]]
  }

  private static let version = Version(
    dot: Dot(origins[0], 1), created: Dot(origins[0], 1), stamp: .zero, hash: 7, isDeleted: false)

  static var shelf: [[UInt8]] {
    [
      Shelf.encode(
        Shelf.Entry(
          why: .table, values: [("id", .integer(1)), ("v", text("b")), ("n", .null)], keyCount: 1))
    ]
  }

  /// Steps of `SessionDriver`: greetings, then exchanges of each kind both ways.
  static let sessions: [[UInt8]] = [
    [140, 1, 20, 145, 0, 0, 0, 3, 0, 2, 9, 1, 147, 148, 5, 149, 154, 30],
    [1, 20, 4, 3, 7, 1, 2, 8, 40, 9, 141, 143, 1, 6, 1, 8, 5, 10, 141],
    [1, 20, 5, 30, 0, 8, 9, 9, 141, 3, 1, 5, 0, 1, 12, 0, 13, 0, 11, 3],
    [2, 14, 157, 15], [1, 20, 4, 0, 1, 1, 9, 7, 0xFF, 0xFF, 3, 7, 9, 8, 5, 9],
    [1, 20, 146, 147, 148, 9, 0x80, 0x80, 8, 152, 149, 150, 1, 3, 4, 151],
    [1, 20, 3, 1, 0, 0, 0, 147, 148, 9, 149], [0, 3, 8, 0x80, 0, 158],
    [
      140, 1, 20, 250, 0, 121, 250, 7, 122, 0, 122, 1, 251, 120, 0, 252, 1, 152, 120, 0, 120, 9,
      253,
    ],
    [140, 1, 20, 124, 0, 255, 1, 255, 0, 124, 1, 124, 3, 255, 0, 124, 2, 0, 124, 0],
  ]

  static let schemas: [[(Int, String)]] = [
    [
      (0, "CREATE TABLE t(id INTEGER PRIMARY KEY, \"v\"\"\" TEXT DEFAULT 'a''b', [n] INT)"),
      (1, "CREATE UNIQUE INDEX i ON t(lower(v), n DESC) WHERE \"n\" > 0x1F AND n <> 1e-9"),
      (2, "CREATE VIEW w AS SELECT * FROM t -- remark\n"),
      (3, "CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT RAISE(IGNORE); END"),
    ],
    [
      (0, "CREATE TABLE p(a TEXT COLLATE NOCASE, b, c AS (a || b) STORED, PRIMARY KEY(a, b))"),
      (0, "CREATE TABLE s(k TEXT PRIMARY KEY /* key */, r REAL NOT NULL DEFAULT -1.5) STRICT"),
      (0, "CREATE TABLE c AS SELECT x'00' AS `a`, 1_000 AS b"),
      (0, "CREATE VIRTUAL TABLE f USING fts5(body)"),
    ],
    [
      (0, "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT UNIQUE, n INT, x DEFAULT 7, y AS (n))"),
      (0, "CREATE TABLE secret(name TEXT PRIMARY KEY, value, more)"),
      (1, "CREATE UNIQUE INDEX i ON t(x)"), (2, "CREATE VIEW w AS SELECT y FROM t"),
      (3, "CREATE TRIGGER g AFTER UPDATE ON t BEGIN DELETE FROM secret; END"),
    ],
    [
      (3, "CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM \u{FEFF}_flotilla_version; END"),
      (2, "CREATE VIEW temp.t AS SELECT 1"), (2, "CREATE VIEW IF NOT EXISTS w AS SELECT 1"),
    ],
  ]

  static let requests = [
    #"{"status":{"all":true}}"#, #"{"sync":{"peer":"desk","milliseconds":30000}}"#,
    #"{"wait":{"target":"a","all":false,"anchor":false,"milliseconds":9223372036854775807}}"#,
    #"{"track":{"tables":["t"],"rule":"newest"}}"#, #"{"rule":{}}"#, #"{"unsent":{}}"#,
    #"{"invite":{"milliseconds":-5,"role":"member"}}"#, #"{"stop":{"isLeaving":false}}"#,
    #"{"yield":{}}"#, "[[[[[[",
    #"{"verify":{"peer":"desk","repairs":true,"milliseconds":30000}}"#,
  ]
}
