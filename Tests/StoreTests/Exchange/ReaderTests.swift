import Replication
import SQLite
import Testing

@testable import Store

/// The connections on which exports are read.
@Suite struct ReaderTests {
  private func replica(_ pace: Pace = Pace()) throws -> TestReplica {
    let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, v)"
    let replica = try TestReplica(1, schema: schema, tracking: ["t"], pace: pace)
    try replica.write("INSERT INTO t VALUES (1, hex(randomblob(500))), (2, 'b'), (3, 'c')")
    try replica.foldAll()
    return replica
  }

  @Test func `the connection of an export that has ended reads what is there by then`() throws {
    let replica = try replica()
    let (held, _) = try replica.export(above: Frontier())
    let reader = try #require(replica.store.exports.spareReader)
    try replica.write("ALTER TABLE t ADD COLUMN w; INSERT INTO t VALUES (4, 'd', 'e')")
    let opened = try replica.store.openExport(.above(held), at: replica.now)
    #expect(replica.store.exports[opened.id]?.connection === reader)
    #expect(replica.store.exports.spareReader == nil)
    #expect(opened.rows == 1)
    try replica.store.closeExport(opened.id)
    // All versions, that of the settings as well; what the peer holds of them is noted beside the
    // snapshot, and goes with it.
    for _ in 1...2 { #expect(try replica.export(.buckets(Array(0..<256))).1.first?.rows == 5) }
    let bucket = Session.ExportScope.bucket(0, above: Frontier([replica.origin: 1]))
    for _ in 1...2 { _ = try replica.export(bucket) }
  }

  @Test(arguments: [0, 1, 2])
  func `an export that is closed half-way holds no snapshot`(_ steps: Int) throws {
    var pace = Pace()
    (pace.longRow, pace.pieceBytes, pace.batchRows, pace.recentRows) = (150, 100, 1, 1)
    let replica = try replica(pace)
    let opened = try replica.store.openExport(.above(Frontier()), at: replica.now)
    for _ in 0..<steps { _ = try replica.store.readExport(opened.id, at: replica.now) }
    let kept = try #require(replica.store.exports[opened.id])
    try replica.store.closeExport(opened.id)
    #expect(replica.store.exports.spareReader === kept.connection)
    let truncated = try replica.application.row("PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(truncated == [.integer(0), .integer(0), .integer(0)])
  }

  @Test func `none is kept when the file is left`() throws {
    let replica = try replica()
    _ = try replica.export(above: Frontier())
    #expect(replica.store.exports.spareReader != nil)
    try replica.store.leave()
    #expect(replica.store.exports.spareReader == nil)
  }
}
