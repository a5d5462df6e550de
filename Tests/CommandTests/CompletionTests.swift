import Foundation
import Testing

@testable import FlotillaCommand

private func place(_ words: String...) -> Completion.Place {
  Completion(of: .flotilla).place(of: words)
}

private func words(_ place: Completion.Place) -> [String] {
  if case .words(let candidates) = place { return candidates.map(\.word) }
  return []
}

@Suite struct `Completing words` {
  @Test func `begins with the commands`() {
    #expect(Set(words(place(""))).isSuperset(of: Program.flotilla.commands.map(\.name)))
    let topics = ["rules", "clocks", "copies", "keys", "docs"]
    #expect(words(place("help", "")) == Program.flotilla.commands.map(\.name) + topics)
    #expect(place("nonsense", "") == .nothing)
  }

  @Test func `names the help once`() {
    #expect(words(place("")).filter { $0.contains("help") } == ["help"])
    #expect(words(place("-")).suffix(2) == ["--help", "--version"])
    #expect(words(place("status", "a.db", "-")).count { $0 == "--help" } == 1)
    #expect(!words(place("status", "--help", "-")).contains("--help"))
  }

  @Test func `follows the parameters in turn`() {
    #expect(place("track", "a") == .files)
    #expect(place("track", "a.db", "") == .tables(database: "a.db", before: ""))
    #expect(place("track", "a.db", "t", "u", "") == .tables(database: "a.db", before: ""))
    #expect(place("grant", "a.db", "") == .nodes(database: "a.db", or: []))
    #expect(words(place("grant", "a.db", "ward", "t", "")) == ["read", "write", "none"])
    #expect(place("stop", "a.db", "") == .nothing)
    #expect(place("run", "a.db", "") == .files)
  }

  @Test func `gives the values of options`() {
    let tables = Completion.Place.tables(database: "a.db", before: "t=read,")
    #expect(place("token", "a.db", "add", "x", "--tables", "t=read,u") == tables)
    let others = ["anchor", "all"].map { Completion.Candidate(word: $0) }
    #expect(place("wait", "a.db", "--for", "") == .nodes(database: "a.db", or: others))
    #expect(place("sync", "a.db", "") == .nodes(database: "a.db", or: [], itself: false))
    #expect(place("init", "a.db", "--name", "") == .nothing)
    #expect(place("run", "--http", "") == .files)
    #expect(place("run", "a.db", "--listen", "") == .nothing)
  }

  @Test func `offers an option once, and none that excludes another one`() {
    #expect(words(place("init", "a.db", "--all", "-")).contains("--rule"))
    #expect(!words(place("init", "a.db", "--all", "-")).contains("--track"))
    #expect(!words(place("init", "a.db", "--json", "-")).contains("--json"))
    #expect(words(place("run", "--peer", "x:1", "-")).contains("--peer"))
    #expect(place("status", "--", "-") == .files)
  }

  @Test func `knows the tables of a file that is no replica yet`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    try folder.run("/usr/bin/sqlite3", ["a.db", "CREATE TABLE patient (id TEXT PRIMARY KEY)"])
    let said = try folder.flotilla(Completion.request, "init", "a.db", "--track", "")
    #expect(said == "patient\t\n")
  }

  @Test func `leaves out what lies beside a database`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    try Data(CompletionScript.bash.text.utf8).write(to: folder.url.appending(component: "script"))
    try folder.run("/usr/bin/touch", ["a.db", "a.db-wal", "a.db-shm"])
    try folder.run("/usr/bin/mkdir", ["a.db-flotilla"])
    let asked = """
      source ./script; COMP_WORDS=(flotilla status a.); COMP_CWORD=2
      _flotilla flotilla a.; echo "${COMPREPLY[@]}"
      """
    #expect(try folder.run("/usr/bin/bash", ["-c", asked]) == "a.db\n")
  }

  /// Those of the three shells that are on this machine.
  private static let present = CompletionScript.allCases.filter {
    access("/usr/bin/\($0.rawValue)", X_OK) == 0
  }

  @Test(arguments: Self.present)
  func `is understood by the shell, with tables of the file`(script: CompletionScript) throws {
    let shell = "/usr/bin/\(script.rawValue)"
    let folder = try Folder()
    defer { folder.remove() }
    try Data(script.text.utf8).write(to: folder.url.appending(component: "script"))
    try folder.flotilla("init", "a b.db")
    try folder.flotilla("sql", "a b.db", "CREATE TABLE patient (id TEXT PRIMARY KEY)")
    let asked =
      switch script {
      case .bash:
        """
        source ./script; COMP_WORDS=(flotilla track 'a\\ b.db' pa); COMP_CWORD=3
        _flotilla flotilla pa; echo "${COMPREPLY[@]}"
        """
      case .zsh:
        // The functions of its own that show a choice only work at a prompt.
        """
        compdef() { : }; _describe() { print -l ${(P)4} }; _files() { : }
        source ./script; words=(flotilla track 'a\\ b.db' pa); CURRENT=4; PREFIX=pa; _flotilla
        """
      case .fish: "source ./script; complete -C 'flotilla track a\\ b.db pa'"
      }
    let said = try folder.run(shell, ["-c", asked])
    #expect(said.hasPrefix("patient"), "\(said)")
  }
}

/// A folder for one test, and the built program in it.
struct Folder {
  let url: URL
  let products = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    .deletingLastPathComponent().path

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  func remove() { try? FileManager.default.removeItem(at: url) }

  /// What a program prints, errors as well.
  @discardableResult
  func run(_ path: String, _ words: [String], status: Int32 = 0) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: path)
    process.arguments = words
    process.currentDirectoryURL = url
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    process.environment = ProcessInfo.processInfo.environment.merging([
      "SWIFT_BACKTRACE": "enable=no", "PATH": "\(products):\(path)", "HOME": url.path,
    ]) { $1 }
    let pipe = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    let text = String(decoding: data, as: UTF8.self)
    #expect(process.terminationStatus == status, "\(words): \(text)")
    return text
  }

  @discardableResult
  func flotilla(_ words: String..., status: Int32 = 0) throws -> String {
    try run(products + "/flotilla", words, status: status)
  }
}
