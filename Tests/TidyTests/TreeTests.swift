import Foundation
import Testing

/// The style of the house, held over everything in the tree. There is no list of exceptions.
@Suite struct TreeTests {
  /// What each target may import; a target exists because of this.
  static let imports: [String: Set<String>] = [
    "Replication": [],
    "SQLite": ["CMemory", "CSQLite", "Glibc"],
    "Store": ["SQLite", "Replication", "Glibc"],
    "Network": ["CAvahi", "CLinux", "COpenSSL", "CZstd", "Glibc", "Dispatch"],
    "Flotilla": [
      "Store", "SQLite", "Replication", "Network", "CLinux", "FoundationEssentials", "Glibc",
      "Dispatch", "Synchronization",
    ],
    "FlotillaRows": ["Flotilla", "FoundationEssentials"],
    "Gateway": [
      "CEvent", "Flotilla", "SQLite", "FoundationEssentials", "Glibc", "Dispatch",
      "Synchronization",
    ],
    "Mirror": [
      "CMariaDB", "Flotilla", "SQLite", "FoundationEssentials", "Glibc", "Synchronization",
    ],
    "FlotillaCommand": [
      "Flotilla", "Gateway", "Mirror", "FoundationEssentials", "Glibc", "Dispatch",
      "Synchronization",
    ],
    "Simulator": ["CSQLite", "Store", "SQLite", "Replication", "Glibc", "Synchronization"],
    "FlotillaSimulator": ["Simulator", "Foundation", "Glibc", "Dispatch", "Synchronization"],
    "FlotillaBench": [
      "Flotilla", "Mirror", "Store", "SQLite", "Replication", "Network", "Foundation", "Glibc",
      "Dispatch",
    ],
  ]

  /// How often code may vouch for what the compiler cannot check. Lower it when one goes.
  static let unchecked = ["SQLite": 1, "Network": 3]

  @Test func `the tree is found`() {
    #expect(Tree.sources.count > 10)
    #expect(Tree.files.contains { $0.path == "scripts/lan.sh" })
    #expect(Tree.files.contains { $0.path == "Makefile" })
  }

  @Test func `no line is longer than 100 columns`() {
    #expect((Tree.swift + Tree.scripts).flatMap(Rules.lineLength) == [])
  }

  @Test func `no file has more than 400 lines, no test file more than 600`() {
    #expect((Tree.swift + Tree.scripts).flatMap(Rules.fileLength) == [])
  }

  @Test func `no function has more than 70 lines`() {
    #expect(Tree.swift.flatMap(Rules.functionLength) == [])
  }

  @Test func `type names say what the type is`() {
    #expect(Tree.swift.flatMap(Rules.typeNames) == [])
  }

  @Test func `only the programs print`() {
    #expect(Tree.sources.flatMap(Rules.printing) == [])
  }

  @Test func `unchecked code is rare, in its place and explained`() {
    #expect(Tree.sources.flatMap(Rules.uncheckedPlaces) == [])
    for (target, allowed) in Self.unchecked {
      let places = Tree.sources.filter { $0.target == target }.flatMap(Rules.unchecked)
      #expect(places.count <= allowed, "in \(target)")
    }
  }

  @Test func `quotes are written byte by byte`() {
    #expect(Tree.sources.flatMap(Rules.quoting) == [])
  }

  @Test func `targets import what the table allows`() {
    #expect(Tree.sources.flatMap { Rules.imports($0, allowed: Self.imports) } == [])
  }

  @Test func `public types have a summary`() {
    #expect(Tree.sources.flatMap(Rules.publicTypes) == [])
  }

  @Test func `nothing is left for later`() {
    #expect(Tree.files.flatMap(Rules.leftovers) == [])
  }

  @Test func `every page is linked and every link leads somewhere`() {
    #expect(PageRules.unlinked(Tree.files) == [])
    let broken = PageRules.broken(Tree.files) { path in
      FileManager.default.fileExists(atPath: "\(Tree.top)/\(path)")
    }
    #expect(broken == [])
    #expect(PageRules.lost(Tree.files) == [])
  }

  @Test(arguments: ["README.md", "CHANGELOG.md", "LICENSE", "docs/architecture.md"])
  func `the pages that people look for are there`(_ path: String) {
    #expect(Tree.files.contains { $0.path == path && !$0.text.isEmpty })
  }

  @Test func `deliberate breakages fit the product`() {
    #expect(Tree.files.contains { $0.path.hasPrefix("Tests/Mutations/") })
    #expect(Breakages.stale(Tree.files) == [])
  }

  @Test func `decision records are numbered`() {
    #expect(PageRules.decisions(Tree.files.map(\.path)) == [])
  }

  @Test func `sentences of pages and comments can be read once`() {
    #expect(Tree.pages.flatMap(SentenceRule.inPage) == [])
    #expect(Tree.swift.flatMap(SentenceRule.inComments) == [])
  }

  @Test func `nothing speaks of the workshop`() {
    #expect(Tree.files.flatMap(PageRules.workshopWords) == [])
    #expect(Tree.files.flatMap(PageRules.hosts) == [])
  }
}
