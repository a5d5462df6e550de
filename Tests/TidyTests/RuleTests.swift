import Testing

/// The rules themselves, on snippets that break them and on snippets that only look like it.
@Suite struct RuleTests {
  private func file(_ text: String, _ path: String = "Sources/Store/A.swift") -> TextFile {
    TextFile(path: path, text: text)
  }

  private func function(of lines: Int) -> String {
    "func f() {\n" + String(repeating: "  x()\n", count: lines - 2) + "}\n"
  }

  @Test func `a line of 101 columns is found`() {
    let long = String(repeating: "ä", count: 101)
    #expect(Rules.lineLength(file("a\n\(long)\n")).map(\.line) == [2])
    #expect(Rules.lineLength(file(String(long.dropLast()))) == [])
  }

  @Test func `a long file is found, a test file may be longer`() {
    let text = String(repeating: "x\n", count: 401)
    #expect(Rules.fileLength(file(text)).count == 1)
    #expect(Rules.fileLength(file(String(text.dropLast(2)))) == [])
    #expect(Rules.fileLength(file(text, "Tests/StoreTests/A.swift")) == [])
    #expect(Rules.fileLength(file(text + text, "Tests/StoreTests/A.swift")).count == 1)
  }

  @Test func `a function of 71 lines is found`() {
    #expect(Rules.functionLength(file("\n" + function(of: 71))).map(\.line) == [2])
    #expect(Rules.functionLength(file(function(of: 70))) == [])
  }

  @Test(arguments: [
    ("init?(a: Int) {\n}", [2]),
    ("subscript(a: Int) -> Int {\n  get { 1 }\n}", [3]),
    ("deinit {\n}", [2]),
    ("func f(\n  a: () -> Void = {},\n  b: [Int] = []\n) async throws(E)\n  -> Int\n{\n}", [7]),
    ("func `a { name`() {\n}", [2]),
    ("func f() {\n  let a = \"}\"\n  // }\n  /* } /* } */ } */\n}", [5]),
    ("func f() {\n  let a = \"\\(g(\"}\"))}\"\n  let b = #\"}\"}\"#\n}", [4]),
    ("func f() {\n  let a = \"\"\"\n    } \"x\" }\n    \"\"\"\n}", [5]),
    ("func f() {\n  func g() {\n  }\n}", [4, 2]),
    ("protocol P {\n  func f()\n  func g() -> Int\n  init()\n}\nstruct S {\n}", []),
    ("let a = self.init(b)\nlet c = f(init: { 1 })\nlet functional = { 1 }", []),
  ])
  func `functions are measured from their first word to their brace`(text: String, lengths: [Int]) {
    #expect(SwiftCode(text).functions.map(\.length) == lengths)
  }

  @Test(arguments: ["Manager", "Helper", "Util", "Utils", "Handler"])
  func `a vague type name is found`(_ suffix: String) {
    #expect(Rules.typeNames(file("  final class Peer\(suffix): Sendable {}")).count == 1)
    #expect(Rules.typeNames(file("// class Peer\(suffix)\nlet a = \"struct \(suffix)\"")) == [])
    #expect(Rules.typeNames(file("struct \(suffix)ed {}\nlet peer\(suffix) = 1")) == [])
  }

  @Test func `printing is found where nobody reads it`() {
    #expect(Rules.printing(file("func f() { print(1) }")).count == 1)
    #expect(Rules.printing(file("  debugPrint(1)")).count == 1)
    #expect(Rules.printing(file("print(1)", "Sources/FlotillaCommand/A.swift")) == [])
    #expect(Rules.printing(file("a.print(1)\nfingerprint(1)\n// print(1)")) == [])
  }

  @Test func `unchecked code is found`() {
    let text = "final class A: @unchecked Sendable {}"
    #expect(Rules.uncheckedPlaces(file("// Held by a lock.\n" + text)).count == 1)
    #expect(Rules.uncheckedPlaces(file(text, "Sources/SQLite/A.swift")).count == 1)
    let explained = "/// Held by a lock.\n@frozen\n" + text
    #expect(Rules.uncheckedPlaces(file(explained, "Sources/SQLite/A.swift")) == [])
    #expect(Rules.unchecked(file("nonisolated(unsafe) var a = 1\n" + text)) == [1, 2])
    #expect(Rules.unchecked(file("/// `@unchecked Sendable` is rare.")) == [])
  }

  @Test(arguments: [
    #"name.replacing("\"", with: "\"\"")"#, #"text.replacing("'", with: "''")"#,
    #"name.replacing("`", with: "``")"#, #"text.replacing("\\", with: "\\\\")"#,
    #"text.replacing("%", with: "%%")"#, #"text.replacing("\n", with: "\\n")"#,
    #"text.replacingOccurrences(of: "'", with: "''")"#,
    #"path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "x")"#,
  ])
  func `a quote that is written by characters is found`(_ line: String) {
    #expect(Rules.quoting(file(line)).count == 1)
  }

  @Test func `what only looks like quoting is not found`() {
    for line in [
      #"text.replacing("-", with: "+")"#, #"name.replacing("n", with: "m")"#,
      #"name.split(separator: "`").last"#, #"quoted(name, by: "`")"#,
    ] {
      #expect(Rules.quoting(file(line)) == [], "\(line)")
    }
  }

  @Test(arguments: [
    "import Foundation", "@preconcurrency import Foundation", "public import struct Foundation.URL",
    "@_spi(Inner) import Foundation", "@testable import Foundation",
  ])
  func `an import that the table does not allow is found`(_ line: String) {
    #expect(Rules.imports(file(line), allowed: ["Store": ["SQLite"]]).count == 1)
    #expect(Rules.imports(file(line), allowed: ["Store": ["Foundation"]]) == [])
    #expect(Rules.imports(file(line), allowed: [:]).count == 1)
    #expect(Rules.imports(file("// " + line), allowed: ["Store": []]) == [])
  }

  @Test func `a public type without a summary is found`() {
    #expect(Rules.publicTypes(file("\n  public final class A {}")).map(\.line) == [2])
    #expect(Rules.publicTypes(file("// Not a summary.\npublic struct A {}")).count == 1)
    #expect(Rules.publicTypes(file("/// A.\n@frozen\npublic enum A {}\nstruct B {}")) == [])
  }

  @Test func `what is left for later is found`() {
    #expect(Rules.leftovers(file("// TO" + "DO: more")).count == 1)
    #expect(Rules.leftovers(file("# FIX" + "ME", "scripts/a.sh")).count == 1)
    #expect(Rules.leftovers(file("todos")) == [])
  }

  @Test func `long sentences are found`() {
    let (many, few) = (Array(repeating: "word", count: 31), Array(repeating: "word", count: 30))
    func page(_ text: String) -> [Finding] { SentenceRule.inPage(file(text, "docs/a.md")) }
    #expect(page(many.joined(separator: " ")).map(\.line) == [1])
    #expect(page("# a\n\nOne.\n" + many.joined(separator: "\n")).count == 1)
    #expect(page(few.joined(separator: " ") + ". " + few.joined(separator: " ")) == [])
    #expect(page("- " + few.joined(separator: " ") + "\n- " + few.joined(separator: " ")) == [])
    #expect(page("| " + many.joined(separator: " ") + " |") == [])
    #expect(page("```\n" + many.joined(separator: " ") + "\n```") == [])
    #expect(page("`" + many.joined(separator: " ") + "` is [one](a%20word)") == [])
    func comment(_ text: String) -> [Finding] { SentenceRule.inComments(file(text)) }
    let lines = many.map { "  /// " + $0 }
    #expect(comment("let a = 1\n" + lines.joined(separator: "\n")).map(\.line) == [2])
    #expect(comment(lines.prefix(20).joined(separator: "\n") + "\n  ///\n" + lines[0]) == [])
    #expect(comment("/// \"" + many.joined(separator: " ") + "\"") == [])
    #expect(comment(many.joined(separator: " ")) == [])
  }

  @Test func `words of the workshop and unknown hosts are found`() {
    #expect(PageRules.workshopWords(file("see iss" + "ue #12", "README.md")).count == 1)
    #expect(PageRules.workshopWords(file("Sess" + "ion 3 of 9", "README.md")).count == 1)
    #expect(PageRules.workshopWords(file("an issue of sessions at work", "README.md")) == [])
    #expect(PageRules.hosts(file("http:" + "//mirror.example.net/simple")).count == 1)
    #expect(PageRules.hosts(file("https:" + "//10.0.0.1/apt")).count == 1)
    #expect(PageRules.hosts(file("https://sqlite.org/wal.html")) == [])
  }

  @Test func `pages without a link and links without a page are found`() {
    let pages = [
      file("[a](docs/a.md#part) [w](https://sqlite.org)", "README.md"),
      file("[b](b.md) [up](../README.md) [gone](c.md)", "docs/README.md"),
      file("# One\n\n## A `part`, too", "docs/a.md"), file("", "docs/b.md"),
      file("", "docs/lost.md"),
    ]
    #expect(PageRules.unlinked(pages).map(\.path) == ["docs/lost.md"])
    let more = file("[x](a.md#a-part-too) [y](a.md#one) [z](a.md#two)", "docs/d.md")
    let parts = PageRules.lost(pages + [more])
    #expect(parts.map(\.path) == ["README.md", "docs/d.md"])
    let there = Set(pages.map(\.path))
    let broken = PageRules.broken(pages) { there.contains($0) }
    #expect(broken.map(\.what) == ["links to docs/c.md, which is not there"])
  }

  @Test func `decision records with a wrong name or number are found`() {
    let good = ["docs/decisions/0001-one.md", "docs/decisions/0002-two-words.md"]
    #expect(PageRules.decisions(good + ["docs/limits.md"]) == [])
    #expect(PageRules.decisions(good + ["docs/decisions/three.md"]).count == 1)
    #expect(PageRules.decisions(good + ["docs/decisions/0003_three.md"]).count == 1)
    #expect(PageRules.decisions(good + ["docs/decisions/0002-other.md"]).count == 2)
  }

  @Test func `breakages of text that is not there once are found`() {
    let product = file("one\ntwo\ntwo\n", "Sources/Store/Some.swift")
    func breakage(_ old: String) -> TextFile {
      file(
        "A rule.\n\ndepth: pure\nfile: Sources/Store/Some.swift\n<<<<\n\(old)====\n>>>>\n",
        "Tests/Mutations/some.txt")
    }
    #expect(Breakages.stale([product, breakage("one\n")]) == [])
    #expect(Breakages.stale([product, breakage("two\n")]).map(\.line) == [6])
    #expect(Breakages.stale([product, breakage("one\nthree\n")]).count == 1)
    #expect(Breakages.stale([breakage("one\n")]).count == 1)
  }
}
