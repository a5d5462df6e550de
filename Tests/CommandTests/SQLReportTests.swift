import Flotilla
import Foundation
import Testing

@testable import FlotillaCommand

private let rows = """
  {"columns":["id","name","id"],"rows":[[1,"Åsa\\n",null],[9007199254740993,"Bo",2.5]],
  "changes":0,"returnedRows":true,"touched":[{"table":"t","key":{"id":1},"columns":["id"],
  "values":[1]},{"table":"t","key":{"id":2},"columns":["id"]}]}
  """

@Suite struct `A JSON text` {
  @Test func `has the rows as objects by column`() throws {
    let sql: SQLReport = try report(rows)
    #expect(
      SQL.json(sql).description == #"{"changes":0,"columns":["id","name","id:1"],"rows":["#
        + #"{"id":1,"id:1":null,"name":"Åsa\n"},"#
        + #"{"id":"9007199254740993","id:1":2.5,"name":"Bo"}],"#
        + #""touched":[{"key":{"id":1},"row":{"id":1},"table":"t"},"#
        + #"{"key":{"id":2},"row":null,"table":"t"}]}"#)
  }

  @Test func `has null where a report has nothing`() throws {
    let doctor: DoctorReport = try report(
      #"{"findings":[{"check":"file","level":"ok","text":"a \"b\" \u0007"}]}"#)
    #expect(
      JSON(reflecting: doctor).description
        == #"{"findings":[{"check":"file","level":"ok","remedy":null,"text":"a \"b\" \u0007"}],"#
        + #""size":null}"#)
  }

  @Test func `can be read back as the same report`() throws {
    let text = """
      {"anchor":null,"anchor_state":null,"asked_tables":[],"clock":null,"conflicts":2,"edits":7,\
      "first_copy":{"from":"a","of":9,"rows":2},"forgotten_members":0,\
      "in_sync":true,\
      "new_tables":[],"node":"ward-1","not_in_sync":[],"parked":0,"peers":[{"address":null,\
      "behind_rows":0,"behind_seconds":0.5,\
      "clock_corrected":true,"clock_offset_ms":-3,"error":null,"id":"a","last_seen":null,\
      "node":"ward-2","program":null,"protocol":null,"remedy":null,"seconds_left":2.5,\
      "state":"catching-up"}],"port":7391,"program":null,"protocol":null,\
      "remarks":["x"],"role":"writer","running":false,\
      "site":"N","standing":null,"stopped":null,"tables":[],"takes_new_tables":false,\
      "trouble":null,"unjudged":0}
      """
    let status: StatusReport = try report(text)
    #expect(JSON(reflecting: status).description == text)
  }

  @Test(arguments: [
    (SQLValue.null, "null"), (.integer(1 << 53), "9007199254740992"),
    (.integer(.min), #""-9223372036854775808""#), (.real(0.1), "0.1"), (.real(5), "5.0"),
    (.real(1e300), "1e+300"), (.real(.infinity), #""Infinity""#),
    (.text("a/\u{0}\"\\\u{2028}"), "\"a/\\u0000\\\"\\\\\u{2028}\""),
    (.blob([0, 255]), #"{"base64":"AP8="}"#),
    (.malformedText([255]), #"{"base64_text":"/w=="}"#),
  ])
  func `of a value is what programs can read`(value: SQLValue, text: String) throws {
    let written = JSON(reflecting: value).description
    #expect(written == text)
    _ = try JSONSerialization.jsonObject(with: Data(written.utf8), options: .fragmentsAllowed)
  }
}

@Suite struct `Rows of a statement` {
  @Test func `stand in columns under their names`() throws {
    let sql: SQLReport = try report(rows)
    #expect(
      SQL.text(sql, colour: false) == #"""
                      id  name     id
                       1  Åsa\n  NULL
        9007199254740993  Bo      2.5
        """#)
  }

  @Test func `show a blob in digits, a long one cut short`() {
    let sql = [[UInt8](repeating: 7, count: 2), [UInt8](repeating: 171, count: 17)]
    #expect(sql.map { SQLValue.blob($0).words } == ["x'0707'", blob17])
  }

  private var blob17: String { "x'" + String(repeating: "ab", count: 16) + "'… (17 bytes)" }
}

@Suite struct `Long values` {
  @Test func `are cut on a terminal, and whole elsewhere`() throws {
    let long = String(repeating: "ä", count: 18_000)
    let text = #"{"columns":["a","b"],"rows":[["\#(long)","short"]],"changes":0,"#
    let report = try JSONDecoder().decode(
      SQLReport.self, from: Data((text + #""returnedRows":true,"touched":[]}"#).utf8))
    let terminal = Output(results: { _ in }, remarks: { _ in }, isTerminal: true)
    let pipe = Output(results: { _ in }, remarks: { _ in })
    #expect(report.cut(for: pipe) == report)
    let cut = String(repeating: "ä", count: 300) + "… (18,000 characters; all: --json)"
    #expect(report.cut(for: terminal).rows == [[.text(cut), .text("short")]])
  }
}
