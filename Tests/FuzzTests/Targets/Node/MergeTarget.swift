import Replication
import SQLite

@testable import Store

/// Merges two batches into a small replica; whatever they hold, the file stays whole.
///
/// The first byte says of which kind the exchanges are; the first batch is a blob, the second the
/// rest. Ends are made to fit, or hardly anything would come as far as the tables.
func readMerge(_ bytes: [UInt8]) {
  guard let flags = bytes.first else { return }
  var reader = ByteReader(Array(bytes.dropFirst()))
  guard let first = try? reader.blob("batch", limit: 1 << 16) else { return }
  let second = Array(bytes.suffix(reader.remaining))
  let batches = [first, second].compactMap { try? RowBatch(bytes: $0) }
  guard !batches.isEmpty else { return }
  do {
    let sandbox = try Sandbox("merge", schema: Sandbox.schema, tracking: Sandbox.tracked)
    let tables = try sandbox.tables()
    let store = try Store(path: sandbox.path)
    if flags & 16 != 0 {
      try Connection(path: sandbox.path).execute("UPDATE t SET v = 'mine' WHERE id = 1")
    }
    for (number, bytes) in [first, second].enumerated() {
      merge(bytes, kind: flags >> (UInt8(number) * 2) & 3, store)
    }
    try sandbox.expectWhole(since: tables)
    try expectLasting(store, sandbox)
  } catch {
    fatalError(explain(error))
  }
}

private func merge(_ bytes: [UInt8], kind: UInt8, _ store: Store) {
  guard let batch = try? RowBatch(bytes: bytes) else { return }
  var covers = Frontier()
  for row in batch.rows { covers.raise(row.version.dot.origin, to: row.version.dot.seq) }
  let end = End(rows: UInt64(batch.rows.count), check: batch.check)
  let last = covers.sorted.last
  let merged: Begin.Kind =
    switch (kind, last) {
    case (1, let last?): .push(origin: last.origin, from: last.seq - 1, to: last.seq)
    case (2, _): .repair
    default: .full(covers: covers)
    }
  let before = store.position
  do throws(StoreError) {
    _ = try store.merge(
      Merge(
        sender: Identity(high: 9, low: 9), kind: merged, batches: [bytes], rowsBefore: 0,
        checkBefore: 0, end: kind == 3 ? nil : end, movesFrontier: kind < 2), at: Sandbox.now)
  } catch {
    // Refused; only edits of this replica's own may have been folded on the way.
    let own = store.own
    let others = store.position.frontier.beyond(before.frontier).entries.keys.filter { $0 != own }
    demand(others.isEmpty, "\(error) moved the frontier of \(others)")
  }
}

/// What the store says is in the file, and all of it can be sent on.
private func expectLasting(_ store: Store, _ sandbox: Sandbox) throws {
  let again = try Store(path: sandbox.path)
  demand(again.position.frontier == store.position.frontier, "another frontier")
  demand(again.position.digest == store.position.digest, "another digest")
  let opened = try again.openExport(.above(Frontier()), at: Sandbox.now)
  var parts: [UInt8] = []
  reading: while true {
    switch try again.readExport(opened.id, at: Sandbox.now) {
    case .part(let bytes): parts += bytes
    case .batch(let batch):
      _ = try RowBatch(bytes: parts + batch.bytes)
      parts = []
    case .done, .paused: break reading
    }
  }
  try again.closeExport(opened.id)
}
