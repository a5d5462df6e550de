import Replication
import SQLite
import Testing

@testable import Store

/// Keys that are asked for in order are answered by what was read ahead, and by nothing old.
@Suite struct VersionsAheadTests {
  /// A table of the integers below a thousand that the step divides, in an open transaction.
  private func table(step: Int64 = 2) throws -> (replica: TestReplica, id: Int64) {
    let replica = try TestReplica(
      1, schema: "CREATE TABLE n(id INTEGER PRIMARY KEY)", tracking: ["n"])
    try replica.write(
      """
      WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + \(step) FROM c WHERE i + \(step) < 1000)
      INSERT INTO n SELECT i FROM c
      """)
    try replica.foldAll()
    let id = try #require(replica.store.tables.table("n")).id
    return (replica, id)
  }

  private func key(_ number: Int64) -> Key { Key([.integer(number)], collations: [.binary])! }

  private func find(_ replica: TestReplica, _ id: Int64, _ number: Int64) throws -> Version? {
    try replica.store.versions.version(table: id, key: key(number))
  }

  @Test(arguments: [1, 2, 3, 7, 40] as [Int64])
  func `in order each key is found, and no other`(step: Int64) throws {
    let (replica, id) = try table(step: step)
    try replica.store.transaction {
      for number in 0..<1_010 {
        let found = try find(replica, id, Int64(number))
        #expect((found != nil) == (Int64(number) % step == 0 && number < 1_000), "\(number)")
      }
    }
  }

  @Test func `out of order, and of two tables in turn, likewise`() throws {
    let (replica, id) = try table()
    var draws = SystemRandomNumberGenerator()
    try replica.store.transaction {
      for _ in 0..<60 {
        let start = Int64.random(in: 0..<1_000, using: &draws)
        for number in start..<(start + Int64.random(in: 1..<40, using: &draws)) {
          let isThere = number % 2 == 0 && number < 1_000
          let (found, none) = (try find(replica, id, number), try find(replica, id + 1, number))
          #expect((found != nil) == isThere && none == nil, "\(number)")
        }
        let other = Int64.random(in: 0..<1_000, using: &draws)
        let found = try find(replica, id, other)
        #expect((found != nil) == (other % 2 == 0), "\(other)")
      }
    }
  }

  @Test func `what was written meanwhile is seen, before and behind`() throws {
    let (replica, id) = try table()
    let versions = replica.store.versions
    try replica.store.transaction {
      for number in 0..<20 { _ = try find(replica, id, Int64(number)) }
      var version = try #require(try find(replica, id, 20))
      for (number, hash) in [(20, 7), (21, 8), (33, 9), (500, 10)] as [(Int64, UInt64)] {
        version.hash = hash
        try versions.put(version, table: id, key: key(number))
        let found = try find(replica, id, number)
        #expect(found?.hash == hash, "\(number)")
      }
      try versions.remove(table: id, key: key(40))
      for number in 20..<600 {
        let hash = try find(replica, id, Int64(number))?.hash
        switch number {
        case 20, 21, 33, 500: #expect([7, 8, 9, 10].contains(hash), "\(number)")
        case 40: #expect(hash == nil)
        default: #expect((hash != nil) == (number % 2 == 0), "\(number)")
        }
      }
    }
  }

  @Test func `another transaction sees what was written between`() throws {
    let (replica, id) = try table()
    try replica.store.transaction {
      for number in 0..<30 { _ = try find(replica, id, Int64(number)) }
    }
    // By whom does not matter.
    try replica.application.run(
      "DELETE FROM _flotilla_version WHERE key = ?", [.blob(key(32).bytes)])
    try replica.store.transaction {
      for number in 30..<40 {
        let found = try find(replica, id, Int64(number))
        #expect((found != nil) == (number % 2 == 0 && number != 32), "\(number)")
      }
    }
  }

  @Test func `what was rolled back is not seen`() throws {
    let (replica, id) = try table()
    struct Failure: Error {}
    #expect(throws: StoreError.self) {
      try replica.store.transaction {
        let version = try #require(try find(replica, id, 20))
        try replica.store.versions.put(version, table: id, key: key(31))
        for number in 0..<20 { _ = try find(replica, id, Int64(number)) }
        throw Failure()
      }
    }
    try replica.store.transaction {
      for number in 20..<40 {
        let found = try find(replica, id, Int64(number))
        #expect((found != nil) == (number % 2 == 0), "\(number)")
      }
    }
  }

  @Test func `who asks for few of many looks for them one by one`() throws {
    let ahead = VersionsAhead()
    let (replica, id) = try table(step: 1)
    var reads = 0
    for number in stride(from: Int64(0), to: 1_000, by: 25) {
      guard case .unknown = ahead.answer(id, key(number)), ahead.isToRead(id, key(number)) else {
        continue
      }
      reads += 1
      try ahead.read(id, key(number), on: replica.application)
    }
    // The first read was of no use, so none follows for long.
    #expect(reads == 1)
  }
}

@Suite struct KeyOrderTests {
  @Test func `is that of ranks, tables and keys, also where keys begin alike`() {
    var draws = SystemRandomNumberGenerator()
    let rows = (0..<2_000).map { index in
      let word = ["", "a", "customer-", "customer-0001-"].randomElement(using: &draws)!
      let text = Array("\(word)\(Int.random(in: 0..<60, using: &draws))".utf8)
      return (
        rank: Int.random(in: -1...1, using: &draws), table: Int64.random(in: 1...2, using: &draws),
        key: Key([.text(text)], collations: [.binary])!, index: index
      )
    }
    var order = KeyOrder(capacity: rows.count)
    for row in rows { order.add(rank: row.rank, table: row.table, row.key) }
    let wanted = rows.sorted { left, right in
      (left.rank, left.table, left.key, left.index)
        < (right.rank, right.table, right.key, right.index)
    }
    #expect(order.sorted { rows[$0].key }.map(Int.init) == wanted.map(\.index))
  }
}
