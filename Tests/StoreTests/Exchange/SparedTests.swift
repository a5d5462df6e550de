import Replication
import SQLite
import Testing

@testable import Store

/// What a program has written over a value that a parked row claims stays, whatever happens between
/// the slices in which it is folded.
@Suite struct `What a program has written is spared` {
  private static let schema =
    "CREATE TABLE plain(id TEXT PRIMARY KEY NOT NULL, no INTEGER UNIQUE, code INTEGER UNIQUE)"

  /// The value of `p` goes over from `q` to a new row.
  private static let swap =
    "DELETE FROM plain WHERE id = 'q'; INSERT INTO plain(id, no) VALUES ('new', 1)"

  /// A replica where `p`, of the other one, is parked behind `q`.
  private func parked() throws -> [TestReplica] {
    var pace = Pace()
    pace.journalEntries = 4
    let first = try TestReplica(1, schema: Self.schema, tracking: ["plain"], pace: pace)
    let second = try TestReplica(2, schema: Self.schema)
    try second.exchange(with: first)
    try first.write("INSERT INTO plain(id, no) VALUES ('q', 1)")
    try first.foldAll()
    second.clock = first.clock + 1_000
    try second.write("INSERT INTO plain(id, no) VALUES ('p', 1)")
    try second.foldAll()
    try first.exchange(with: second)
    #expect(try first.store.survey.figures().parked == 1)
    first.clock = second.clock + 1_000
    return [first, second]
  }

  /// The place is freed and taken again, behind more than one slice of other edits.
  private func write(_ replica: TestReplica) throws {
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 30)"
    try replica.write("\(numbers) INSERT INTO plain(id, no) SELECT 'x' || i, i FROM n")
    try replica.write(Self.swap)
  }

  private func check(_ replicas: [TestReplica]) throws {
    try replicas[0].foldAll()
    #expect(try replicas[0].value("SELECT id FROM plain WHERE no = 1") == .text(Array("new".utf8)))
    for _ in 0..<2 { try replicas[0].exchange(with: replicas[1]) }
    for replica in replicas {
      #expect(try replica.value("SELECT id FROM plain WHERE no = 1") == .text(Array("new".utf8)))
      #expect(try replica.store.survey.figures().parked == 1)
    }
  }

  @Test func `after a kill between slices`() throws {
    let replicas = try parked()
    try write(replicas[0])
    #expect(try replicas[0].store.fold(at: replicas[0].now).hasMore)
    try replicas[0].reopen()
    try check(replicas)
  }

  @Test func `after a commit that failed`() throws {
    let replicas = try parked()
    try write(replicas[0])
    #expect(try replicas[0].store.fold(at: replicas[0].now).hasMore)
    struct Failure: Error {}
    #expect(throws: StoreError.self) {
      try replicas[0].store.transaction {
        var edits = replicas[0].store.beginEdits()
        try replicas[0].store.foldRest(&edits, at: replicas[0].now)
        try replicas[0].store.finish(&edits)
        throw Failure()
      }
    }
    try check(replicas)
  }

  @Test func `until all is folded and no longer, also if nothing is parked by then`() throws {
    let replicas = try parked()
    let (first, second) = (replicas[0], replicas[1])
    try first.write("INSERT INTO plain(id, code) VALUES ('held', 5)")
    try first.foldAll()
    second.clock = first.clock + 1_000
    try second.write("INSERT INTO plain VALUES ('late', 10, 5)")
    try second.foldAll()
    // The newest is folded first, and the parked row goes to the log with the oldest slice.
    first.clock = second.clock + 1_000
    try first.write("INSERT INTO plain(id, no) VALUES ('p', 40)")
    try write(first)
    try first.foldAll()
    #expect(try first.store.survey.figures().parked == 0)
    try first.exchange(with: second)
    #expect(try first.value("SELECT id FROM plain WHERE no = 10") == .text(Array("x10".utf8)))
    try first.write("DELETE FROM plain WHERE id = 'held'")
    try first.foldAll()
    for _ in 0..<2 { try first.exchange(with: second) }
    for replica in replicas {
      #expect(try replica.value("SELECT id FROM plain WHERE no = 10") == .text(Array("late".utf8)))
    }
  }

  @Test func `where all is folded at once`() throws {
    let replicas = try parked()
    try replicas[0].write(Self.swap)
    try check(replicas)
  }

  @Test func `and a value that a program frees lets a parked row in`() throws {
    let replicas = try parked()
    try replicas[0].write("DELETE FROM plain WHERE id = 'q'")
    try replicas[0].foldAll()
    #expect(try replicas[0].store.survey.figures().parked == 0)
    #expect(try replicas[0].value("SELECT id FROM plain WHERE no = 1") == .text(Array("p".utf8)))
  }
}
