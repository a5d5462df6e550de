import SQLite
import Testing

@testable import Gateway

@Suite struct `The JSON reader` {
  private func read(_ text: String) throws(JSONError) -> JSONValue {
    try JSONReader.read(Array(text.utf8))
  }

  private func refusal(_ bytes: [UInt8]) -> String? {
    do throws(JSONError) {
      _ = try JSONReader.read(bytes)
      return nil
    } catch {
      return error.message
    }
  }

  @Test func `keeps numbers as they were written and members in their order`() throws {
    let value = try read(" {\"b\": 9007199254740993, \"a\":[true,false,null,-0.0,1e5] }\n")
    #expect(
      value
        == .object([
          JSONMember(name: "b", value: .number("9007199254740993")),
          JSONMember(
            name: "a",
            value: .array([.bool(true), .bool(false), .null, .number("-0.0"), .number("1e5")])),
        ]))
  }

  @Test func `knows every escape`() throws {
    let text = #""\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00\u0000""#
    #expect(try read(text) == .text("\"\\/\u{8}\u{c}\n\r\tA\u{e9}\u{1F600}\0"))
  }

  @Test(arguments: [
    "", " ", "{", "[", "[1", "[1,", "[1,]", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{a:1}",
    "nul", "tru", "NaN", "Infinity", "+1", "01", "1.", ".5", "1e", "1e+", "-", "0x10", "'a'", "\"",
    "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\ud800x\"",
    "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\n\"", "\"\0\"", "1 2", "{} {}", "[1]]", "\u{feff}1",
    "/*a*/1", "\"\\u+123\"",
  ])
  func `refuses what is no JSON`(_ text: String) {
    #expect(refusal(Array(text.utf8)) != nil)
  }

  @Test func `refuses a name that stands twice`() {
    #expect(refusal(Array(#"{"a":1,"a":1}"#.utf8)) == "a name stands twice in one object")
    #expect(refusal(Array(#"{"a":1,"\u0061":1}"#.utf8)) == "a name stands twice in one object")
    // Two spellings of one letter are two names, as in SQLite.
    #expect(refusal(Array("{\"\u{e9}\":1,\"e\u{301}\":1}".utf8)) == nil)
  }

  @Test(arguments: [
    [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
  ])
  func `refuses bytes that are not UTF-8`(_ bytes: [UInt8]) {
    #expect(refusal(bytes) == "the text is not UTF-8")
  }

  @Test func `is bounded in depth, in values and in the length of numbers`() {
    let deep = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
    #expect(refusal(Array(deep.utf8)) == nil)
    #expect(refusal(Array("[\(deep)]".utf8)) == "arrays and objects are too deep")
    let endless = [UInt8](repeating: UInt8(ascii: "["), count: 1 << 20)
    #expect(refusal(endless) == "arrays and objects are too deep")
    let many = "[" + String(repeating: "1,", count: 250_000) + "1]"
    #expect(refusal(Array(many.utf8)) == "there are too many values")
    #expect(refusal([UInt8](repeating: UInt8(ascii: "9"), count: 401)) == "the number is too long")
  }
}

@Suite struct `Values in JSON` {
  private func written(_ value: Value, isUntyped: Bool) -> String {
    var text = RowText()
    text.append(value, isUntyped: isUntyped)
    return String(decoding: text.bytes, as: UTF8.self)
  }

  @Test(
    arguments: [
      (.null, "null", "null"), (.integer(1 << 53), "9007199254740992", "9007199254740992"),
      (.integer(.max), "\"9223372036854775807\"", "{\"integer\":\"9223372036854775807\"}"),
      (.integer(.min), "\"-9223372036854775808\"", "{\"integer\":\"-9223372036854775808\"}"),
      (.real(0.1), "0.1", "0.1"), (.real(5), "5.0", "{\"real\":\"5.0\"}"),
      (.real(1e19), "{\"real\":\"1e+19\"}", "{\"real\":\"1e+19\"}"),
      (.real(-.infinity), "{\"real\":\"-Infinity\"}", "{\"real\":\"-Infinity\"}"),
      (
        .text(Array("a\"\\\n\u{1}\u{0}é".utf8)), #""a\"\\\n\u0001\u0000é""#,
        #""a\"\\\n\u0001\u0000é""#
      ),
      (.text([0xFF]), "{\"base64_text\":\"/w==\"}", "{\"base64_text\":\"/w==\"}"),
      (.blob([0, 255]), "{\"base64\":\"AP8=\"}", "{\"base64\":\"AP8=\"}"),
      (.blob([]), "{\"base64\":\"\"}", "{\"base64\":\"\"}"),
    ] as [(Value, String, String)])
  func `have one form in columns with a type and one without`(
    value: Value, typed: String, untyped: String
  ) {
    #expect(written(value, isUntyped: false) == typed)
    #expect(written(value, isUntyped: true) == untyped)
  }

  @Test(arguments: [
    #"{"base64":"A"}"#, #"{"base64":5}"#, #"{"integer":"1.5"}"#, #"{"integer":""}"#,
    #"{"real":"nan"}"#, #"{"real":"0x1p3"}"#, #"{"real":""}"#, #"{"a":"b"}"#, "{}", "[]",
    #"{"base64":"","real":"1"}"#, "9223372036854775808", "1e999", "-1e999",
  ])
  func `that SQLite cannot hold are refused`(_ text: String) throws {
    let json = try JSONReader.read(Array(text.utf8))
    #expect(throws: ValueError.self) { try json.stored() }
  }

  /// A value of any class, the hard ones often.
  private func drawn() -> Value {
    let hard: [Int64] = [.min, .max, 1 << 53, -(1 << 53) - 1, 0, -1]
    switch Int.random(in: 0..<8) {
    case 0: return .null
    case 1: return .integer(hard.randomElement()!)
    case 2: return .integer(.random(in: .min ... .max))
    case 3: return .real(Double(bitPattern: .random(in: 0..<0x7FF0_0000_0000_0000)))
    case 4:
      return .real(
        [-0.0, 1, 1e300, .infinity, -.infinity, .leastNonzeroMagnitude].randomElement()!)
    case 5:
      return .text((0..<Int.random(in: 0..<9)).map { _ in UInt8.random(in: 0...255) })
    case 6: return .text(Array(["5", "5.0", "{\"real\":\"1\"}", "é\0"].randomElement()!.utf8))
    default: return .blob((0..<Int.random(in: 0..<9)).map { _ in UInt8.random(in: 0...255) })
    }
  }

  @Test func `come back bit for bit through a file`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(
      """
      CREATE TABLE t(i INTEGER, r REAL, n NUMERIC, t TEXT, b BLOB, a);
      CREATE VIEW _flotilla_rows_t AS SELECT 1;
      """)
    let table = try #require(try TableShape.read("t", on: connection))
    #expect(table.columns.map(\.isUntyped) == [false, false, false, false, true, true])
    for _ in 0..<2_000 {
      let values = table.columns.map { _ in drawn() }
      _ = try connection.run("DELETE FROM t")
      _ = try connection.run("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", values)
      let stored = try #require(try connection.row("SELECT * FROM t"))
      let row = StoredRow(table: table, values: stored)
      let json = try row.json()
      guard case .object(let members) = try JSONReader.read(json) else {
        Issue.record("no object")
        return
      }
      let again = try members.map { try $0.value.stored() }
      _ = try connection.run("DELETE FROM t")
      _ = try connection.run("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", again)
      let after = try #require(try connection.row("SELECT * FROM t"))
      #expect(after == stored, "\(String(decoding: json, as: UTF8.self))")
      #expect(StoredRow(table: table, values: after).tag == row.tag)
    }
  }

  @Test func `of rows that are too large are not shown`() throws {
    let table = TableShape(
      name: "t", columns: [TableShape.Column(name: "a", isUntyped: true)], key: [0])
    let large = Value.blob([UInt8](repeating: 0, count: StoredRow.longest + 1))
    #expect(throws: Problem.self) { try StoredRow(table: table, values: [large]).json() }
  }
}
