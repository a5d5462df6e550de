import Replication
import SQLite
import Testing

@testable import Store

/// A repair holds no snapshot for longer than any other export.
@Suite struct RepairExportTests {
  @Test func `a repair pauses, and the rest of a bucket follows`() throws {
    var pace = Pace()
    pace.batchRows = 1
    pace.snapshotTime = 0
    let first = try TestReplica(
      1, schema: "CREATE TABLE note(id INTEGER PRIMARY KEY)", tracking: ["note"], pace: pace)
    try first.write(
      """
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 600)
      INSERT INTO note SELECT i FROM n
      """)
    try first.foldAll()
    let all = Session.ExportScope.buckets(Array(0..<Digest.bucketCount))
    #expect(try snapshot(first, all).progress != nil)
    let keys = (1...600).compactMap { Key([.integer($0)], collations: []) }
    let byBucket = Dictionary(grouping: keys) { Digest.bucket(table: tableSeed("note"), key: $0) }
    let fullest = try #require(byBucket.max { $0.value.count < $1.value.count })
    var scope = Session.ExportScope.bucket(fullest.key, above: Frontier())
    var (rows, snapshots) = (0, 0)
    var reached = Frontier()
    while snapshots < 100 {
      let read = try snapshot(first, scope)
      rows += read.rows
      snapshots += 1
      guard let progress = read.progress else { break }
      #expect(!reached.covers(progress))
      reached.join(progress)
      scope = .bucket(fullest.key, above: reached)
    }
    #expect(rows == fullest.value.count && rows > 2 && snapshots >= rows)
  }

  /// What one snapshot gives, and the progress if it was paused.
  private func snapshot(
    _ replica: TestReplica, _ scope: Session.ExportScope
  ) throws -> (rows: Int, progress: Frontier?) {
    let opened = try replica.store.openExport(scope, at: replica.now)
    defer { try? replica.store.closeExport(opened.id) }
    var rows = 0
    while true {
      switch try replica.store.readExport(opened.id, at: replica.now) {
      case .part: continue
      case .batch(let batch): rows += Int(batch.rows)
      case .paused(let progress): return (rows, progress)
      case .done: return (rows, nil)
      }
    }
  }
}
