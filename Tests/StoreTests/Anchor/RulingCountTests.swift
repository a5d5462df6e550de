import Replication
import SQLite
import Testing

@testable import Store

/// Whether rulings may have been let go of, as a merge may ask for each of its rows.
@Suite struct RulingCountTests {
  private struct Undone: Error {}

  private func item(_ seq: UInt64, at replica: TestReplica) -> RulingTable.Item {
    let dot = Dot(replica.origin, seq)
    let version = Version(
      dot: dot, created: dot, stamp: Stamp(millisecondsSince1970: Int64(seq)), hash: 0,
      isDeleted: false)
    return RulingTable.Item(
      table: 1, key: Key(bytes: [1]), version: version,
      ruling: Ruling(.rejected(.older), edit: dot, rule: "newest"))
  }

  /// An edit that was made again has the numbers of a whole bulk edit, maybe.
  @Test func `one about a row is found by the row`() throws {
    let replica = try TestReplica(1, pace: Pace())
    let plan = try replica.application.rows(
      "EXPLAIN QUERY PLAN SELECT * FROM _flotilla_ruling AS r \(RulingTable.ofRow)",
      [.integer(1), .integer(1), .integer(9), .integer(1), .blob([1])])
    #expect(plan.first?[3].string?.contains("_flotilla_ruling_row (tbl=? AND key=?)") == true)
    let store = replica.store
    try store.transaction {
      for seq in 1...3 as ClosedRange<UInt64> { try store.rulings.put(item(seq, at: replica)) }
    }
    var edit = item(3, at: replica).version
    edit.context.add(Dot(replica.origin, 2))
    #expect(try store.rulings.about(edit, table: 1, Key(bytes: [1]))?.ruling.edit.seq == 3)
    #expect(try store.rulings.about(edit, table: 1, Key(bytes: [2])) == nil)
    edit = item(7, at: replica).version
    #expect(try store.rulings.about(edit, table: 1, Key(bytes: [1])) == nil)
  }

  @Test func `those that a transaction adds count, and none that were rolled back`() throws {
    var pace = Pace()
    pace.rulings = 2
    let replica = try TestReplica(1, pace: pace)
    let store = replica.store
    var lacking: [Bool] = []
    func note() throws { lacking.append(try store.rulings.mayLack()) }
    do {
      try store.transaction {
        try note()
        try store.rulings.put(item(1, at: replica))
        // The same one again.
        try store.rulings.put(item(1, at: replica))
        try note()
        try store.rulings.put(item(2, at: replica))
        try note()
        throw Undone()
      }
    } catch {
      try note()
    }
    #expect(lacking == [false, false, true, false])
    lacking = []
    try store.transaction {
      try note()
      try store.rulings.put(item(3, at: replica))
      try note()
    }
    try store.transaction { try store.rulings.put(item(4, at: replica)) }
    try note()
    try store.transaction { try note() }
    #expect(lacking == [false, false, true, true])
  }
}
