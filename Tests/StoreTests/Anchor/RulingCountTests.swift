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
