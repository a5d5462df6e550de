import Flotilla
import Foundation
import Synchronization
import Testing

@testable import FlotillaCommand

@Suite struct `Text for people` {
  @Test(arguments: [
    (0, "0"), (999, "999"), (1204, "1,204"), (48_112_000, "48,112,000"), (-1000, "−1,000"),
  ])
  func `has commas between thousands`(number: Int, expected: String) {
    #expect(thousands(number) == expected)
  }

  @Test(arguments: [
    (1, "1 byte"), (812, "812 bytes"), (1400, "1.4 kB"), (31_000_000, "31 MB"),
    (999_600, "1.0 MB"), (2_500_000_000, "2.5 GB"),
  ])
  func `has sizes in decimal units`(count: Int, expected: String) {
    #expect(sized(count) == expected)
  }

  @Test(arguments: [
    (0.0, "0 s"), (0.021, "0.02 s"), (1.4, "1.4 s"), (3, "3 s"), (59.97, "1 m 00 s"),
    (125, "2 m 05 s"), (3720, "1 h 02 m"), (273_600, "3 d 04 h"), (.infinity, "?"),
  ])
  func `has spans in two units at most`(seconds: Double, expected: String) {
    #expect(span(seconds) == expected)
  }

  @Test(arguments: [
    (20, "+0.02 s"), (0, "+0.00 s"), (-3, "+0.00 s"), (-6, "−0.01 s"), (-1500, "−1.50 s"),
    (-3_720_000, "−1 h 02 m"),
  ])
  func `has clock offsets with a sign`(milliseconds: Int, expected: String) {
    #expect(clockOffset(milliseconds) == expected)
  }

  @Test(arguments: [
    ("2026-03-01T10:14:00Z", "10:14", "now"), ("2026-03-01T10:13:48.250Z", "10:13", "11 s ago"),
    ("2026-03-01T08:14:00Z", "08:14", "2 h ago"),
    ("2026-02-27T08:14:00Z", "27 Feb 08:14", "2 d ago"),
    ("2025-03-01T10:14:00Z", "1 Mar 2025", "365 d ago"), ("2026-03-01T10:15:00Z", "10:15", "now"),
  ])
  func `tells times from the reader's point of view`(text: String, clock: String, ago: String)
    throws
  {
    let moment = try #require(morning())
    let date = try #require(Moment.date(from: text))
    #expect(moment.clock(date) == clock)
    #expect(moment.ago(date) == ago)
  }

  @Test func `stamps log lines to the millisecond`() throws {
    #expect(try #require(morning()).stamp == "2026-03-01 10:14:00.000")
  }

  @Test func `keeps what it shows from steering the terminal`() {
    #expect(printable("ward\u{1b}[2J\n\u{202e}x") == #"ward\u{1b}[2J\n\u{202e}x"#)
    #expect(printable("Zürich 北") == "Zürich 北")
    #expect(printable("FROM \u{feff}a") == #"FROM \u{feff}a"#)
    // Two names would look the same.
    for hidden in ["\u{ad}", "\u{200b}", "\u{3164}", "\u{e0041}"] {
      #expect(printable("An" + hidden + "n") != "An" + hidden + "n")
    }
    #expect(printable("\u{645}\u{6cc}\u{200c}\u{62e}") == "\u{645}\u{6cc}\u{200c}\u{62e}")
  }

  /// A name that was printed as it is in one line of many, by mistake.
  @Test func `lets through colours and line ends alone, also of what nobody has looked at`() {
    let said = Mutex("")
    let output = Output(
      results: { text in said.withLock { $0 += text } },
      remarks: { text in said.withLock { $0 += text } })
    output.result("\u{1b}[1;31mred\u{1b}[0m\tend\nof \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}1m")
    output.remark("\u{1b}[31")
    let shown = #"end\#nof \u{1b}]0;title\u{7}\u{1b}[2J\u{9b}1m"#
    #expect(
      said.withLock { $0 } == "\u{1b}[1;31mred\u{1b}[0m\t" + shown + "\n" + #"\u{1b}[31"# + "\n")
    said.withLock { $0 = "" }
    output.data("{\"name\": \"\u{202e}\"}")
    #expect(said.withLock { $0 } == "{\"name\": \"\u{202e}\"}\n")
  }

  @Test func `shows the name of a rule that nobody knows as it may be shown`() {
    let entry = RuleReport.Entry(table: "t", rule: "x\u{1b}[2J", acting_rule: "newest-wins")
    #expect(Rule.waitingRules([entry]).first?.contains(#"x\u{1b}[2J is no rule"#) == true)
  }

  @Test(arguments: [
    ("clinic.db", "clinic.db"), ("/srv/my data/a.db", "'/srv/my data/a.db'"), ("", "''"),
    ("it's", #"'it'\''s'"#), ("$HOME", "'$HOME'"), ("praxis-ä.db", "praxis-ä.db"),
    ("x'\u{301};touch y;'\u{301}", "'x'\\''\u{301};touch y;'\\''\u{301}'"),
    ("-\u{345}x", "./-\u{345}x"),
  ])
  func `names files so that a shell takes them`(path: String, expected: String) {
    #expect(Array(FlotillaCommand.shellWord(path).utf8) == Array(expected.utf8))
  }

  @Test(arguments: [("ward", 4), ("Zürich", 6), ("Zu\u{308}rich", 6), ("北棟", 4), ("🚢", 2), ("", 0)])
  func `counts columns as a terminal does`(text: String, width: Int) {
    #expect(displayWidth(text) == width)
  }

  @Test func `redraws a line no wider than the terminal`() {
    let said = Mutex("")
    let output = Output(
      results: { _ in }, remarks: { text in said.withLock { $0 = text } }, redraws: true,
      columns: { 40 })
    ProgressBar(output).show(rows: 120_000, of: 240_000, bytes: 31_000_000, note: " taken in")
    let line = said.withLock { $0 }.dropFirst("\r\u{1b}[K".count)
    #expect(displayWidth(String(line)) == 40 && line.hasSuffix("…"), "\(line)")
  }

  @Test func `cuts a word that hides what is said of it`() {
    let name = String(repeating: "n", count: 3_000)
    let text = failureText("the name \"\(name)\" is too long", remedy: "cd \(name)")
    #expect(text.hasPrefix("flotilla: the name \"nnn") && text.contains("nn…\" is too long\n"))
    #expect(text.hasSuffix("cd \(name)\n"))
  }

  @Test func `sets tables in columns`() {
    var table = Table(columns: [
      Table.Column(heading: "NAME"), Table.Column(heading: "N", toTheRight: true),
      Table.Column(heading: "NOTE"),
    ])
    table.rows = [["北棟", "7", ""], ["ward", "1,204", Table.Cell("late", .red)]]
    #expect(table.text(colour: false) == "NAME      N  NOTE\n北棟      7\nward  1,204  late")
    #expect(table.text(colour: true).hasSuffix("1,204  \u{1b}[31mlate\u{1b}[0m"))
  }

  @Test(arguments: [
    (["TERM": "xterm"], true), (["TERM": "xterm", "NO_COLOR": ""], true),
    (["TERM": "xterm", "NO_COLOR": "1"], false), (["TERM": "dumb"], false), ([:], false),
  ])
  func `is coloured only where that is wanted`(environment: [String: String], expected: Bool) {
    #expect(Output.wantsColour(environment) == expected)
  }

  @Test func `draws a bar`() {
    let bar = String(repeating: "█", count: 12) + String(repeating: "░", count: 12)
    #expect(ProgressBar.text(share: 0.5, note: "1 row") == bar + "  50% 1 row")
  }

  @Test func `puts the remedy below the failure`() {
    #expect(failureText("no", remedy: "try\nagain") == "flotilla: no\n  try\n  again\n")
    #expect(failureText("no", remedy: nil) == "flotilla: no\n")
  }
}

/// Fourteen minutes past ten in UTC.
func morning() -> Moment? {
  Moment.date(from: "2026-03-01T10:14:00Z").map { Moment(now: $0, zone: .utc) }
}
