import Replication
import SQLite
import Testing

@testable import Store

/// Rows as one replica tells them, beside those of another.
@Suite struct AccountTests {
  @Test func `are told in order, each once, as they stand`() throws {
    let replica = try AuditTests.replica()
    try replica.writePastTriggers(
      """
      UPDATE t SET v = 'x' WHERE id = 'key7'; DELETE FROM pair WHERE c = 9;
      INSERT INTO other VALUES (1, 2), (999999999999, 3);
      """)
    let rows = try replica.account(Array(0..<256))
    #expect(zip(rows, rows.dropFirst()).allSatisfy { $0.place < $1.place })
    let tables = Dictionary(grouping: rows, by: \.table).mapValues(\.count)
    #expect(tables == ["_flotilla_table": 3, "other": 301, "pair": 300, "t": 300])
    let states = Dictionary(grouping: rows, by: \.state).mapValues(\.count)
    // One of the two that were inserted stands in the place of a delete.
    #expect(states == [.live: 891 + 3 - 2, .deleted: 8, .uncaptured: 2, .missing: 1, .changed: 1])
  }

  @Test func `of some buckets are those of no others`() throws {
    let replica = try AuditTests.replica()
    let all = try replica.account(Array(0..<256))
    #expect(try replica.account([3, 77]) == all.filter { [3, 77].contains($0.bucket) })
  }

  @Test func `that have no room wait for the next part`() throws {
    let replica = try AuditTests.replica()
    let id = try replica.store.openWalk(Array(0..<256), strays: [], at: replica.now).id
    defer { try? replica.store.closeWalk(id) }
    var (count, isDone) = (0, false)
    while !isDone {
      // Nothing is pinned while the peer takes it.
      if count % 5 == 0 { try replica.store.rest(id) }
      #expect(count % 5 > 0 || replica.store.exports.isEmpty)
      switch try replica.store.walkOn(id, room: 200, isFirst: true, at: replica.now) {
      case .rows(let rows):
        #expect(rows.count < 2 || rows.reduce(0) { $0 + $1.size } <= 200)
        count += rows.count
      case .full: Issue.record("a row alone always has room")
      case .done: isDone = true
      }
    }
    #expect(count == 903)
  }

  @Test func `leave nothing open`() throws {
    let replica = try AuditTests.replica()
    _ = try replica.compare(with: try AuditTests.replica(2))
    let store = replica.store
    let open = store.verification
    #expect(store.exports.isEmpty && open.audits.isEmpty && open.walks.isEmpty)
    #expect(open.joins.isEmpty)
  }

  @Test func `are compared with those of another replica`() throws {
    let (one, two) = (try AuditTests.replica(1), try AuditTests.replica(2))
    try one.exchange(with: two)
    try two.pull(from: one)
    #expect(try one.compare(with: two).count == 0)
    try one.write("INSERT INTO other VALUES (5, 'on its way')")
    try one.foldAll()
    #expect(try one.compare(with: two).onTheWay == 1)
    #expect(try two.compare(with: one).onTheWay == 1)
    try two.pull(from: one)
    try two.writePastTriggers("UPDATE t SET v = 'x' WHERE id = 'key7'")
    try two.write("DELETE FROM pair WHERE c = 3")
    try two.foldAll()
    try one.pull(from: two)
    let found = try one.compare(with: two)
    #expect(found.differences.map(\.why) == [.otherContent])
    #expect(found.onTheWay == 0 && found.forgotten == 0)
  }

  @Test func `of a replica that has nothing are all on their way, or missing`() throws {
    let one = try AuditTests.replica(1)
    let empty = try TestReplica(2)
    #expect(try one.compare(with: empty).onTheWay == 894)
    // It claims to have seen all.
    var comparison = RowComparison(
      here: one.store.position.frontier, there: one.store.position.frontier)
    for row in try one.account(Array(0..<256)) { comparison.take(row, nil) }
    #expect(comparison.count == 894 && comparison.forgotten == 9)
  }
}

extension TestReplica {
  /// All rows of some buckets.
  func account(_ buckets: [Int]) throws -> [AccountRow] {
    let strays = try audit().strays
    let id = try store.openWalk(buckets, strays: strays, at: now).id
    defer { try? store.closeWalk(id) }
    var rows: [AccountRow] = []
    while case .rows(let more) = try store.walkOn(id, at: now) { rows += more }
    return rows
  }

  /// Joins the account of another replica, told in small parts, with that of this one.
  func compare(with other: TestReplica) throws -> RowComparison {
    let all = Array(0..<256)
    let (theirs, there) = (try other.account(all), other.store.position.frontier)
    let audit = try audit()
    let id = try store.openWalk(all, strays: audit.strays, at: now).id
    defer { try? store.closeWalk(id) }
    try store.verification.join(id, here: audit.frontier, there: there)
    for start in stride(from: 0, to: theirs.count, by: 37) {
      let rows = Array(theirs[start..<min(start + 37, theirs.count)])
      store.verification.tell(id, rows, isLast: false)
      while try store.joinOn(id, at: now) == true {}
    }
    store.verification.tell(id, [], isLast: true)
    while try store.joinOn(id, at: now) == true {}
    return try #require(store.verification.comparison(id))
  }
}
