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
      "loser":{"node":"b","stamp":"2026-01-31T09:29:00Z","deleted":false,"row":\(lost)}}
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

  @Test func `has no order of columns in its JSON`() throws {
    let conflict = try conflict(
      table: "t", key: #"{"id":1}"#, lost: #"{"id":1}"#, columns: ["id"])
    #expect(
      JSON(reflecting: try #require(conflict.loser)).description
        == #"{"deleted":false,"node":"b","row":{"id":1},"stamp":"2026-01-31T09:29:00Z"}"#)
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
