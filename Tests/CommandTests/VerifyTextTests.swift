import Flotilla
import SQLite
import Testing

@testable import FlotillaCommand

/// Writes as a program would that takes the triggers away and puts them back.
func pastTriggers(_ sql: String, in path: String) throws {
  let connection = try Connection(path: path)
  connection.setBusyTimeout(milliseconds: 5_000)
  let triggers = try connection.rows("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
  try connection.transaction { () throws(SQLiteError) in
    for trigger in triggers {
      try connection.execute("DROP TRIGGER \"\(trigger[0].string ?? "")\"")
    }
    try connection.execute(sql)
    for trigger in triggers { try connection.execute(trigger[1].string ?? "") }
  }
}

@Suite struct `The report of a verify` {
  private func verify(
    _ local: String = "", findings: Int = 0, identical: Bool = false, peers: [String]
  ) throws -> VerifyReport {
    try report(
      """
      {"identical":\(identical),"node":"ward-1","rows":48112,"digest":"3f9a000000000001",
      "parked":0,"local":[\(local)],"local_findings":\(findings),"repaired":0,"waiting":[],
      "peers":[\(peers.joined(separator: ","))]}
      """)
  }

  private func peer(
    _ name: String, _ state: String, differing: String = "", rows: Int = 0, onTheWay: Int = 0,
    forgotten: Int = 0, uncaptured: Int = 0, repaired: Int = 0, error: String? = nil
  ) -> String {
    """
    {"node":"\(name)","state":"\(state)","identical":\(state == "identical"),"rows":48112,
    "digest":"3f9a000000000001","differing":[\(differing)],"differing_rows":\(rows),
    "on_the_way":\(onTheWay),"forgotten":\(forgotten),"uncaptured":\(uncaptured),
    "repaired":\(repaired),"error":\(error.map { "\"\($0)\"" } ?? "null")}
    """
  }

  @Test func `has one line for each node`() throws {
    let report = try verify(
      identical: true,
      peers: [
        peer("ward-2", "identical"), peer("old", "identical", forgotten: 2),
        peer("kiosk", "incomparable", error: "it may not read every table"),
        peer("bag", "away", error: "not in reach"),
        peer("busy", "moving", onTheWay: 1),
      ])
    #expect(
      Verify.text(report, colour: false) == """
        ward-1 (this node): sound, 48,112 rows, digest 3f9a000000000001
        ward-2: identical, 48,112 rows, digest 3f9a000000000001
        old: identical, 48,112 rows, digest 3f9a000000000001, 2 deletes that one of the two has \
        forgotten
        kiosk: not compared: it may not read every table
        bag: away: not in reach
        busy: no difference so far, 1 row on the way
        """)
  }

  @Test func `lists rows that differ, and shows no control characters`() throws {
    let live = #"{"edited_by":"a","edited_at":null,"state":"live","content":"0123456789abcdef"}"#
    let row =
      #"{"table":"t","key":{"id":"a\u001bb"},"why":"newer-there","here":\#(live),"there":null}"#
    let report = try verify(
      #"{"table":"t","key":{"id":1},"finding":"changed"},"#
        + #"{"table":null,"key":null,"finding":"sums"}"#,
      findings: 80, peers: [peer("w", "differing", differing: row, rows: 1, repaired: 3)])
    #expect(
      Verify.text(report, colour: false) == """
        ward-1 (this node): 80 findings, 48,112 rows, digest 3f9a000000000001
          TABLE  KEY  FINDING
          t      1    changed without its triggers
                      the sums of all rows are wrong
          and 78 more rows; --json has the first 1,000
        w: 1 row differs, 3 repaired
          TABLE  KEY       WHY         HERE          THERE
          t      a\\u{1b}b  newer at w  01234567 (a)  —
        """)
  }

  @Test func `ends with a status that tells what is wrong from what may yet be equal`() throws {
    for (peers, status) in [
      ([], .notInSync), ([peer("a", "away")], .notInSync), ([peer("a", "late")], .notInSync),
      ([peer("a", "moving"), peer("b", "identical")], .notInSync),
      ([peer("a", "away"), peer("b", "differing")], .failed), ([peer("a", "failed")], .failed),
      ([peer("a", "incomparable")], .failed),
      ([peer("a", "incomparable"), peer("b", "away")], .notInSync),
    ] as [([String], FlotillaCommand.ExitStatus)] {
      #expect(Verify.status(of: try verify(peers: peers)) == status, "\(peers)")
    }
    #expect(Verify.status(of: try verify(identical: true, peers: [])) == .done)
    for (finding, status) in [
      ("waiting", FlotillaCommand.ExitStatus.notInSync), ("changed", .failed),
    ] {
      let local = #"{"table":"t","key":{"id":1},"finding":"\#(finding)"}"#
      let report = try verify(local, findings: 1, peers: [peer("a", "identical")])
      #expect(Verify.status(of: report) == status)
    }
    // Of many findings the first are told, and none with a long key.
    var report = try verify(
      #"{"table":"t","key":{"id":1},"finding":"waiting"}"#, findings: 2_000,
      peers: [peer("a", "identical")])
    report.uncaptured = 1
    #expect(Verify.status(of: report) == .failed)
    report.uncaptured = 0
    #expect(Verify.status(of: report) == .notInSync)
  }
}
