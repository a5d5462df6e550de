import Foundation
import Testing

/// The page about security names a test for what it promises, and each of these is there.
@Suite struct SecurityPageTests {
  @Test func `what the page promises has a test, and each that it names is there`() throws {
    let page = try #require(Tree.files.first { $0.path == "docs/security.md" })
    #expect(Promise.all(in: page).count > 120)
    #expect(Promise.findings(page, TestNames(Tree.swift)) == [])
  }

  @Test func `a promise without a test, and a test that is not there, are found`() {
    let tick = "`"
    let names = TestNames([
      TextFile(path: "Tests/A/A.swift", text: "@Test func \(tick)it is so\(tick)() {}\n"),
      TextFile(path: "Tests/A/B.swift", text: "  @Test(\n    \"goes on\", arguments: [1])\n"),
      TextFile(path: "Sources/A/C.swift", text: "func \(tick)it was\(tick)() {}\n"),
    ])
    func found(_ cell: String, holds: String = "much") -> [String] {
      let text = "| who | holds | test |\n|---|---|---|\n| one | \(holds) | \(cell) |\n\nx | y\n"
      return Promise.findings(TextFile(path: "docs/a.md", text: text), names)
        .map(\.description)
    }
    #expect(found("\(tick)it is so\(tick), \(tick)goes on\(tick)") == [])
    #expect(found("–", holds: "–") == [])
    #expect(found("–") == ["docs/a.md:3: a promise without a test"])
    #expect(found("\(tick)it was\(tick)") == ["docs/a.md:3: it was is no test"])
    let line = TextFile(path: "docs/a.md", text: "Tests:\n- \(tick)gone\(tick)\n")
    #expect(Promise.findings(line, names).map(\.description) == ["docs/a.md:2: gone is no test"])
  }
}

/// A row of a table whose last column is called `test`, or a line of what begins with `Tests:`.
private struct Promise {
  let path: String
  let line: Int
  /// Whether it says that nothing holds, or goes on where others are named.
  let isNone: Bool
  let tests: [String]

  static func all(in page: TextFile) -> [Promise] {
    var (isTable, isList) = (false, false)
    var promises: [Promise] = []
    for (index, line) in page.lines.enumerated() {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: [" "]) }
      let isRow = line.hasPrefix("| ")
      if !isRow && !line.hasPrefix("|---") { isTable = false }
      isList = line.hasPrefix("Tests:") || line.hasPrefix("Test: ") || isList && !line.isEmpty
      if isRow, cells.last == "test" {
        isTable = true
      } else if isRow && isTable || isList {
        let text = isRow ? cells.last ?? "" : String(line)
        let parts = text.components(separatedBy: "`").enumerated()
        promises.append(
          Promise(
            path: page.path, line: index + 1, isNone: !isRow || cells.dropLast().contains("–"),
            tests: parts.filter { $0.offset % 2 == 1 }.map(\.element)))
      }
    }
    return promises
  }

  static func findings(_ page: TextFile, _ names: TestNames) -> [Finding] {
    all(in: page).flatMap { promise in
      var whats = promise.tests.filter { !names.all.contains($0) }.map { "\($0) is no test" }
      if promise.tests.isEmpty, !promise.isNone { whats.append("a promise without a test") }
      return whats.map { Finding(path: promise.path, line: promise.line, what: $0) }
    }
  }
}

/// What tests are called.
private struct TestNames {
  private(set) var all: Set<String> = []

  init(_ files: [TextFile]) {
    for file in files where file.path.hasPrefix("Tests/") {
      for part in file.text.components(separatedBy: "func `").dropFirst() {
        all.insert(String(part.prefix { $0 != "`" }))
      }
      for part in file.text.components(separatedBy: "@Test(").dropFirst() {
        let name = part.drop { $0.isWhitespace }
        guard name.first == "\"" else { continue }
        all.insert(String(name.dropFirst().prefix { $0 != "\"" }))
      }
    }
  }
}
