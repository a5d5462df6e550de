import Flotilla
import Foundation
import Testing

@testable import FlotillaCommand

@Suite struct `Watching` {
  @Test func `draws over the lines of the last time`() {
    var screen = Screen()
    let size = Screen.Size(columns: 20, rows: 10)
    #expect(screen.frame("a\nb", in: size) == "\ra\u{1b}[K\nb\u{1b}[K\n\u{1b}[J")
    #expect(screen.frame("c", in: size) == "\r\u{1b}[2Ac\u{1b}[K\n\u{1b}[J")
    #expect(screen.frame("d", in: size).hasPrefix("\r\u{1b}[1A"))
  }

  @Test func `shows as many lines as there are`() {
    let text = (1...9).map(String.init).joined(separator: "\n")
    let fitting = Screen.fitting(text, in: Screen.Size(columns: 20, rows: 5))
    #expect(fitting == ["1", "2", "3", "… and 6 more lines"])
    #expect(Screen.fitting(text, in: Screen.Size(columns: 20, rows: 10)).count == 9)
    #expect(Screen.fitting("a\nb", in: Screen.Size(columns: 20, rows: 1)).count == 1)
  }

  @Test(arguments: [
    ("harbour", 7, "harbour"), ("harbour", 4, "har…"), ("港港港", 5, "港港…"), ("", 3, ""),
    ("\u{1b}[31mharbour\u{1b}[0m", 7, "\u{1b}[31mharbour\u{1b}[0m"),
    ("\u{1b}[31mharbour\u{1b}[0m", 4, "\u{1b}[31mhar…\u{1b}[0m"),
  ])
  func `cuts a line, and ends its colour`(line: String, columns: Int, cut: String) {
    #expect(Screen.cut(line, to: columns) == cut)
  }

  @Test func `draws numbers as bars, and nothing as the lowest`() {
    #expect(Sparkline.text([0, 1, 50, 100]) == "▁▂▅█")
    #expect(Sparkline.text([0, 0]) == "▁▁")
    #expect(Sparkline.text([]) == "")
  }

  @Test func `shows how many rows there were in each second`() throws {
    let text = """
      {"site":"s","node":"n","role":"writer","tables":[],"takes_new_tables":false,"new_tables":[],
      "asked_tables":[],"conflicts":0,"parked":0,"unjudged":0,"in_sync":true,"edits":EDITS,
      "not_in_sync":[],"running":true,"remarks":[],"peers":[]}
      """
    let start = ContinuousClock.now
    var history = Status.History()
    for (second, edits) in [0, 1_000, 1_000, 9_000, 500].enumerated() {
      let report = try JSONDecoder().decode(
        StatusReport.self, from: Data(text.replacing("EDITS", with: "\(edits)").utf8))
      history.look(report, at: start + .seconds(second * 2))
      if second == 3 {
        let shown = Status.watched(
          report, history, path: "a.db", at: .current, colour: false)
        #expect(shown.contains("\nrows a second: ▂▁█ 4,000\n"), "\(shown)")
      }
    }
    // A file that was put back has fewer.
    #expect(history.rates == [500, 0, 4_000, 0] && history.behind == [0, 0, 0, 0, 0])
  }

  @Test func `tells a pace that was measured, hints, and what to type`() throws {
    func report(_ behind: Int, running: Bool = true) throws -> StatusReport {
      let text = """
        {"site":"s","node":"n","role":"writer","tables":[],"takes_new_tables":false,
        "new_tables":[],"asked_tables":[],"conflicts":2,"parked":1,"unjudged":0,"in_sync":false,
        "not_in_sync":[],"running":\(running),"remarks":[],"peers":[{"node":"p","id":"1",
        "state":"catching-up","behind_rows":\(behind),"behind_seconds":3,"seconds_left":50,
        "clock_offset_ms":0,"clock_corrected":false}]}
        """
      return try JSONDecoder().decode(StatusReport.self, from: Data(text.utf8))
    }
    let start = ContinuousClock.now
    var history = Status.History()
    func shown(_ report: StatusReport, after seconds: Int) -> String {
      history.look(report, at: start + .seconds(seconds))
      return Status.watched(report, history, path: "a.db", at: .current, colour: false)
    }
    let first = try shown(report(9_000), after: 0)
    #expect(first.contains("9,000 rows, about 50 s left"), "\(first)")
    #expect(first.contains(" · not in sync: p catches up"), "\(first)")
    #expect(first.contains("flotilla conflicts a.db --parked"), "\(first)")
    let second = try shown(report(5_000, running: false), after: 4)
    #expect(second.contains("5,000 rows at 1,000/s, about 50 s left"), "\(second)")
    #expect(second.contains("start it: flotilla run a.db --background"), "\(second)")
    #expect(try !shown(report(5_000), after: 5).contains("/s,"))
  }

  @Test func `does not say that nobody has joined where members were forgotten`() throws {
    let text = """
      {"site":"s","node":"n","role":"writer","tables":[],"takes_new_tables":false,
      "new_tables":[],"asked_tables":[],"conflicts":0,"parked":0,"unjudged":0,"in_sync":true,
      "not_in_sync":[],"running":true,"remarks":[],"peers":[]FORGOTTEN}
      """
    let cases = [
      ("", "no other node has joined"), (",\"forgotten_members\":0", "no other node has joined"),
      (",\"forgotten_members\":2", "no other node is left (2 forgotten)"),
    ]
    for (more, words) in cases {
      let report = try JSONDecoder().decode(
        StatusReport.self, from: Data(text.replacing("FORGOTTEN", with: more).utf8))
      #expect(Status.text(report, at: .current, colour: false).hasSuffix(words))
    }
  }

  @Test func `is plain where nobody sees a terminal, and ends with the state`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    try folder.flotilla("init", "a.db")
    let script = """
      exec 2>/dev/null; set -m; flotilla status a.db --watch >said 2>&1 & p=$!
      for i in $(seq 300); do [ -s said ] && break; sleep 0.1; done
      kill -INT $p; wait $p; s=$?; cat said; exit $s
      """
    let said = try folder.run("/bin/bash", ["-c", script])
    #expect(said.hasSuffix("in sync, no node runs · 0 conflicts · 0 parked\n"), "\(said)")
    #expect(said.split(separator: "\n").count == 1)
  }
}

@Suite struct `An alarm` {
  private func report(_ state: PeerReport.State, conflicts: Int = 0) throws -> StatusReport {
    let text = """
      {"site":"s","node":"n","role":"writer","tables":[],"takes_new_tables":false,"new_tables":[],
      "asked_tables":[],"conflicts":\(conflicts),"parked":0,"unjudged":0,"in_sync":true,
      "not_in_sync":[],"running":true,"remarks":[],"peers":[{"node":"p","id":"1",
      "state":"\(state.rawValue)","behind_rows":0,"behind_seconds":0,"clock_offset_ms":0,
      "clock_corrected":false}]}
      """
    return try JSONDecoder().decode(StatusReport.self, from: Data(text.utf8))
  }

  @Test func `is given when a state is another one, and once`() throws {
    var book = AlarmBook()
    #expect(try !book.isNews(report(.inSync)))
    #expect(try !book.isNews(report(.inSync, conflicts: 3)))
    #expect(try book.isNews(report(.away)))
    #expect(try !book.isNews(report(.away)))
    #expect(try book.isNews(report(.inSync)))
  }

  @Test func `is not given for rows on their way, unless they are for long`() throws {
    var book = AlarmBook()
    let start = ContinuousClock.now
    func isNews(_ state: PeerReport.State, _ seconds: Int) throws -> Bool {
      var report = try report(state)
      report.in_sync = state == .inSync
      return book.isNews(report, at: start + .seconds(seconds))
    }
    #expect(try !isNews(.inSync, 0))
    for second in stride(from: 2, to: 40, by: 4) {
      #expect(try !isNews(.catchingUp, second))
      #expect(try !isNews(.inSync, second + 2))
    }
    #expect(try !isNews(.catchingUp, 50))
    #expect(try !isNews(.catchingUp, 59))
    #expect(try isNews(.catchingUp, 60))
    #expect(try !isNews(.catchingUp, 62))
    #expect(try isNews(.inSync, 64))
    #expect(try !isNews(.catchingUp, 66))
    #expect(try isNews(.away, 67))
  }

  @Test func `reads the log only where its length has changed`() throws {
    var book = AlarmBook()
    #expect(try book.wantsConflicts(report(.inSync)))
    #expect(book.news(in: []).isEmpty)
    #expect(try !book.wantsConflicts(report(.away)))
    #expect(try book.wantsConflicts(report(.away, conflicts: 1)))
    // It could not be read then.
    #expect(try book.wantsConflicts(report(.away, conflicts: 1)))
  }

  @Test func `runs a command for what happens to a node`() async throws {
    let folder = try Folder()
    defer { folder.remove() }
    try folder.run("/usr/bin/sqlite3", ["a.db", "CREATE TABLE t (id TEXT PRIMARY KEY)"])
    try folder.flotilla("init", "a.db", "--all")
    try folder.flotilla(
      "run", "a.db", "--no-discovery", "--listen", "127.0.0.1:0", "--background", "--on-state",
      "cat >> states; echo \"$FLOTILLA_DB\" >> names; exit 3")
    defer { _ = try? folder.flotilla("stop", "a.db") }
    let invitation = try folder.flotilla("invite", "a.db", "--json")
    let address = try #require(invitation.firstMatch(of: /"(127\.0\.0\.1:\d+)"/)?.1)
    let code = try #require(invitation.firstMatch(of: /"code":"([A-Z0-9-]+)"/)?.1)
    try folder.flotilla(
      "join", "b.db", String(code), "--at", String(address), "--name", "second")
    let states = folder.url.appending(component: "states")
    let names = folder.url.appending(component: "names")
    func isDone() -> Bool {
      (try? String(contentsOf: names, encoding: .utf8))?.hasSuffix("\n") == true
    }
    // Whenever the first look was: at some time the other node comes, or goes, after it.
    for _ in 1...20 where !isDone() {
      try folder.flotilla(
        "run", "b.db", "--no-discovery", "--listen", "127.0.0.1:0", "--background", "--peer",
        String(address))
      try await Task.sleep(for: .seconds(3))
      try folder.flotilla("stop", "b.db")
    }
    #expect(try String(contentsOf: states, encoding: .utf8).contains("\"node\":\"second\""))
    #expect(try String(contentsOf: names, encoding: .utf8).hasPrefix("a.db\n"))
  }
}
