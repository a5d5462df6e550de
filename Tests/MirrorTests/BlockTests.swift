import CMariaDB
import SQLite
import Testing

@testable import Mirror

/// Rows that go from SQLite's memory into that which the library reads.
@Suite struct `Rows on the shortest way` {
  private static let forms: [(kind: ColumnForm.Kind, type: String)] = [
    (.integer(least: .min, most: UInt64(Int64.max)), "INTEGER"),
    (.integer(least: -128, most: 127), "INTEGER"), (.integer(least: 0, most: .max), "INTEGER"),
    (.integer(least: .min, most: 99), "REAL"), (.integer(least: .min, most: 99), ""),
    (.real, "REAL"), (.real, "INTEGER"), (.real, "NUMERIC"),
    (.text(letters: nil, bytes: nil, trims: false), "TEXT"),
    (.text(letters: 5, bytes: nil, trims: true), "TEXT"),
    (.text(letters: nil, bytes: 9, trims: false), "TEXT"),
    (.text(letters: nil, bytes: nil, trims: false), ""),
    (.bytes(most: 4), "BLOB"), (.bytes(most: 1 << 30), "BLOB"), (.choice(["a", "ö", ""]), "TEXT"),
    (.decimal(digits: 6, scale: 2, isUnsigned: false), "NUMERIC"),
    (.decimal(digits: 6, scale: 2, isUnsigned: true), "TEXT"), (.date, "DATE"),
    (.time(decimals: 3), "TEXT"), (.moment(decimals: 6), "DATETIME"),
  ]

  private static let values: [Value] =
    [
      .null, .integer(0), .integer(-1), .integer(127), .integer(128), .integer(-129),
      .integer(.max), .integer(.min), .integer(1 << 53 + 1), .real(0.5), .real(-0.0), .real(7),
      .real(.infinity), .real(.leastNonzeroMagnitude), .real(12.25), .real(12.345), .blob([]),
      .blob([0]),
      .blob([1, 2, 3, 4]), .blob([1, 2, 3, 4, 5]),
      .text([0xFF]), .text([0xED, 0xA0, 0xBD]), .text([97, 0, 98]), .text([0xC3]),
    ]
    + [
      "", "a", "a ", "ö", "öäüéå", "öäüéåx", "123456789", "1234567890", "12.5", "12.50", "-3",
      "2026-02-28", "2026-02-30", "2026-02-28 01:02:03.5", "01:02:03", "x'", "😀😀😀",
      "a long text that is longer than eight bytes", "the same with an ö at the end of it: ö",
    ].map(Value.string)

  private static func link(_ form: ColumnForm, takesNull: Bool) -> TableLink {
    TableLink(
      number: 1, site: SiteTable(name: "t", columns: [], key: []),
      server: ServerTable(
        schema: "s", name: "t", columns: [], key: ["v"], changesRows: false, hasTriggers: false,
        isTransactional: true),
      columns: [
        TableLink.Column(place: 0, name: "v", serverName: "v", takesNull: takesNull, form: form)
      ], key: [0])
  }

  /// What the library would send of a block's rows.
  private static func read(_ block: ParameterBlock) -> [Value] {
    let bind = block.bound(asArray: true)[0]
    return (0..<block.count).map { row in
      guard bind.u.indicator[row] == CChar(STMT_INDICATOR_NONE.rawValue) else { return .null }
      let buffer = UnsafeRawPointer(bind.buffer!)
      switch bind.buffer_type {
      case MYSQL_TYPE_LONGLONG:
        return .integer(buffer.load(fromByteOffset: 8 * row, as: Int64.self))
      case MYSQL_TYPE_DOUBLE: return .real(buffer.load(fromByteOffset: 8 * row, as: Double.self))
      default:
        let start = buffer.load(fromByteOffset: 8 * row, as: UnsafeRawPointer.self)
        let bytes = [UInt8](UnsafeRawBufferPointer(start: start, count: Int(bind.length[row])))
        return bind.buffer_type == MYSQL_TYPE_BLOB ? .blob(bytes) : .text(bytes)
      }
    }
  }

  @Test func `are what the form of a column sends, or go the other way`() throws {
    let file = try Connection(path: ":memory:")
    for (number, (kind, type)) in Self.forms.enumerated() {
      let form = ColumnForm(kind: kind, affinity: Affinity(declared: type, isStrict: false))
      try file.execute("CREATE TABLE t\(number)(v \(type))")
      for value in Self.values { try file.run("INSERT INTO t\(number) VALUES (?)", [value]) }
      for takesNull in [true, false] {
        let writer = BlockWriter(Self.link(form, takesNull: takesNull), packet: 1 << 20)
        let block = writer.block(for: Self.values.count)
        var sent: [Value] = []
        try file.with("SELECT v FROM t\(number) ORDER BY rowid") { (row) throws(SQLiteError) in
          while try row.step() {
            let value = row.value(0)
            let expected = value.isNull && !takesNull ? nil : try? form.encode(value)
            let isAdded = writer.add(row, to: block)
            #expect(isAdded == (expected != nil), "\(kind) \(type): \(value.shown)")
            if let expected { sent.append(expected) }
          }
        }
        #expect(Self.read(block) == sent, "\(kind) \(type)")
      }
    }
  }

  @Test func `are in parts that a packet holds, and none is longer than that`() throws {
    let file = try Connection(path: ":memory:")
    let text = ColumnForm.Kind.text(letters: nil, bytes: nil, trims: false)
    let writer = BlockWriter(
      Self.link(ColumnForm(kind: text, affinity: .text), takesNull: true), packet: 1 << 20)
    for (length, most) in [(10, 4_000), (10_000, 53), (400_000, 2)] {
      let block = writer.block(for: 10_000)
      try file.with("SELECT printf('%.*c', ?, 'x')", [.integer(Int64(length))]) {
        (row) throws(SQLiteError) in
        #expect(try row.step())
        while !writer.isFull(block) { #expect(writer.add(row, to: block)) }
      }
      #expect(block.count <= most && block.count > most / 2)
      #expect(Self.read(block).allSatisfy { $0.byteCount == length })
    }
    try file.with("SELECT printf('%.*c', 1000000, 'x')") { (row) throws(SQLiteError) in
      #expect(try row.step())
      #expect(!writer.add(row, to: writer.block(for: 1)))
    }
    // Each of these fits, and both are too much for one.
    let block = writer.block(for: 2)
    for (length, isAdded) in [(500_000, true), (900_000, false)] {
      try file.with("SELECT printf('%.*c', ?, 'x')", [.integer(Int64(length))]) {
        (row) throws(SQLiteError) in
        #expect(try row.step())
        #expect(!writer.isFull(block) && writer.add(row, to: block) == isAdded)
      }
    }
  }
}
