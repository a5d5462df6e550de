import Replication
import SQLite

/// The digest on disk: 256 sums, written back as far as they have changed.
///
/// There are two. They differ where a table's key has come in several shapes, and another one leads
/// than that of the table that is here. Then the numbers from 256 on have by how much.
final class DigestTable: FilePart {
  private let connection: Connection
  private let queue: RowQueue
  /// Of several shapes of a table's key the one that leads counts.
  private(set) var digest = Digest()
  /// The one that the table has here counts.
  private(set) var here = Digest()
  /// Whether the file told the second one, for just the first one that it has.
  private(set) var isHereKnown = true
  private var stored = Digest()
  private var storedHere = Digest()

  init(_ connection: Connection) throws(SQLiteError) {
    self.connection = connection
    queue = connection.queue(
      RowQueue(
        "INSERT OR REPLACE INTO _flotilla_digest(bucket, sum)", into: "_flotilla_digest",
        columns: 2))
    try reload()
  }

  func digest(_ scope: DigestScope) -> Digest { scope == .leading ? digest : here }

  func reload() throws(SQLiteError) {
    let count = Digest.bucketCount
    var sums = Array(repeating: UInt64(0), count: 2 * count + 1)
    for row in try connection.rows("SELECT bucket, sum FROM _flotilla_digest") {
      guard let bucket = row[0].integer, let sum = row[1].integer,
        sums.indices.contains(Int(clamping: bucket))
      else { continue }
      sums[Int(bucket)] = UInt64(bitPattern: sum)
    }
    digest = Digest(buckets: Array(sums[..<count])) ?? Digest()
    // A program of before has written the first ones alone.
    isHereKnown = sums[2 * count] == digest.root
    let apart = sums[count..<2 * count]
    here =
      isHereKnown
      ? Digest(buckets: zip(digest.buckets, apart).map { $0 &+ $1 }) ?? digest : digest
    (stored, storedHere) = (digest, here)
  }

  func replace(table: ReplicaTable, key: Key, old: Version?, new: Version?) {
    let change = Digest.Change(table: table.seed, key: key, old: old, new: new)
    if table.counts(in: .leading) { digest.add(change) }
    if table.counts(in: .here) { here.add(change) }
  }

  /// Another shape of a key counts: in one of the two alone.
  func replace(
    _ scope: DigestScope, _ table: UInt64, _ key: Key, old: Version?, new: Version?
  ) {
    switch scope {
    case .leading: digest.replace(table: table, key: key, old: old, new: new)
    case .here: here.replace(table: table, key: key, old: old, new: new)
    }
  }

  /// Both are the same before shapes that lead are told apart.
  func level() { here = digest }

  /// Adds what was found to be missing in the sums, and writes all of them, in the open
  /// transaction: those in the file may be wrong, too.
  func correct(by missing: [UInt64], here missingHere: [UInt64]) throws(SQLiteError) {
    guard let right = Digest(buckets: zip(digest.buckets, missing).map { $0 &+ $1 }),
      let rightHere = Digest(buckets: zip(here.buckets, missingHere).map { $0 &+ $1 })
    else { return }
    (digest, here) = (right, rightHere)
    try connection.run("DELETE FROM _flotilla_digest")
    (stored, storedHere) = (Digest(), Digest())
  }

  /// Writes what has changed, in the open transaction.
  func save() throws(SQLiteError) {
    for bucket in digest.differing(from: stored) { try write(bucket, digest.buckets[bucket]) }
    if here != digest || storedHere != stored { try saveApart() }
    (stored, storedHere, isHereKnown) = (digest, here, true)
  }

  private func saveApart() throws(SQLiteError) {
    let count = Digest.bucketCount
    if here == digest || !isHereKnown {
      try connection.run("DELETE FROM _flotilla_digest WHERE bucket >= ?", [.integer(Int64(count))])
    }
    guard here != digest else { return }
    for bucket in 0..<count {
      let apart = here.buckets[bucket] &- digest.buckets[bucket]
      guard apart != storedHere.buckets[bucket] &- stored.buckets[bucket] else { continue }
      try write(count + bucket, apart)
    }
    try write(2 * count, digest.root)
  }

  private func write(_ bucket: Int, _ sum: UInt64) throws(SQLiteError) {
    queue.add(Int64(bucket))
    queue.add(Int64(bitPattern: sum))
    try queue.endRow(on: connection)
  }
}
