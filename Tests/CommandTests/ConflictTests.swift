import Flotilla
import Foundation
import Testing

@testable import FlotillaCommand

/// The conflict log as people and programs read it.
@Suite struct `A conflict` {
  private func conflict(
    table: String, key: String, lost: String, columns: [String]
  ) throws -> ConflictReport.Conflict {
    let text = """
      {"id":3,"table":"\(table)","key":\(key),"rule":"newest-wins","reason":"older",
      "at":"2026-01-31T09:30:00Z","state":"open","winner":null,
      "loser":{"node":"b","stamp":"2026-01-31T09:29:00.007Z","undated":false,"deleted":false,
      "row":\(lost)}}
      """
    var conflict = try JSONDecoder().decode(ConflictReport.Conflict.self, from: Data(text.utf8))
    conflict.loser?.columns = columns
    return conflict
  }

  @Test func `shows the key columns first, then the order of the table`() throws {
    let conflict = try conflict(
      table: "t", key: #"{"id":1}"#, lost: #"{"id":1,"b":"y","a":"x"}"#, columns: ["id", "b", "a"])
    let lines = Conflicts.sides(conflict, colour: false).split(separator: "\n")
    #expect(lines[0] == "t 1: older, rule newest-wins, open")
    let columns = lines.dropFirst(4).compactMap { line in
      line.split(separator: " ").first { $0 != "*" }.map(String.init)
    }
    #expect(columns == ["id", "b", "a"])
  }

  @Test func `comes before the rows that got a fresh key, of which ten are listed`() throws {
    let open = try conflict(table: "t", key: #"{"id":1}"#, lost: #"{"id":1}"#, columns: ["id"])
    var fresh = open
    fresh.state = "rekeyed"
    let few = Conflicts.openFirst([fresh, open])
    #expect(few.shown.map(\.state) == ["open", "rekeyed"] && few.more == 0)
    let many = Conflicts.openFirst(Array(repeating: fresh, count: 13) + [open])
    #expect(many.shown.count == 11 && many.shown.first == open && many.more == 3)
  }

  @Test(arguments: [
    ("NULL", SQLValue.null), ("x'01fF'", .blob([1, 255])), ("X''", .blob([])),
    ("'NULL'", .text("NULL")), ("'x''01'''", .text("x'01'")), ("''", .text("")),
    ("x'0'", .text("x'0'")), ("x'zz'", .text("x'zz'")), ("x'", .text("x'")), ("'", .text("'")),
    ("'it's'", .text("'it's'")), ("7", .text("7")), ("", .text("")),
  ])
  func `is given another value as SQL writes it`(text: String, value: SQLValue) {
    #expect(Conflicts.settingValue(text) == value)
  }

  @Test func `has no order of columns in its JSON`() throws {
    let conflict = try conflict(
      table: "t", key: #"{"id":1}"#, lost: #"{"id":1}"#, columns: ["id"])
    let known = #""node":"b","row":{"id":1},"stamp":"2026-01-31T09:29:00.007Z","undated":false"#
    #expect(
      JSON(reflecting: try #require(conflict.loser)).description == "{\"deleted\":false,\(known)}")
  }

  @Test func `is told by the time of the site, and by whom it was won as far as that is known`()
    throws
  {
    var open = try conflict(table: "t", key: #"{"id":1}"#, lost: #"{"id":1}"#, columns: ["id"])
    let moment = Conflicts.moment(of: "2026-01-31T09:32:00Z")
    func row(_ conflict: ConflictReport.Conflict) -> String {
      Conflicts.text([conflict], at: moment, colour: false)
        .split(separator: "\n").last.map(String.init) ?? ""
    }
    #expect(row(open).contains("2 m ago"))
    #expect(row(open).contains("not known"))
    open.reason = "already-deleted"
    #expect(row(open).contains("nobody known (delete)"))
    open.reason = "not-allowed"
    #expect(row(open).contains("what was there"))
    open.winner = open.loser
    open.winner?.node = nil
    #expect(row(open).contains("nobody known  not allowed"))
    open.winner?.node = "ward-2"
    #expect(row(open).contains("ward-2"))
  }

  @Test func `of a refused edit shows what stands`() throws {
    var conflict = try conflict(
      table: "t", key: #"{"id":1}"#, lost: #"{"id":1,"v":"mine"}"#, columns: ["id", "v"])
    conflict.reason = "not-allowed"
    conflict.winner = conflict.loser
    conflict.winner?.row = nil
    let unknown = Conflicts.sides(conflict, colour: false)
    #expect(unknown.contains("what it said is not known here"))
    conflict.stands = try report(#"{"row":{"id":1,"v":"theirs"}}"#)
    let lines = Conflicts.sides(conflict, colour: false).split(separator: "\n")
    #expect(lines[2] == "won:  b at 2026-01-31T09:29:00.007Z; shown is what stands now")
    #expect(lines[5].split(separator: " ") == ["*", "v", "mine", "theirs"])
    // Of a new row nothing stands.
    conflict.winner = nil
    conflict.stands = try report(#"{"row":null}"#)
    #expect(
      Conflicts.sides(conflict, colour: false).contains(
        "won:  no row, for there is none under this key"))
    let list = Conflicts.text([conflict], at: .current, colour: false)
    #expect(list.contains("  no row  not allowed"), "\(list)")
    #expect(JSON(reflecting: conflict).description.contains(#""stands":{"row":null}"#))
  }

  @Test func `shows both rows side by side, and marks the columns that differ`() throws {
    var conflict = try conflict(
      table: "t", key: #"{"id":1}"#, lost: #"{"id":1,"ward":"A","bed":7,"note":null}"#,
      columns: ["id", "ward", "bed", "note"])
    conflict.winner = conflict.loser
    conflict.winner?.row?["ward"] = .text("B")
    conflict.winner?.row?["note"] = .text("")
    let lines = Conflicts.sides(conflict, colour: false).split(separator: "\n").dropFirst(3)
    let cells = lines.map { $0.split(separator: " ").map(String.init) }
    #expect(
      cells == [
        ["COLUMN", "LOST", "WON"], ["id", "1", "1"], ["*", "ward", "A", "B"], ["bed", "7", "7"],
        ["*", "note", "NULL"],
      ])
    // Of a delete every column differs.
    conflict.winner?.row = nil
    conflict.winner?.deleted = true
    let deleted = Conflicts.sides(conflict, colour: false).split(separator: "\n").dropFirst(4)
    #expect(deleted.count == 4 && deleted.allSatisfy { $0.hasPrefix("*") })
  }

  @Test func `tells times to the thousandth, and why it lost`() throws {
    var conflict = try conflict(
      table: "t", key: #"{"id":1}"#, lost: #"{"id":1}"#, columns: ["id"])
    conflict.winner = conflict.loser
    conflict.winner?.stamp = "2026-01-31T09:29:00.250Z"
    let lines = Conflicts.sides(conflict, colour: false).split(separator: "\n")
    #expect(lines[1] == "lost: b at 2026-01-31T09:29:00.007Z")
    #expect(lines[2] == "won:  b at 2026-01-31T09:29:00.250Z")
    #expect(Conflicts.why(conflict) == "it lost because what stands was written later")
    // Of what cannot be dated nobody can say that it was written earlier.
    conflict.loser?.undated = true
    #expect(Conflicts.why(conflict).contains("nobody can tell when it was written"))
    let list = Conflicts.text([conflict], at: .current, colour: false)
    #expect(list.contains("older, undated"))
  }

  @Test func `about a constraint names it, and nobody who has deleted anything`() throws {
    var conflict = try conflict(
      table: "t", key: #"{"id":1}"#, lost: #"{"id":1}"#, columns: ["id"])
    conflict.reason = "parked"
    conflict.because = "UNIQUE bed: taken by row q"
    conflict.winner = conflict.loser
    conflict.winner?.deleted = true
    #expect(Conflicts.why(conflict).hasSuffix("what stands (UNIQUE bed: taken by row q)"))
    conflict.because = nil
    #expect(Conflicts.why(conflict).contains("nothing in this file is in its way now: "))
    #expect(Conflicts.sides(conflict, colour: false).contains("won:  b (no row)"))
    let list = Conflicts.text([conflict], at: .current, colour: false)
    #expect(list.contains("b (no row)") && !list.contains("(delete)"))
    // A row that waits is parked; what an anchor has rejected does not fit.
    #expect(list.contains("does not fit") && !list.contains("parked"))
    conflict.reason = "older"
    #expect(Conflicts.sides(conflict, colour: false).contains("won:  b (delete)"))
  }

  @Test func `has its reason in words, and each word is in the page about rules`() throws {
    let page = try String(
      contentsOfFile: `The unit of a database`.top + "/docs/rules.md", encoding: .utf8)
    for (code, words) in [
      ("older", "older"), ("unseen", "unseen"), ("offline", "offline"),
      ("already-deleted", "already deleted"), ("key-collision", "key taken"),
      ("parked", "does not fit"), ("not-allowed", "not allowed"),
    ] {
      var conflict = try conflict(
        table: "t", key: #"{"id":1}"#, lost: #"{"id":1}"#, columns: ["id"])
      conflict.reason = code
      let shown = Conflicts.sides(conflict, colour: false)
      #expect(shown.hasPrefix("t 1: \(words), rule newest-wins, open"), "\(shown)")
      #expect(Conflicts.text([conflict], at: .current, colour: false).contains("  \(words)  "))
      #expect(page.contains("| \(words) | `\(code)` |"), "\(code)")
    }
  }

  @Test func `with a row that waits says why in words`() throws {
    var row: ConflictReport.Parked = try report(
      """
      {"id":"p3fa29c","table":"bed","key":{"id":"p"},"why":"reference","row":{"id":"p","ward":"w"},
      "because":"FOREIGN KEY ward: ward has no row w"}
      """)
    #expect(
      Conflicts.why(row)
        == "a row that it refers to is not here (FOREIGN KEY ward: ward has no row w)")
    row.because = nil
    let words = ["constraint", "reference", "parent", "table", "too-large"].map { why in
      row.why = why
      return Conflicts.why(row)
    }
    #expect(Set(words).count == 5 && !words.contains(row.why))
    #expect(Conflicts.parked([row], colour: false).contains("p3fa29c"))
  }

  @Test func `has the columns of its key in their order`() throws {
    let key = #""key":{"n":2,"ord_id":1},"key_columns":["ord_id","n"]"#
    let row: ConflictReport.Parked = try report(
      #"{"id":"p3fa29c","table":"line",\#(key),"why":"table","row":{"n":2,"ord_id":1}}"#)
    let parked = Conflicts.parked([row], colour: false)
    #expect(parked.contains("line   1, 2"), "\(parked)")
    var conflict = try conflict(
      table: "line", key: #"{"n":2,"ord_id":1}"#, lost: "null", columns: [])
    // A node of before does not say it.
    #expect(Conflicts.sides(conflict, colour: false).hasPrefix("line 2, 1: older"))
    conflict.key_columns = ["ord_id", "n"]
    #expect(Conflicts.sides(conflict, colour: false).hasPrefix("line 1, 2: older"))
    #expect(Conflicts.text([conflict], at: .current, colour: false).contains("line   1, 2"))
    conflict.became = try report(#"{"key":{"n":2,"ord_id":9},"rows":0}"#)
    #expect(Conflicts.why(conflict).hasSuffix("it goes on as 9, 2"))
  }

  @Test func `that is restored tells what was written over`() throws {
    var change: ConflictChange = try report(
      #"{"id":3,"state":"restored","was_gone":false,"awaits_verdict":false}"#)
    let text = "what lost in conflict 3 was written again"
    #expect(Conflicts.restored(change) == text)
    change.awaits_verdict = true
    change.replaced = ["id": .integer(1), "v": .text("x")]
    #expect(
      Conflicts.restored(change) == text
        + ", over what had been written since then: id = 1, v = x; the anchor has yet to judge it")
    change.replaced = nil
    change.isDelete = true
    let deleted = "the row of conflict 3 was deleted again, which had lost"
    #expect(Conflicts.restored(change) == deleted + "; the anchor has yet to judge it")
  }

  @Test func `of the settings is called after its table`() throws {
    let conflict = try conflict(
      table: "_flotilla_table", key: #"{"name":"ward"}"#,
      lost: #"{"name":"ward","rule":"client-wins"}"#, columns: ["name", "rule"])
    let shown = Conflicts.sides(conflict, colour: false)
    #expect(shown.hasPrefix("rule of ward: older"))
    let moment = Moment.current
    let list = Conflicts.text([conflict], at: moment, colour: false)
    #expect(list.contains("rule of ward") && !list.contains("_flotilla_table"))
  }
}
