import Replication
import SQLite
import Testing

@testable import Store

/// Who was an anchor once says very much about the office.
@Suite struct OfficeWordsTests {
  private static let origin = Origin(rawValue: 8)
  private static let node = Identity(high: 8, low: 8)

  private func merge(
    _ words: Range<UInt64>, in terms: [Term], into replica: TestReplica,
    change: (inout Ruling, inout Replication.Value) -> Void = { _, _ in }
  ) throws {
    let settings = try #require(replica.store.tables.table(Tables.settings))
    var writer = RowBatchWriter()
    for seq in words {
      let dot = Dot(Self.origin, seq)
      var version = Version(
        dot: dot, created: dot, stamp: Stamp(millisecondsSince1970: Int64(seq)), hash: 0,
        isDeleted: false)
      version.term = terms[Int(seq) % terms.count]
      var key = Replication.Value.text(Array("office".utf8))
      var ruling = Ruling(
        seq == 1 ? .tookOffice : .stoodDown, edit: dot, rule: Self.node.description)
      change(&ruling, &key)
      writer.add(settings.keyShape(of: [key]), version, .ruling(ruling, key: [key]))
    }
    let merge = Merge(
      sender: Self.node, kind: .full(covers: Frontier([Self.origin: words.upperBound - 1])),
      batches: [writer.bytes], rowsBefore: 0, checkBefore: 0,
      end: End(rows: UInt64(words.count), check: writer.check), movesFrontier: true)
    _ = try replica.store.merge(merge, at: replica.now)
  }

  private func kept(_ replica: TestReplica) throws -> SQLite.Value {
    try replica.value("SELECT count(*) FROM _flotilla_ruling WHERE kind >= 128")
  }

  @Test func `the first words of a term and the last one stay`() throws {
    let replica = try TestReplica(1, schema: WrongBatchTests.schema, tracking: ["t"])
    let term = Term(number: 1, incarnation: 5)
    for start in stride(from: 1, to: 3_000, by: 500) as StrideTo<UInt64> {
      try merge(start..<start + 500, in: [term], into: replica)
      #expect(try kept(replica) == .integer(Int64(RulingTable.wordsOfOne)))
    }
    let words = try replica.store.rulings.words(of: Self.node, in: term)
    #expect(words.first == .tookOffice && words.last == .stoodDown)
    #expect(try replica.value("SELECT max(seq) FROM _flotilla_ruling") == .integer(3_000))
    #expect(replica.store.position.frontier[Self.origin] == 3_000)
    #expect(
      try replica.store.hasResigned(Self.node, in: term, wasAppointed: true))
  }

  @Test func `of each term so many are kept, as appointments are signed`() throws {
    let replica = try TestReplica(1, schema: WrongBatchTests.schema, tracking: ["t"])
    let terms = (1...3).map { Term(number: UInt64($0), incarnation: 5) }
    try merge(1..<1_001, in: terms, into: replica)
    #expect(try kept(replica) == .integer(Int64(3 * RulingTable.wordsOfOne)))
  }

  @Test func `words with long keys, or more than the name of a node, are none`() throws {
    let replica = try TestReplica(1, schema: WrongBatchTests.schema, tracking: ["t"])
    let term = Term(number: 1, incarnation: 5)
    try merge(1..<5, in: [term], into: replica) { _, key in
      key = .text(Array(repeating: 120, count: 100_000))
    }
    try merge(5..<9, in: [term], into: replica) { ruling, _ in
      ruling.rule = String(repeating: "x", count: 400)
    }
    #expect(try kept(replica) == .integer(0))
    #expect(replica.store.position.frontier[Self.origin] == 8)
  }

  @Test func `a file that has kept too many lets go of them when it is opened`() throws {
    let replica = try TestReplica(1, schema: WrongBatchTests.schema, tracking: ["t"])
    try merge(1..<3, in: [Term(number: 1, incarnation: 5)], into: replica)
    try replica.write(
      """
      WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
      INSERT INTO _flotilla_ruling
      SELECT eorigin, i, origin, i, stamp, extra, kind, rule, tbl, key
      FROM _flotilla_ruling, n WHERE seq = 2
      """)
    #expect(try kept(replica) == .integer(500))
    try replica.store.rulings.trim()
    #expect(try kept(replica) == .integer(Int64(RulingTable.wordsOfOne)))
  }
}
