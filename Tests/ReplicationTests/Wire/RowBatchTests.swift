import Replication
import Testing

@Suite struct RowBatchTests {
  @Test func `a batch arrives as it was written`() throws {
    let writer = Samples.batch
    let batch = try RowBatch(bytes: writer.bytes)
    #expect(batch.tables == [Samples.notes, Samples.lines])
    #expect(batch.rows.map(\.version) == Samples.rows.map(\.1))
    #expect(batch.rows.map(\.content) == Samples.rows.map(\.2))
    #expect(batch.rows.map { batch.tables[$0.table] } == Samples.rows.map(\.0))
    #expect(batch.check == writer.check && batch.rows.count == writer.rowCount)
    #expect(writer.bytes.count <= writer.size && writer.size < writer.bytes.count + 100)
  }

  @Test func `rows of a batch that stays packed are read in any order`() throws {
    let bytes = Samples.batch.bytes
    let whole = try RowBatch(bytes: bytes)
    var shown: [RowHead] = []
    let packed = try PackedBatch(bytes: bytes) { shape, row in
      #expect(shape == whole.tables[row.table])
      shown.append(row)
    }
    #expect(packed.tables == whole.tables && shown.count == whole.rows.count)
    for (head, row) in zip(shown, whole.rows) {
      #expect(head.table == row.table && head.version == row.version)
      #expect(head.ruling == row.content.ruling)
      #expect(head.key == Array(row.values.prefix(whole.tables[row.table].keyCount)))
    }
    for index in whole.rows.indices.reversed() {
      #expect(try packed.row(index) == whole.rows[index])
    }
    let sizes = whole.rows.indices.map(packed.size)
    #expect(sizes.allSatisfy { $0 > 0 } && sizes.reduce(0, +) < bytes.count)
  }

  @Test func `an empty batch is one`() throws {
    #expect(RowBatchWriter().isEmpty)
    #expect(try RowBatch(bytes: RowBatchWriter().bytes) == RowBatch(tables: [], rows: []))
  }

  @Test func `a batch that ends early or late is refused`() {
    let bytes = Samples.batch.bytes
    for count in 0..<bytes.count {
      #expect(throws: WireError.self) { try RowBatch(bytes: Array(bytes.prefix(count))) }
    }
    #expect(throws: WireError.self) { try RowBatch(bytes: bytes + [0]) }
  }

  /// One table t(a, b) with key a, one origin, and one row of these bytes.
  static func batch(
    columns: [String] = ["a", "b"], keyCount: Int = 1, row: (inout ByteWriter) -> Void
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.uint(1)
    writer.text("t")
    writer.uint(keyCount)
    writer.uint(columns.count)
    for column in columns { writer.text(column) }
    for _ in 0..<keyCount { writer.byte(0) }
    writer.uint(0)
    writer.uint(1)
    writer.word(9)
    writer.uint(0)
    writer.uint(1)
    row(&writer)
    return writer.bytes
  }

  static func row(
    table: Int = 0, flags: UInt8 = 2, origin: Int = 0, seq: UInt64 = 1, stamp: UInt64 = 1,
    hash: UInt64 = 5, values: [UInt8] = [1, 2, 0]
  ) -> (inout ByteWriter) -> Void {
    {
      $0.uint(table)
      $0.byte(flags)
      $0.uint(origin)
      $0.uint(seq)
      $0.uint(stamp)
      $0.word(hash)
      $0.raw(values)
    }
  }

  @Test func `the batch by hand is right`() throws {
    let batch = try RowBatch(bytes: Self.batch(row: Self.row()))
    #expect(batch.rows.map(\.content) == [.values([.integer(1), .null])])
    let deleted = try RowBatch(bytes: Self.batch(row: Self.row(flags: 3, hash: 0, values: [1, 2])))
    #expect(deleted.rows.map(\.content) == [.deleted(key: [.integer(1)])])
  }

  @Test func `how a key compares its text travels along`() throws {
    let shape = TableShape(
      name: "t", keyCount: 3, columns: ["a", "b", "c"], collations: [.nocase, .binary, .rtrim],
      affinities: [.text, .integer, .none], generation: 3)
    var writer = RowBatchWriter()
    let key = [Value.integer(1), .integer(2), .integer(3)]
    writer.add(shape, Samples.rows[0].1, .withheld(key: key))
    #expect(try RowBatch(bytes: writer.bytes).tables == [shape])
    let binary = TableShape(name: "t", keyCount: 3, columns: ["a", "b", "c"])
    #expect(binary.collations == [.binary, .binary, .binary] && binary != shape)
  }

  @Test func `wrong rows are refused`() {
    let nan: [UInt8] = [2, 0x7F, 0xF8, 0, 0, 0, 0, 0, 0]
    let wrong: [(String, [UInt8])] = [
      ("table", Self.batch(row: Self.row(table: 1))),
      ("origin", Self.batch(row: Self.row(origin: 1))),
      ("seq 0", Self.batch(row: Self.row(seq: 0))),
      ("seq", Self.batch(row: Self.row(seq: (1 << 62) + 1))),
      ("stamp", Self.batch(row: Self.row(stamp: (1 << 62) + 1))),
      ("unknown flag", Self.batch(row: Self.row(flags: 8))),
      ("deleted and withheld", Self.batch(row: Self.row(flags: 7, hash: 0, values: [1, 2]))),
      ("hash of a deleted row", Self.batch(row: Self.row(flags: 3, values: [1, 2]))),
      ("no hash", Self.batch(row: Self.row(hash: 0))),
      ("NULL in the key", Self.batch(row: Self.row(values: [0, 0]))),
      ("NaN", Self.batch(row: Self.row(values: [1, 2] + nan))),
      ("value class", Self.batch(row: Self.row(values: [1, 2, 5]))),
      ("too few values", Self.batch(row: Self.row(values: [1, 2]))),
      ("too many values", Self.batch(row: Self.row(values: [1, 2, 0, 0]))),
      ("long value", Self.batch(row: Self.row(values: [1, 2, 4, 0x81, 0x80, 0x80, 0x20]))),
      ("no key", Self.batch(keyCount: 0, row: Self.row())),
      ("key too wide", Self.batch(keyCount: 3, row: Self.row())),
      ("one column twice", Self.batch(columns: ["a", "a"], row: Self.row())),
      ("one column in two cases", Self.batch(columns: ["a", "A"], row: Self.row())),
    ]
    for (what, bytes) in wrong {
      #expect(throws: WireError.self, "\(what)") { try RowBatch(bytes: bytes) }
    }
  }

  @Test(
    arguments: [
      [2_049], [1, 1, 0x61, 1, 2_001], [0, 16_385], [0, 0, 65_537], [.max], [0, .max],
      [0, 0, .max],
    ] as [[UInt64]])
  func `a count beyond its limit or its bytes is refused`(counts: [UInt64]) {
    var writer = ByteWriter()
    for count in counts { writer.uint(count) }
    #expect(throws: WireError.self) { try RowBatch(bytes: writer.bytes) }
  }

  @Test func `tables that only Swift holds for equal stay apart, columns are refused`() throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    var writer = RowBatchWriter()
    let (_, version, _) = Samples.rows[0]
    for name in [composed, decomposed] {
      let shape = TableShape(name: name, keyCount: 1, columns: [name])
      writer.add(shape, version, .values([.integer(1)]))
    }
    var other = RowBatchWriter()
    let both = TableShape(name: "t", keyCount: 1, columns: [composed, decomposed])
    other.add(both, version, .values([.integer(1), .null]))
    #expect(throws: WireError.self) { try RowBatch(bytes: other.bytes) }
    let batch = try RowBatch(bytes: writer.bytes)
    #expect(batch.tables.map { Array($0.name.utf8) } == [[0xC3, 0xA9], [0x65, 0xCC, 0x81]])
    #expect(batch.rows.map(\.table) == [0, 1])
  }

  /// A batch of more than a frame is one long row: to read the names of very many tables would hold
  /// up everybody else.
  @Test func `a batch of more than a frame has one row, and names its table`() throws {
    let (shape, version, _) = Samples.rows[0]
    let long = Value.blob(Array(repeating: 0, count: Limits.frame))
    let rest = Array(repeating: Value.null, count: shape.columns.count - 2)
    var writer = RowBatchWriter()
    writer.add(shape, version, .values([.integer(1), long] + rest))
    #expect(try RowBatch(bytes: writer.bytes).rows.count == 1)
    writer.add(shape, version, .values([.integer(2), .null] + rest))
    #expect(throws: WireError.self) { try RowBatch(bytes: writer.bytes) }
    var names = RowBatchWriter()
    for table in 0..<200 {
      let columns = (0..<128).map { String(repeating: "\u{e9}", count: 24) + "\(table) \($0)" }
      let wide = TableShape(name: "t\(table)", keyCount: 1, columns: columns)
      names.add(wide, version, .withheld(key: [.integer(1)]))
    }
    #expect(names.size > Limits.frame)
    let error = #expect(throws: WireError.self) { try RowBatch(bytes: names.bytes) }
    #expect(error?.code == .tooLong)
  }

  @Test func `many small values in a batch do not take memory without bound`() {
    let shape = TableShape(
      name: "wide", keyCount: 1, columns: (0..<Limits.columns).map { "c\($0)" })
    var writer = RowBatchWriter()
    let values = [Value.integer(1)] + Array(repeating: .null, count: Limits.columns - 1)
    for _ in 0...(Limits.frame / Limits.columns) {
      writer.add(shape, Samples.rows[0].1, .values(values))
    }
    let error = #expect(throws: WireError.self) { try RowBatch(bytes: writer.bytes) }
    #expect(error?.code == .tooLong)
  }
}
