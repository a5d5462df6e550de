import Foundation
import Testing

/// Pages that lead into the code name what is there: each type, function and file of theirs exists.
@Suite struct ArchitectureTests {
  static let code = CodeNames(Tree.swift)
  static let sections = ["The way of one row", "Where to start"]

  private func page(_ path: String) throws -> TextFile {
    try #require(Tree.files.first { $0.path == path })
  }

  @Test(arguments: sections)
  func `the page of the architecture names what there is`(section: String) throws {
    let spans = CodeSpan.all(in: try page("docs/architecture.md"), section: section)
    #expect(spans.filter { $0.fileName != nil }.count > 20)
    #expect(spans.filter { $0.member != nil }.count > 10)
    #expect(Self.code.findings(spans) == [])
  }

  @Test func `the table of targets says what they may import`() throws {
    var told: [String: Set<String>] = [:]
    for line in try page("docs/architecture.md").lines where line.hasPrefix("| ") {
      let cells = line.split(separator: "|").map { cell in
        cell.split(separator: ",").map { $0.trimmingCharacters(in: [" ", "`"]) }
      }
      guard cells.count == 4, let target = cells[0].first, TreeTests.imports[target] != nil else {
        continue
      }
      told[target] = cells[1] == ["nothing"] ? [] : Set(cells[1])
    }
    #expect(told == TreeTests.imports)
  }

  @Test func `the glossary names a type for each word, and each is there`() throws {
    let glossary = try page("docs/glossary.md")
    let rows = CodeSpan.rows(in: glossary, column: 3, of: 5)
    #expect(rows.count > 80)
    #expect(rows.filter { row in !row.contains { $0.typeName != nil } }.compactMap(\.first) == [])
    #expect(Self.code.findings(rows.flatMap { $0 }) == [])
  }

  @Test func `a name that is not there is found`() {
    let code = CodeNames([
      TextFile(
        path: "Sources/A/Store+Fold.swift",
        text: "extension Store {\n  /// struct No\n  func fold(at now: Int) {}\n}\n"),
      TextFile(path: "Sources/A/Store.swift", text: "package final class Store {\n}\n"),
    ])
    func found(_ line: String) -> [String] {
      let text = "# A\n\n## B\n\n\(line)\n\n```\n`Nothing`\n```\n\n## C\n\n`Nothing`\n"
      let page = TextFile(path: "docs/a.md", text: text)
      return code.findings(CodeSpan.all(in: page, section: "B")).map(\.description)
    }
    let tick = "`"
    func span(_ name: String) -> String { tick + name + tick }
    #expect(found(span("Store.fold") + " in " + span("Store+Fold.swift")) == [])
    #expect(found(span("Store") + " and " + span("UPDATE t") + " of " + span("_flotilla_t")) == [])
    #expect(found(span("Gone")) == ["docs/a.md:5: Gone is no type of the code"])
    #expect(found(span("No")) == ["docs/a.md:5: No is no type of the code"])
    #expect(found(span("Gone.swift")) == ["docs/a.md:5: Gone.swift is no file of the code"])
    #expect(
      found(span("Store.fold") + " in " + span("Store.swift"))
        == ["docs/a.md:5: Store.fold is not in Store.swift"])
    #expect(
      found(span("Store.fol") + " in " + span("Store+Fold.swift"))
        == ["docs/a.md:5: Store.fol is not in Store+Fold.swift"])
    #expect(found(span("Store.fold")) == ["docs/a.md:5: Store.fold is named without its file"])
  }
}

/// What stands between two backquotes on a page.
struct CodeSpan: Equatable {
  let path: String
  let line: Int
  let text: String

  /// The name of a Swift file, if it is one.
  var fileName: String? {
    guard text.hasSuffix(".swift"), !text.contains("/"), !text.contains(" ") else { return nil }
    return text
  }

  /// The type that is named, alone or before a member.
  var typeName: String? { parts?.first }

  /// The member that is named after its type.
  var member: String? { parts.flatMap { $0.count == 2 ? $0[1] : nil } }

  private var parts: [String]? {
    guard fileName == nil, text.first?.isUppercase == true else { return nil }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count <= 2, parts.allSatisfy(CodeNames.isName) else { return nil }
    return parts
  }

  /// Those below a heading of the second level, up to the next one, without blocks of code.
  static func all(in page: TextFile, section: String) -> [CodeSpan] {
    var (isInside, isCode) = (false, false)
    var spans: [CodeSpan] = []
    for (index, line) in page.lines.enumerated() {
      if line.hasPrefix("```") { isCode.toggle() }
      if !isCode, line.hasPrefix("## ") { isInside = line == "## \(section)" }
      guard isInside, !isCode else { continue }
      spans += Self.spans(String(line), page.path, index + 1)
    }
    return spans
  }

  /// Those in one column of each row of the tables that have so many columns, row by row.
  static func rows(in page: TextFile, column: Int, of count: Int) -> [[CodeSpan]] {
    let rows = page.lines.enumerated().filter { _, line in
      line.hasPrefix("| ") && line.split(separator: "|").count == count
    }
    return rows.compactMap { index, line in
      let cell = String(line.split(separator: "|")[column])
      // The heading of a table.
      if cell == " code " { return nil }
      let spans = Self.spans(cell, page.path, index + 1)
      return spans.isEmpty ? [CodeSpan(path: page.path, line: index + 1, text: "")] : spans
    }
  }

  private static func spans(_ text: String, _ path: String, _ line: Int) -> [CodeSpan] {
    text.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map {
      CodeSpan(path: path, line: line, text: $0.element)
    }
  }
}

/// The files and the types of the code, to look names up in.
struct CodeNames {
  private let texts: [String: [String]]
  private let types: Set<String>

  init(_ files: [TextFile]) {
    texts = Dictionary(grouping: files) { $0.path.components(separatedBy: "/").last ?? "" }
      .mapValues { $0.map(\.text) }
    types = Set(files.flatMap { $0.lines.compactMap(Self.declared) })
  }

  /// What is named and is not there.
  func findings(_ spans: [CodeSpan]) -> [Finding] {
    spans.indices.compactMap { index in
      let span = spans[index]
      let file = spans[index...].first { $0.fileName != nil }?.fileName
      return mistake(span, file: file).map {
        Finding(path: span.path, line: span.line, what: "\(span.text) \($0)")
      }
    }
  }

  /// What is wrong with a name; `file` is the one that is named after it.
  private func mistake(_ span: CodeSpan, file: String?) -> String? {
    if let name = span.fileName { return texts[name] == nil ? "is no file of the code" : nil }
    guard let type = span.typeName else { return nil }
    guard types.contains(type) else { return "is no type of the code" }
    guard let member = span.member else { return nil }
    guard let file else { return "is named without its file" }
    let isThere = (texts[file] ?? []).contains { Self.holds(member, of: type, $0) }
    return isThere ? nil : "is not in \(file)"
  }

  private static let kinds: Set<Substring> = ["struct", "class", "enum", "actor", "protocol"]

  /// The type that a line declares, if it does.
  private static func declared(_ line: Substring) -> String? {
    let words = line.split(separator: " ")
    guard words.first?.hasPrefix("//") == false,
      let place = words.firstIndex(where: { kinds.contains($0) }), place + 1 < words.count
    else { return nil }
    return String(words[place + 1].prefix(while: isOfName))
  }

  /// Whether a file declares or extends a type, and something of that name.
  private static func holds(_ member: String, of type: String, _ text: String) -> Bool {
    let types = (kinds.map(String.init) + ["extension"]).map { "\($0) \(type)" }
    let forms = ["func", "var", "let", "case", "enum", "struct"].map { "\($0) \(member)" }
    guard types.contains(where: { isWhole($0, in: text) }) else { return false }
    return member == "init" ? text.contains("init(") : forms.contains { isWhole($0, in: text) }
  }

  /// Whether a text holds these words, and the last one is no longer there.
  private static func isWhole(_ words: String, in text: String) -> Bool {
    text.components(separatedBy: words).dropFirst().contains { rest in
      rest.first.map { !isOfName($0) } ?? true
    }
  }

  private static func isOfName(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_"
  }

  static func isName(_ text: String) -> Bool { !text.isEmpty && text.allSatisfy(isOfName) }
}
