import Foundation
import Testing

/// Code on the page of the library is code that is compiled.
@Suite struct `The page of the library` {
  private static let top = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: top.appending(path: path), encoding: .utf8)
  }

  @Test func `shows code of the example, or of these tests`() throws {
    let compiled = try [
      "Examples/CheckList/CheckList.swift", "Tests/RowsTests/Move.swift",
    ].map(Self.text)
    let blocks = try Self.text("docs/library.md").components(separatedBy: "```swift\n").dropFirst()
      .compactMap { $0.components(separatedBy: "```").first }
    #expect(blocks.count > 3)
    for block in blocks {
      let code = block.replacing("import Flotilla\n\n", with: "")
      #expect(compiled.contains { $0.contains(code) }, "\(code)")
    }
  }
}
