import Foundation
import SQLite
import Testing

@testable import Flotilla

@Suite struct `A value as JSON` {
  static let values: [SQLValue] = [
    .null, .integer(5), .integer(.max), .integer(.min), .integer(9_007_199_254_740_993), .text("5"),
    .text("9007199254740993"), .text("Infinity"), .text("a\u{0}b"), .blob([]), .blob([0, 255]),
    .malformedText([0xFF]),
  ]
  static let reals: [Double] = [
    0.5, 5, -0.0, 1e300, .leastNonzeroMagnitude, 0.1, 9_007_199_254_740_992, .infinity, -.infinity,
  ]

  @Test(arguments: values + reals.map(SQLValue.real))
  func `is read as it was written`(value: SQLValue) throws {
    let text = try JSONEncoder().encode([value])
    let read = try JSONDecoder().decode([SQLValue].self, from: text)
    #expect(read == [value])
    if case .real(let before) = value, case .real(let after) = read[0] {
      #expect(before.bitPattern == after.bitPattern)
    }
  }

  @Test(arguments: [
    #"{"base64":"!"}"#, #"{"base64":"AA"}"#, #"{"base64_text":"A"}"#, "{}", #"{"other":"AA=="}"#,
    #"{"base64":"AA==","base64_text":"AA=="}"#, #"{"base64":5}"#, "[]",
    #"{"real":"x"}"#, #"{"real":"nan"}"#, #"{"real":1}"#, #"{"real":"1","base64":"AA=="}"#,
  ])
  func `is no value where something is wrong with it`(text: String) {
    #expect(throws: (any Error).self) {
      try JSONDecoder().decode([SQLValue].self, from: Data("[\(text)]".utf8))
    }
  }
}

@Suite struct `An INSERT that is shown` {
  /// Whoever may write chooses what stands in a row, and a person pastes what is shown of it.
  @Test func `is one statement, whatever stands in the row`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute("CREATE TABLE u(a, b, c, d, e, f)")
    let text = "x'\u{301};\nDELETE FROM u;\n--"
    let row: [String: SQLValue] = [
      "a": .text(text), "b": .text("a\0'b"), "c": .null, "d": .real(-.infinity), "e": .integer(5),
      "f": .blob([0, 39]),
    ]
    let statement = try connection.prepare(insertion(of: row, into: "u"))
    #expect(statement.tail == "")
    try connection.execute(insertion(of: row, into: "u"))
    #expect(try connection.scalar("SELECT a FROM u") == .string(text))
    #expect(try connection.scalar("SELECT hex(b) FROM u") == .string("61002762"))
    #expect(try connection.scalar("SELECT d FROM u") == .real(-.infinity))
    #expect(
      Array(insertion(of: [:], into: "u\"\u{301}").utf8)
        == Array("INSERT INTO \"u\"\"\u{301}\"() VALUES ();".utf8))
  }
}
