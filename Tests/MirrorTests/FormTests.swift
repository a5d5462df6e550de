import SQLite
import Testing

@testable import Mirror

/// What goes over, and what is held, without a server.
@Suite struct `The form of a column` {
  private func form(_ kind: ColumnForm.Kind, _ affinity: Affinity) -> ColumnForm {
    ColumnForm(kind: kind, affinity: affinity)
  }

  private let signed = ColumnForm.Kind.integer(least: .min, most: UInt64(Int64.max))
  private let money = ColumnForm.Kind.decimal(digits: 10, scale: 2, isUnsigned: false)

  @Test func `lets integers through within the range of their column`() throws {
    let whole = form(signed, .integer)
    for number in [Int64.min, -1, 0, .max] {
      #expect(try whole.encode(.integer(number)) == .integer(number))
    }
    let small = form(.integer(least: 0, most: 255), .integer)
    #expect(try small.encode(.integer(255)) == .integer(255))
    for value in [Value.integer(256), .integer(-1), .real(1.5), .string("1"), .blob([1])] {
      #expect(throws: ColumnForm.Objection.self) { try small.encode(value) }
    }
    #expect(try whole.decode(.integer(.min)) == .integer(.min))
    #expect(throws: ColumnForm.Objection.self) {
      try whole.decode(.string("18446744073709551615"))
    }
  }

  @Test func `says of a day in a column of moments no more than is known`() {
    let moment = form(.moment(decimals: 3), .text)
    do throws(ColumnForm.Objection) {
      _ = try moment.encode(.string("2026-01-02"))
      Issue.record("it goes over")
    } catch {
      #expect(error.reason.contains("cannot hold") && !error.reason.contains("NULL"))
    }
  }

  @Test func `holds reals that a server would change`() throws {
    let real = form(.real, .real)
    for number in [0.1, 1e300, -5e-300, 4.0, Double(1 << 60)] {
      #expect(try real.encode(.real(number)) == .real(number))
      #expect(try real.decode(.real(number)) == .real(number))
    }
    for number in [-0.0, .infinity, -.infinity] {
      #expect(throws: ColumnForm.Objection.self) { try real.encode(.real(number)) }
    }
    // SQLite makes 0 of it, but in a column of no type.
    #expect(throws: ColumnForm.Objection.self) { try real.decode(.real(-0.0)) }
    #expect(throws: ColumnForm.Objection.self) { try form(.real, .numeric).decode(.real(-0.0)) }
    #expect(try form(.real, .none).decode(.real(-0.0)) == .real(-0.0))
    // A whole number in a NUMERIC column is an integer, and comes back as one if it is exact.
    let numeric = form(.real, .numeric)
    #expect(try numeric.encode(.integer(5)) == .real(5))
    #expect(throws: ColumnForm.Objection.self) { try numeric.encode(.integer((1 << 60) + 1)) }
  }

  @Test(arguments: [
    (Value.real(0.25), "0.25"), (.real(12_345_678.99), "12345678.99"), (.integer(-7), "-7"),
    (.real(1e-2), "0.01"), (.real(5e7 + 0.5), "50000000.5"), (.integer(0), "0"),
  ])
  func `writes decimals as their digits`(_ value: Value, _ sent: String) throws {
    let decimal = form(money, .numeric)
    #expect(try decimal.encode(value) == .string(sent))
  }

  @Test(arguments: [
    Value.real(12.345), .real(1e9), .integer(123_456_789), .real(0.1 + 0.2), .real(-0.0),
    .real(1e300), .string("abc"), .blob([1]),
  ])
  func `holds what is no such decimal`(_ value: Value) {
    #expect(throws: ColumnForm.Objection.self) { try form(money, .numeric).encode(value) }
  }

  @Test func `takes decimals in with all their digits or not at all`() throws {
    let wide = form(.decimal(digits: 30, scale: 10, isUnsigned: false), .numeric)
    #expect(try wide.decode(.string("12.5000000000")) == .real(12.5))
    #expect(try wide.decode(.string("-7.0000000000")) == .integer(-7))
    #expect(throws: ColumnForm.Objection.self) {
      try wide.decode(.string("12345678901234567890.1234567891"))
    }
    // As a text they are what the server writes.
    let text = form(money, .text)
    #expect(try text.decode(.string("12.30")) == .string("12.30"))
    #expect(try text.encode(.string("12.30")) == .string("12.3"))
    #expect(throws: ColumnForm.Objection.self) { try text.encode(.string("12.3")) }
  }

  @Test(arguments: [
    "2026-01-02 03:04:05", "2024-02-29 23:59:59.5", "2026-01-02 03:04:05.123456",
    "2026-01-02 03:04:05.500", "2023-02-29 00:00:00", "2026-01-02T03:04:05Z", "0000-00-00 00:00:00",
    "2026-1-2 3:4:5", "2026-01-02 03:04:05.000", "2026-01-02", "now", "",
  ])
  func `lets a moment through if the server writes it so`(_ text: String) throws {
    let moment = form(.moment(decimals: 6), .numeric)
    let goes = [
      "2026-01-02 03:04:05", "2026-01-02 03:04:05.123456", "2026-01-02 03:04:05.500",
    ]
    let sent = try? moment.encode(.string(text))
    #expect(sent == (goes.contains(text) ? .string(text) : nil))
  }

  @Test(arguments: [
    ("01:00:00", true), ("100:00:00", true), ("0001:00:00", false), ("001:00:00", false),
    ("1:00:00", false), ("-01:00:00", false), ("839:00:00", false),
  ])
  func `lets a time through if the server writes it so`(_ text: String, _ goes: Bool) {
    let sent = try? form(.time(decimals: 0), .text).encode(.string(text))
    #expect((sent != nil) == goes)
  }

  @Test func `counts letters and bytes, and knows UTF-8`() throws {
    let short = form(.text(letters: 3, bytes: nil, trims: false), .text)
    #expect(try short.encode(.string("å😀ö")) == .string("å😀ö"))
    #expect(try short.encode(.string("a\0b")) == .string("a\0b"))
    for value in [Value.string("abcd"), .text([0xFF]), .text([0xED, 0xA0, 0x80]), .integer(1)] {
      #expect(throws: ColumnForm.Objection.self) { try short.encode(value) }
    }
    let padded = form(.text(letters: 3, bytes: nil, trims: true), .text)
    #expect(throws: ColumnForm.Objection.self) { try padded.encode(.string("a ")) }
    let bytes = form(.text(letters: nil, bytes: 4, trims: false), .text)
    #expect(throws: ColumnForm.Objection.self) { try bytes.encode(.string("å😀")) }
    let choice = form(.choice(["a", "b'c"]), .text)
    #expect(try choice.encode(.string("b'c")) == .string("b'c"))
    #expect(throws: ColumnForm.Objection.self) { try choice.encode(.string("A")) }
  }

  @Test func `does not let a number become of a text`() throws {
    // A text of digits in a column without TEXT would be a number in SQLite.
    let loose = form(.text(letters: nil, bytes: nil, trims: false), .numeric)
    #expect(throws: ColumnForm.Objection.self) { try loose.decode(.string("007")) }
    #expect(try loose.decode(.string("2026-01-02")) == .string("2026-01-02"))
    #expect(try loose.decode(.string("x7")) == .string("x7"))
  }

  @Test(arguments: [
    "10.0.0.1", "030 123", "2026-11-26", "12:30", "1e", "--5", "5-", "1.2.3", "-", ".", "+", "e5",
    "1e5x", "1 2", "5", "+5", "-7", ".5", "5.", "1e5", "1.5E-3", "00012", "-0", "-0.0",
    "9223372036854775808", " 5", "5 ", "1e400",
  ])
  func `what SQLite makes of a text is foreseen, or not at all`(_ text: String) throws {
    let file = try Connection(path: ":memory:")
    for (type, affinity) in [("NUMERIC", Affinity.numeric), ("REAL", .real), ("INT", .integer)] {
      try file.execute("CREATE TABLE \(type)(v \(type))")
      try file.run("INSERT INTO \(type) VALUES (?)", [.string(text)])
      let stored = try file.scalar("SELECT v FROM \(type)")
      let foreseen = affinity.stored(.string(text))
      #expect(foreseen == nil || foreseen == stored, "\(type)")
      if case .text = stored { #expect(foreseen == stored, "\(type)") }
    }
  }

  @Test func `keys are one if their bits are`() {
    let keys: [[Value]] = [
      [.integer(1)], [.real(1)], [.string("1")], [.blob([49])], [.string("a"), .string("b")],
      [.string("ab"), .string("")], [.null], [.real(0)], [.real(-0.0)],
    ]
    #expect(Set(keys.map { RowKey(1, $0) }).count == keys.count)
    for key in keys { #expect(StoredKey.decode(RowKey.bytes(of: key)) == key) }
    for bad in [[9], [1, 0], [3, 0, 0, 0, 0, 0, 0, 0, 9, 1], [4]] as [[UInt8]] {
      #expect(StoredKey.decode(bad) == nil)
    }
  }
}

/// Tables as the server is to make them.
@Suite struct `A table that is made` {
  private func column(_ name: String, _ type: String) -> SiteTable.Column {
    SiteTable.Column(
      name: name, type: type, affinity: Affinity(declared: type, isStrict: false),
      collation: "BINARY", isRequired: false, isGenerated: false)
  }

  @Test func `has a key that fits`() throws {
    let table = SiteTable(
      name: "t",
      columns: [
        column("a", "INTEGER"), column("b", "TEXT"), column("c", "VARCHAR(20)"),
        column("d", "NUMERIC(10,2)"), column("e", "BOOLEAN"), column("f`g", ""),
      ], key: [0, 1, 2])
    let made = TableCreation.statement(for: table, as: "`x`.`t`", isMariaDB: true)
    let sql = try #require(made.sql)
    #expect(sql.contains("`b` VARCHAR(380)") && sql.contains("`c` VARCHAR(380)"))
    #expect(sql.contains("`d` DECIMAL(10,2)") && sql.contains("`e` BIGINT"))
    #expect(sql.contains("`f``g` LONGTEXT") && sql.contains("PRIMARY KEY (`a`, `b`, `c`)"))
    #expect(!sql.contains("AUTO_INCREMENT"))
    #expect(Array(serverName("a`\u{301}b").utf8) == Array("`a``\u{301}b`".utf8))
    let keyless = SiteTable(name: "t", columns: [column("a", "TEXT")], key: [])
    #expect(TableCreation.statement(for: keyless, as: "`t`", isMariaDB: true).sql == nil)
  }
}
