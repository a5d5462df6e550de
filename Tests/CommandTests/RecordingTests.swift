import Foundation
import Testing

@testable import FlotillaCommand

@Suite struct `The picture in the README` {
  @Test func `shows commands of this program`() throws {
    let picture = try String(
      contentsOfFile: `The unit of a database`.top + "/docs/recording.svg", encoding: .utf8)
    try XMLCheck.check(picture)
    let typed = picture.matches(of: /<tspan class="t">flotilla ([^<]*)<\/tspan>/)
      .map { String($0.1) }
    #expect(typed.count >= 7)
    for line in typed {
      // What is quoted there is one word of a shell.
      let words = line.replacing(/"[^"]*"/) { _ in "word" }.split(separator: " ").map(String.init)
      guard case .call(let command, _) = try Program.flotilla.request(from: words) else {
        Issue.record("\(line)")
        continue
      }
      #expect(command.name == words[0])
    }
  }
}

/// Whether each element of a text is closed, in order.
enum XMLCheck {
  static func check(_ text: String) throws {
    var open: [Substring] = []
    for tag in text.matches(of: /<(\/?)([a-z]+)[^>]*?(\/?)>/) {
      switch (tag.1.isEmpty, tag.3.isEmpty) {
      case (true, true): open.append(tag.2)
      case (true, false): break
      default: try #require(open.popLast() == tag.2)
      }
    }
    #expect(open.isEmpty)
  }
}
