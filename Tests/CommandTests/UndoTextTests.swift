import Flotilla
import Foundation
import Testing

@testable import FlotillaCommand

/// What `revoke --undo-since` says.
@Suite struct `What a member has written` {
  @Test func `is told with its date, and is left where stamps alone count`() throws {
    let row = """
      {"table":"t","key":{"id":1},"key_columns":["id"],"way":"put-back","new":false,
      "deleted":false,"late":true,"done":false}
      """
    let text = """
      {"node":"b","since":"2026-03-01T08:00:00.000Z","knows_arrivals":true,"rows":[\(row)],
      "put_back":0,"left":1,"more":false,"awaits_verdict":false}
      """
    let undo = try JSONDecoder().decode(UndoReport.self, from: Data(text.utf8))
    func said(byStamp: Bool) -> [String] {
      Revoke.text(undo, isDone: false, byStamp: byStamp, colour: false)
        .split(separator: "\n").map(String.init)
    }
    let all = said(byStamp: false)
    #expect(all[1].contains("not known, came later") && all[1].hasSuffix("put back"))
    #expect(all[2].hasPrefix("1 row can be put back (--yes does it), 0 to decide"))
    let dated = said(byStamp: true)
    #expect(dated[1].hasSuffix("left: it is dated before"))
    #expect(dated[2].hasPrefix("0 rows can be put back (--yes does it), 1 to decide"))
  }
}
