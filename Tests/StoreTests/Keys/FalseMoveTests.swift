import Replication
import SQLite
import Testing

@testable import Store

/// A member says that a row of somebody else has another number now.
@Suite struct FalseMoveTests {
  /// It is said of Ann that Eve is she, and Ann stands where she was.
  private func claim() throws -> [TestReplica] {
    let replicas = try KeysTests.site(2)
    try replicas[0].write(
      "INSERT INTO patient VALUES (1, 'Ann'); INSERT INTO lab(patient, value) VALUES (1, 'Ann')")
    try replicas[0].foldAll()
    try KeysTests.settle(replicas)
    let table = try #require(replicas[0].store.tables.table("patient"))
    let key = try #require(table.key([.integer(1)]))
    let ann = try #require(try replicas[0].store.versions.version(table: table.id, key: key))
    for replica in replicas {
      let eve = HostileKeysTests.row(
        replica, HostileKeysTests.patient, 1, [.integer(5), HostileKeysTests.text("Eve")],
        stamp: replicas[0].clock
      ) {
        $0.numbering.turn = .zero
        $0.numbering.former = [FormerKey(key: key, created: ann.created, edit: ann.edit)]
      }
      try HostileKeysTests.send([eve], to: replica)
      try replica.foldAll()
    }
    return replicas
  }

  private func expectOwn(_ replicas: [TestReplica], _ number: Int64 = 1) throws {
    for replica in replicas {
      #expect(
        try replica.prepareRows(
          "SELECT name || value FROM lab JOIN patient ON patient.id = lab.patient") == ["AnnAnn"])
      #expect(try replica.value("SELECT patient FROM lab") == .integer(number))
    }
  }

  @Test func `nothing follows a row that still stands where it was`() throws {
    let replicas = try claim()
    try KeysTests.settle(replicas)
    try expectOwn(replicas)
    KeysTests.later(replicas[1], than: replicas)
    try replicas[1].write("DELETE FROM patient WHERE id = 5")
    try replicas[1].foldAll()
    try KeysTests.settle(replicas)
    try expectOwn(replicas)
  }

  /// Rows each of which is said to have been the one before.
  @Test(.timeLimit(.minutes(1))) func `a long chain of moves costs as much as its rows`() throws {
    let replica = try KeysTests.site(1)[0]
    let table = try #require(replica.store.tables.table("patient"))
    var last: FormerKey?
    for start in stride(from: 1, through: 3_000, by: 500) {
      let rows = (start..<start + 500).map { number in
        HostileKeysTests.row(
          replica, HostileKeysTests.patient, UInt64(number),
          [.integer(Int64(number)), HostileKeysTests.text("\(number)")]
        ) {
          $0.numbering.turn = .zero
          if let former = last { $0.numbering.former = [former] }
          if let key = table.key([.integer(Int64(number))]) {
            last = FormerKey(key: key, created: $0.dot, edit: $0.dot)
          }
        }
      }
      try HostileKeysTests.send(rows, to: replica)
    }
    #expect(try replica.value("SELECT count(*) FROM patient") == .integer(3_000))
  }
}
