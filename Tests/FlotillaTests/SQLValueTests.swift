import Foundation
import Testing

@testable import Flotilla

@Suite struct `A value as JSON` {
  @Test(arguments: [
    SQLValue.null, .integer(5), .real(0.5), .text("5"), .blob([]), .blob([0, 255]),
    .malformedText([0xFF]),
  ])
  func `is read as it was written`(value: SQLValue) throws {
    let text = try JSONEncoder().encode([value])
    #expect(try JSONDecoder().decode([SQLValue].self, from: text) == [value])
  }

  @Test(arguments: [
    #"{"base64":"!"}"#, #"{"base64":"AA"}"#, #"{"base64_text":"A"}"#, "{}", #"{"other":"AA=="}"#,
    #"{"base64":"AA==","base64_text":"AA=="}"#, #"{"base64":5}"#, "[]",
  ])
  func `is no value where something is wrong with it`(text: String) {
    #expect(throws: (any Error).self) {
      try JSONDecoder().decode([SQLValue].self, from: Data("[\(text)]".utf8))
    }
  }
}
