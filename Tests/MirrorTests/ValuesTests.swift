import Foundation
import Testing

/// Random values of each type that a server's column may have, both ways: bit for bit, or held.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `Values of all types of a server` {
  /// A column: its name, what it is here and there, and what is tried in it. Some does not fit.
  private struct Column {
    let name: String
    let here: String
    let there: String
    let make: @Sendable (inout SystemRandomNumberGenerator) -> String

    init(
      _ name: String, _ here: String, _ there: String,
      _ make: @escaping @Sendable (inout SystemRandomNumberGenerator) -> String
    ) {
      (self.name, self.here, self.there, self.make) = (name, here, there, make)
    }
  }

  /// An integer that is likely to be at the edge of something.
  private static func integer(_ draw: inout SystemRandomNumberGenerator) -> String {
    let bits = Int.random(in: 0...64, using: &draw)
    let size = bits == 64 ? UInt64.max : (1 << UInt64(bits)) - 1
    let value = size &+ UInt64.random(in: 0...2, using: &draw)
    return String(Int64(bitPattern: Bool.random(using: &draw) ? value : ~value))
  }

  private static func digits(
    _ whole: Int, _ fraction: Int, _ draw: inout SystemRandomNumberGenerator
  ) -> String {
    func some(_ most: Int) -> String {
      (0..<Int.random(in: 0...most, using: &draw)).map { _ in
        String(Int.random(in: 0...9, using: &draw))
      }.joined()
    }
    let sign = Int.random(in: 0...3, using: &draw) == 0 ? "-" : ""
    return sign + "0" + some(whole) + "." + some(fraction) + "0"
  }

  private static func day(_ draw: inout SystemRandomNumberGenerator) -> String {
    String(
      format: "%04d-%02d-%02d", Int.random(in: 1971...2037, using: &draw),
      Int.random(in: 1...14, using: &draw), Int.random(in: 1...31, using: &draw))
  }

  private static func time(_ draw: inout SystemRandomNumberGenerator) -> String {
    let text = String(
      format: "%02d:%02d:%02d", Int.random(in: 0...24, using: &draw),
      Int.random(in: 0...60, using: &draw), Int.random(in: 0...60, using: &draw))
    let count = Int.random(in: 0...7, using: &draw)
    let fraction = (0..<count).map { _ in
      String(Int.random(in: 0...9, using: &draw))
    }.joined()
    return count == 0 ? text : "\(text).\(fraction)"
  }

  private static func text(_ draw: inout SystemRandomNumberGenerator) -> String {
    let letters = ["a", "A", " ", "ö", "é", "😀", "1", ".", "%", "_", "0", "e"]
    return "'"
      + (0..<Int.random(in: 0...8, using: &draw)).map { _ in
        letters.randomElement(using: &draw)!
      }.joined() + "'"
  }

  private static let columns: [Column] = [
    Column("u8", "INTEGER", "TINYINT UNSIGNED", integer),
    Column("s16", "INTEGER", "SMALLINT", integer),
    Column("s24", "INTEGER", "MEDIUMINT", integer),
    Column("s64", "INTEGER", "BIGINT", integer),
    Column("u64", "INTEGER", "BIGINT UNSIGNED", integer),
    Column("flag", "BOOLEAN", "BOOLEAN") { Int.random(in: -2...2, using: &$0).description },
    Column("year", "INTEGER", "YEAR") { Int.random(in: 1870...2185, using: &$0).description },
    Column("d", "DECIMAL(12,4)", "DECIMAL(12,4)") { digits(9, 5, &$0) },
    Column("du", "NUMERIC(8,2)", "DECIMAL(8,2) UNSIGNED") { digits(7, 3, &$0) },
    Column("di", "INTEGER", "DECIMAL(10,0)", integer),
    Column("r", "REAL", "DOUBLE") { "\(Double(bitPattern: $0.next() & 0xBFEF_FFFF_FFFF_FFFF))" },
    Column("day", "DATE", "DATE") { "'\(day(&$0))'" },
    Column("at", "DATETIME", "DATETIME(6)") { "'\(day(&$0)) \(time(&$0))'" },
    Column("at3", "TEXT", "DATETIME(3)") { "'\(day(&$0)) \(time(&$0))'" },
    Column("stamp", "TEXT", "TIMESTAMP(6) NULL") { "'\(day(&$0)) \(time(&$0))'" },
    Column("span", "TEXT", "TIME(3)") { "'\(time(&$0))'" },
    Column("choice", "TEXT", "ENUM('a', 'B', 'ö', '1', '')") {
      ["'a'", "'A'", "'B'", "'ö'", "'1'", "''", "'b '", "'c'"].randomElement(using: &$0)!
    },
    Column("vc", "TEXT", "VARCHAR(6)", text),
    Column("c", "TEXT", "CHAR(6)", text),
    Column("vb", "BLOB", "VARBINARY(6)") { draw in
      "x'"
        + (0..<Int.random(in: 0...8, using: &draw)).map { _ in
          String(format: "%02x", Int.random(in: 0...255, using: &draw))
        }.joined() + "'"
    },
  ]

  /// One value in each row, so that each row is the story of one.
  private static func rows(_ ids: ClosedRange<Int>, _ verb: String) -> String {
    var draw = SystemRandomNumberGenerator()
    return ids.map { id in
      let column = columns[id % columns.count]
      return "\(verb) INTO w(id, \(column.name)) VALUES (\(id), \(column.make(&draw)));"
    }.joined(separator: "\n")
  }

  private static let names = columns.map(\.name).joined(separator: ", ")

  private static func list(_ make: (Column) -> String) -> String {
    columns.map { ", " + make($0) }.joined()
  }

  private func open(_ office: Office) async throws {
    try await office.server(
      """
      CREATE TABLE w(id BIGINT PRIMARY KEY\(Self.list { "\($0.name) \($0.there)" }))
        CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
      """)
    _ = try await office.open(
      "CREATE TABLE w(id INTEGER PRIMARY KEY\(Self.list { "\($0.name) \($0.here)" }))")
  }

  /// How many rows of each column are held.
  private func held(_ office: Office) async throws -> [Int: Int] {
    let said = try await office.server(
      "SELECT REGEXP_SUBSTR(shown, '[0-9]+') MOD \(Self.columns.count), count(*) "
        + "FROM flotilla_held GROUP BY 1")
    var held: [Int: Int] = [:]
    for line in said.split(separator: "\n") {
      let parts = line.split(separator: "\t").compactMap { Int($0) }
      if parts.count == 2 { held[parts[0]] = parts[1] }
    }
    return held
  }

  /// What does not fit on the server, out of 100 values of each column, is held; what went is
  /// copied there by its own SQL and comes back as it was, and both sides write it alike.
  @Test func `go out and come back bit for bit, or are held`() async throws {
    let count = 100 * Self.columns.count
    try await Office.with { office in
      try await open(office)
      try await office.read("BEGIN;\n\(Self.rows(1...count, "INSERT"))\nCOMMIT;")
      try await office.comesToRest()
      let held = try await held(office)
      let out = try #require(Int(try await office.server("SELECT count(*) FROM w")))
      #expect(out + held.values.reduce(0, +) == count)
      for (number, column) in Self.columns.enumerated() {
        let some = held[number] ?? 0
        #expect(some < 100, "of \(column.name) nothing went")
        let holdsNone = ["s64", "r", "flag"].contains(column.name)
        #expect(holdsNone || some > 0, "of \(column.name) everything went")
      }
      try await office.server(
        "INSERT INTO w SELECT id + 100000\(Self.list(\.name)) FROM w")
      try await office.siteComesTo("\(out)", "SELECT count(*) FROM w WHERE id > 100000")
      let changed = try await office.site(
        "SELECT a.id\(Self.list { "quote(a.\($0.name)), quote(b.\($0.name))" }) FROM w a "
          + "JOIN w b ON b.id = a.id + 100000 WHERE false"
          + Self.columns.map { " OR quote(a.\($0.name)) <> quote(b.\($0.name))" }.joined())
      #expect(changed == "")
      // The same without the mirror's reader: as both sides write texts, bytes and integers.
      for column in Self.columns where ["INTEGER", "TEXT", "BLOB"].contains(column.here) {
        guard !column.there.hasPrefix("D"), !column.there.hasPrefix("T") else { continue }
        let isNumber = column.here == "INTEGER"
        let ask = { (text: String) in
          "SELECT id, \(isNumber ? column.name : "hex(\(column.name))") FROM w "
            + "WHERE \(column.name) IS NOT NULL AND \(text) ORDER BY id"
        }
        let there = try await office.server(ask("id < 100000"))
        let ids = there.split(separator: "\n").compactMap { $0.split(separator: "\t").first }
        let here = try await office.site(ask("id IN (\(ids.joined(separator: ",")))"))
        #expect(here == there, "\(column.name)")
      }
    }
  }

  /// What the server makes of 100 values of each column comes in, or is held; what came is copied
  /// here and goes out, and the server finds no bit that differs.
  @Test func `come in and go back bit for bit, or are held`() async throws {
    let count = 100 * Self.columns.count
    try await Office.with { office in
      try await open(office)
      let script = office.path("values.sql")
      // Without STRICT a server makes something of whatever it is given.
      try "SET sql_mode = ''; BEGIN;\n\(Self.rows(1...count, "INSERT IGNORE"))\nCOMMIT;"
        .write(toFile: script, atomically: true, encoding: .utf8)
      try await office.server("SOURCE \(script)")
      try await office.comesToRest()
      #expect(try await office.server("SELECT count(*) FROM w") == "\(count)")
      let held = try await held(office)
      let here = try #require(Int(try await office.site("SELECT count(*) FROM w")))
      #expect(here + held.values.reduce(0, +) == count)
      // Only a BIGINT UNSIGNED has what SQLite has no number for.
      let odd = held.keys.map { Self.columns[$0].name }
      #expect(Set(odd).isSubset(of: ["u64"]), "\(odd)")
      try await office.site(
        "INSERT INTO w SELECT id + 100000\(Self.list(\.name)) FROM w WHERE true")
      try await office.comesToRest()
      let back = try #require(
        Int(try await office.server("SELECT count(*) FROM w WHERE id > 100000")))
      // Days that are none in the calendar are held on their way back.
      #expect(back > here * 3 / 4, "\(back) of \(here)")
      let changed = try await office.server(
        "SELECT a.id FROM w a JOIN w b ON b.id = a.id + 100000 WHERE false"
          + Self.columns.map {
            " OR NOT (a.\($0.name) <=> b.\($0.name) AND hex(a.\($0.name)) <=> hex(b.\($0.name)))"
          }.joined())
      #expect(changed == "")
    }
  }
}

extension Office {
  /// Runs a long script on the site.
  func read(_ script: String) async throws {
    let file = path("script.sql")
    try script.write(toFile: file, atomically: true, encoding: .utf8)
    try await site(".read \(file)")
  }

  /// Nothing is on its way any more: what is not equal is held.
  func comesToRest() async throws {
    var last: [String] = []
    let rests = try await eventually {
      let now = try await writes() + [server("SELECT count(*) FROM flotilla_held")]
      defer { last = now }
      let status = try await status()
      let journal = try await server("SELECT count(*) FROM flotilla_journal_1")
      guard status["behind_rows"] as? Int == 0, journal == "0", now == last else { return false }
      try await Task.sleep(for: .milliseconds(1_500))
      return try await writes() + [server("SELECT count(*) FROM flotilla_held")] == now
    }
    #expect(rests)
  }
}
