import Replication
import SQLite

/// The digest on disk: 256 sums, written back as far as they have changed.
final class DigestTable {
  private let connection: Connection
  private(set) var digest = Digest()
  private var stored = Digest()

  init(_ connection: Connection) throws(SQLiteError) {
    self.connection = connection
    try reload()
  }

  func reload() throws(SQLiteError) {
    var sums = Digest().buckets
    for row in try connection.rows("SELECT bucket, sum FROM _flotilla_digest") {
      guard let bucket = row[0].integer, let sum = row[1].integer,
        sums.indices.contains(Int(bucket))
      else { continue }
      sums[Int(bucket)] = UInt64(bitPattern: sum)
    }
    digest = Digest(buckets: sums) ?? Digest()
    stored = digest
  }

  func replace(table: UInt64, key: Key, old: Version?, new: Version?) {
    digest.replace(table: table, key: key, old: old, new: new)
  }

  /// Adds what was found to be missing in the sums, and writes all of them, in the open
  /// transaction: those in the file may be wrong, too.
  func correct(by missing: [UInt64]) throws(SQLiteError) {
    guard let right = Digest(buckets: zip(digest.buckets, missing).map { $0 &+ $1 }) else { return }
    digest = right
    try connection.run("DELETE FROM _flotilla_digest")
    stored = Digest()
  }

  /// Writes what has changed, in the open transaction.
  func save() throws(SQLiteError) {
    for bucket in digest.differing(from: stored) {
      try connection.run(
        "INSERT OR REPLACE INTO _flotilla_digest(bucket, sum) VALUES (?, ?)",
        [.integer(Int64(bucket)), .integer(Int64(bitPattern: digest.buckets[bucket]))])
    }
    stored = digest
  }
}
