import Foundation
import Testing

@testable import FlotillaCommand

@Suite struct `The manual` {
  private func text(_ file: String) throws -> String {
    try #require(Manual(of: .flotilla).pages.first { $0.file == file }).text
  }

  @Test func `has a page for the program and for each command`() {
    let files = Manual(of: .flotilla).pages.map(\.file)
    #expect(
      files == ["flotilla.1"] + Program.flotilla.commands.map { "flotilla-\($0.name).1" })
  }

  @Test(arguments: Program.flotilla.commands)
  func `names every argument and option of a command`(command: Command) throws {
    let page = try text("flotilla-\(command.name).1")
    for option in command.options {
      #expect(page.contains("\n\\fB" + option.name.replacingOccurrences(of: "-", with: "\\-")))
    }
    for parameter in command.parameters { #expect(page.contains("\n\\fB\(parameter.name)")) }
  }

  @Test(arguments: Program.flotilla.commands)
  func `names the exit statuses of a command, and no others`(command: Command) throws {
    let section = try #require(
      try text("flotilla-\(command.name).1").split(separator: ".SH ")
        .first { $0.hasPrefix("EXIT STATUS") })
    let named = section.matches(of: #/\\fB(\d)\\fR\n/#).compactMap { Int32($0.1) }
    #expect(named == command.exits.map(\.status.rawValue))
    #expect(Set([0, 1, 2]).isSubset(of: named))
    let isTold = command.help.contains("\nExit status:\n")
    #expect(isTold == !command.statuses.isEmpty)
  }

  /// The page for people and the declarations name the same commands and the same numbers.
  @Test func `says of exit statuses what the page of the commands says`() throws {
    let page = try String(
      contentsOfFile: `The unit of a database`.top + "/docs/commands.md", encoding: .utf8)
    let part = try #require(page.split(separator: "## Exit statuses\n").last)
    let rows = part.matches(of: #/(?m)^\| `([a-z-]+)` \| (.*) \|$/#)
    let written = rows.map { row in
      (String(row.1), row.2.split(separator: "; ").compactMap { Int32($0.prefix(1)) })
    }
    let declared = Program.flotilla.commands.filter { !$0.statuses.isEmpty }
      .map { ($0.name, $0.statuses.keys.map(\.rawValue).sorted()) }
    #expect(written.map { "\($0)" } == declared.map { "\($0)" })
  }

  @Test func `says on each page where the other pages are`() {
    for page in Manual(of: .flotilla).pages {
      let words = ".SH FILES\n.TP\n\\fB/usr/share/doc/flotilla/docs/"
      #expect(page.text.contains(words), "\(page.file)")
    }
  }

  @Test(.enabled(if: access("/usr/bin/mandoc", X_OK) == 0, "there is no mandoc here"))
  func `is well formed`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    try folder.flotilla("write-manual", ".")
    let pages = Manual(of: .flotilla).pages.map(\.file)
    // It ends with another status if it has something to say.
    #expect(try folder.run("/usr/bin/mandoc", ["-Tlint", "-Wwarning"] + pages) == "")
  }

  @Test func `sets what was wrapped by hand`() {
    let parts = Roff.parts("One\ntwo.\n\n  $ make\n  $ test\n\nThree `make`.")
    #expect(
      parts == [.plain("One two."), .example(["$ make", "$ test"]), .plain("Three `make`.")])
    var page = Roff(title: "a", day: "2026-03-01", source: "b 1")
    page.section("Text", parts + [.plain(".so /etc/passwd"), .term("--x", "a\\b,\"c\"")])
    #expect(
      page.text == """
        .TH "A" 1 "2026-03-01" "b 1" "Flotilla"
        .ad l
        .nh
        .SH TEXT
        One two.
        .PP
        .RS 4
        .nf
        $ make
        $ test
        .fi
        .RE
        .PP
        Three \\fBmake\\fR.
        .PP
        \\&.so /etc/passwd
        .TP
        \\fB\\-\\-x\\fR
        a\\eb,\\:"c"

        """)
  }

  @Test func `is written into a folder, or says why not`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    try folder.flotilla("write-manual", ".")
    let written = try String(
      contentsOf: folder.url.appending(component: "flotilla-track.1"), encoding: .utf8)
    #expect(written == (try text("flotilla-track.1")))
    #expect(try folder.flotilla("write-manual", "no/where", status: 1).contains("Make the folder"))
    #expect(try folder.flotilla("write-manual", status: 2).contains("takes a folder"))
  }
}
