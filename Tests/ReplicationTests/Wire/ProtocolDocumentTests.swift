import Foundation
import Replication
import Testing

/// The example in docs/protocol.md is what this code sends, byte for byte.
@Suite struct ProtocolDocumentTests {
  static let site = Identity(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)
  static let desk = Identity(high: 0xDE, low: 0x5C)
  static let laptop = Identity(high: 0x1A, low: 0xB7)
  static let origin = Origin(rawValue: 0xA1)
  /// 2026-01-01T00:00:00Z.
  static let moment: Int64 = 1_767_225_600_000

  static func hello(
    _ node: Identity, _ name: String, run: UInt64, clock: Int64, _ view: ClockView? = nil
  ) -> Message {
    .hello(
      Hello(
        version: 5, purpose: .member, site: site, node: node, name: name, run: run, clock: clock,
        port: 7_000, schema: 0x5C, view: view))
  }

  /// What `desk` says, who has founded the site's time a minute ago; its clock is right.
  static func view(at moment: Int64) -> ClockView {
    ClockView(
      wall: moment, site: moment, founding: Founding(source: .clock, generation: 1, id: 0xF0),
      held: 60_000)
  }

  /// Two rows: one written, one deleted.
  static var batch: RowBatchWriter {
    let shape = TableShape(
      name: "notes", keyCount: 1, columns: ["id", "text"], affinities: [.integer])
    let values: [Value] = [.integer(1), .text(Array("Hi".utf8))]
    var hash = ContentHash()
    for (column, value) in zip(shape.columns, values) {
      hash.add(column: ContentHash.column(column), value)
    }
    let stamp = Stamp(millisecondsSince1970: moment)
    let (first, second) = (Dot(origin, 1), Dot(origin, 3))
    var writer = RowBatchWriter()
    writer.add(
      shape,
      Version(dot: first, created: first, stamp: stamp, hash: hash.value, isDeleted: false),
      .values(values))
    writer.add(
      shape,
      Version(
        dot: second, created: Dot(origin, 2), createdAt: stamp, stamp: stamp.successor, hash: 0,
        isDeleted: true),
      .deleted(key: [.integer(2)]))
    return writer
  }

  static var digest: Digest {
    var digest = Digest()
    guard let read = try? RowBatch(bytes: batch.bytes) else { return digest }
    for row in read.rows {
      guard let key = Key([row.values[0]], collations: []) else { continue }
      digest.replace(table: tableSeed("notes"), key: key, old: nil, new: row.version)
    }
    return digest
  }

  static var messages: [(name: String, message: Message)] {
    let (empty, held) = (Frontier(), Frontier([origin: 3]))
    return [
      ("hello-desk", hello(desk, "desk", run: 1, clock: moment, view(at: moment))),
      ("hello-laptop", hello(laptop, "laptop", run: 2, clock: moment + 5)),
      ("ping", .ping(sent: 1_000, ClockView(wall: moment + 5))),
      ("pong", .pong(echo: 1_000, view(at: moment + 1))),
      (
        "have-laptop",
        .have(Have(frontier: empty, frontierHash: empty.hash, rootDigest: Digest().root))
      ),
      ("begin", .begin(Begin(.full(covers: held), rows: 2))),
      ("rows", .rows(number: 1, batch.bytes)),
      (
        "end",
        .end(
          End(
            rows: UInt64(batch.rowCount),
            check: Begin.Kind.full(covers: held).check(number: 1) &+ batch.check))
      ),
      (
        "have-after",
        .have(Have(frontier: held, frontierHash: held.hash, rootDigest: digest.root))
      ),
      ("describe", .describe),
      (
        "offer", .offer(Offer(siteName: "home", rows: 1, objects: 1))
      ),
      (
        "schema",
        .schema(
          SchemaObject(
            kind: .table, name: "notes",
            sql: "CREATE TABLE notes(id INTEGER PRIMARY KEY, text)"))
      ),
      ("inspect", .inspect(Inspect(number: 2, buckets: [213]))), ("account", account),
      ("program", .program("0.1.0")), ("knock", .knock), ("knocked", .knocked(.reached)),
      ("packed", .packed(Packed(size: 602, bytes: packed))),
      ("bye", .bye(Bye(.stopping, "desk stops"))),
    ]
  }

  /// A Part of 600 zeros: two bytes as they are, and one that stands for the others.
  static let packed: [UInt8] = [
    0x28, 0xB5, 0x2F, 0xFD, 0x60, 0x5A, 0x01, 0x10, 0, 0, 5, 1, 0xC3, 0x12, 0, 0,
  ]

  /// The first row, as it is told to who asks for it.
  static var account: Message {
    let row = (try? RowBatch(bytes: batch.bytes))?.rows.first
    guard let row, let key = Key([.integer(1)], collations: []) else {
      return .bye(Bye(.other, "no row"))
    }
    let version = row.version
    let told = AccountRow(
      table: "notes", key: key, state: .live, dot: version.dot, stamp: version.stamp,
      hash: version.hash)
    return .account(Account(number: 2, .rows([told], isLast: true)))
  }

  /// The blocks of the document: "```hex NAME", lines of bytes, each with a remark after "#".
  static func blocks() throws -> [String: [UInt8]] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
    let text = try String(contentsOf: root.appending(path: "docs/protocol.md"), encoding: .utf8)
    var (blocks, name) = ([String: [UInt8]](), String?.none)
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```hex ") {
        name = String(line.dropFirst(7))
      } else if line.hasPrefix("```") {
        name = nil
      } else if let name {
        let digits = line.prefix { $0 != "#" }.split(separator: " ")
        blocks[name, default: []] += digits.map { UInt8($0, radix: 16) ?? 0 }
      }
    }
    return blocks
  }

  @Test func `the example of the document is what is sent`() throws {
    let blocks = try Self.blocks()
    #expect(Set(blocks.keys) == Set(Self.messages.map(\.name)))
    for (name, message) in Self.messages {
      let block = blocks[name] ?? []
      #expect(block == message.frame, "\(name): \(Self.hex(message.frame))")
      var buffer = FrameBuffer()
      buffer.append(block)
      let frame = try #require(try buffer.next())
      #expect(try Message(frame: frame) == message)
    }
  }

  static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
      .joined(separator: " ")
  }

  /// The values by which another implementation checks its functions.
  @Test func `the test values of the document hold`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
    let text = try String(contentsOf: root.appending(path: "docs/protocol.md"), encoding: .utf8)
    let version = try #require(try RowBatch(bytes: Self.batch.bytes).rows.first?.version)
    let key = try #require(
      Key(
        [.integer(-1), .real(0.5), .text(Array("a\0B".utf8))],
        collations: [.binary, .binary, .nocase]))
    var digest = Digest()
    let one = try #require(Key([.integer(1)], collations: []))
    digest.replace(table: tableSeed("notes"), key: one, old: nil, new: version)
    let code = InviteCode(random: (0..<20).map { UInt8($0) })
    for (what, value) in [
      ("mix(0)", Self.word(mix(0))), ("mix(1)", Self.word(mix(1))),
      ("hash64(\"\", 0)", Self.word(hash64([], seed: 0))),
      ("hash64(\"flotilla!\", 7)", Self.word(hash64(Array("flotilla!".utf8), seed: 7))),
      ("tableSeed(\"Notes\")", Self.word(tableSeed("Notes"))),
      ("column(\"text\")", Self.word(ContentHash.column("text"))),
      ("content(id 1, text \"Hi\")", Self.word(version.hash)),
      ("frontier hash of {}", Self.word(Frontier().hash)),
      ("frontier hash of {A1: 3}", Self.word(Frontier([Self.origin: 3]).hash)),
      ("key(−1, 0.5, \"a␀B\" NOCASE)", Self.hex(key.bytes)),
      ("bucket(notes, key(1))", String(Digest.bucket(table: tableSeed("notes"), key: one))),
      ("share of the first row", Self.word(digest.root)),
      ("code of the digits 0 to 19", code.description),
    ] {
      #expect(text.contains("| \(what) | `\(value)` |"), "| \(what) | `\(value)` |")
    }
  }

  static func word(_ value: UInt64) -> String {
    hex(withUnsafeBytes(of: value.bigEndian) { Array($0) }).replacing(" ", with: "")
  }
}
