import Foundation
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
