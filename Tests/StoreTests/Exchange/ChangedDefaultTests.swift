import Replication
import SQLite
import Testing

@testable import Store

/// Migrations that give a column another default. A default counts for nothing in the hash of a
/// row, so rows that show different things may have one hash between two machines.
@Suite struct ChangedDefaultTests {
  private static let before =
    "CREATE TABLE job(id TEXT PRIMARY KEY NOT NULL, state TEXT DEFAULT 'new', note TEXT)"
  /// As a migration tool writes it: the old default becomes the new one in all rows.
  private static let migration = """
    BEGIN; CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, state TEXT DEFAULT 'open', note TEXT);
    INSERT INTO n SELECT id, replace(state, 'new', 'open'), note FROM job;
    DROP TABLE job; ALTER TABLE n RENAME TO job; COMMIT
    """

  private func replicas() throws -> [TestReplica] {
    let r = try [
      TestReplica(1, schema: Self.before, tracking: ["job"]), TestReplica(2, schema: Self.before),
    ]
    try r[1].pull(from: r[0])
    try r[0].write("INSERT INTO job VALUES ('a', 'closed', NULL)")
    try settle(r)
    return r
  }

  private func settle(_ r: [TestReplica]) throws {
    for _ in 0..<2 { try r[0].exchange(with: r[1]) }
  }

  private func states(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows("SELECT id || ' ' || state FROM job ORDER BY id")
  }

  @Test func `a row that had the old default goes to who has migrated before`() throws {
    let r = try replicas()
    try r[0].write(Self.migration)
    try r[1].write("INSERT INTO job(id) VALUES ('b')")
    try settle(r)
    #expect(try states(r[0]) == ["a closed", "b new"])
    try r[1].write(Self.migration)
    try settle(r)
    for replica in r { #expect(try states(replica) == ["a closed", "b open"]) }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  @Test func `an edit made before a default changes elsewhere stands, and is no conflict`() throws {
    let r = try replicas()
    try r[0].write("INSERT INTO job(id) VALUES ('b')")
    try settle(r)
    for replica in r { replica.clock += 3_600_000 }
    try r[1].write("UPDATE job SET note = 'mine' WHERE id = 'b'")
    try r[1].foldAll()
    r[0].clock += 3_600_000
    try r[0].write(Self.migration)
    try r[0].foldAll()
    try settle(r)
    try r[1].write(Self.migration)
    try settle(r)
    for replica in r {
      #expect(try states(replica) == ["a closed", "b open"])
      #expect(try replica.value("SELECT note = 'mine' FROM job WHERE id = 'b'").integer == 1)
      #expect(try replica.store.figures().conflicts == 0)
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  @Test func `a comparison that is killed half-way still knows of the new default`() throws {
    let r = try replicas()
    try r[0].write(Self.migration)
    for number in 0..<1_200 { try r[1].write("INSERT INTO job(id) VALUES ('b\(number)')") }
    try settle(r)
    try r[1].write(Self.migration)
    #expect(try r[1].store.fold(at: r[1].now).hasMore)
    try r[1].reopen()
    try settle(r)
    #expect(try states(r[0]) == states(r[1]))
    #expect(try r[0].value("SELECT count(*) FROM job WHERE state = 'open'").integer == 1_200)
  }

  @Test(arguments: [0, 1])
  func `edits to the default of each machine end as one of them`(last: Int) throws {
    let r = try replicas()
    try r[0].write(Self.migration)
    try r[0].foldAll()
    for (index, state) in [(1 - last, 0), (last, 1)].map({ ($0.0, $0.0 == 0 ? "open" : "new") }) {
      r[index].clock = 1_800_000_100_000 + (index == last ? 50_000 : 0)
      try r[index].write("UPDATE job SET state = '\(state)' WHERE id = 'a'")
      try r[index].foldAll()
    }
    try settle(r)
    #expect(try states(r[0]) == states(r[1]))
  }
}
