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

  @Test func `sets what was wrapped by hand`() {
    let parts = Roff.parts("One\ntwo.\n\n  $ make\n  $ test\n\nThree `make`.")
    #expect(
      parts == [.plain("One two."), .example(["$ make", "$ test"]), .plain("Three `make`.")])
    var page = Roff(title: "a", source: "b 1")
    page.section("Text", parts + [.plain(".so /etc/passwd"), .term("--x", "a\\b,\"c\"")])
    #expect(
      page.text == """
        .TH "A" 1 "" "b 1" "Flotilla"
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
