import Replication
import SQLite

/// The digest on disk: 256 sums, written back as far as they have changed.
final class DigestTable {
  private let connection: Connection
  private(set) var digest = Digest()
  private var stored = Digest()
  private var sum = Digest()

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

  /// For a digest that is summed up anew: all versions, one by one, then `saveSum`.
  func add(table: UInt64, key: Key, _ version: Version) {
    sum.replace(table: table, key: key, old: nil, new: version)
  }

  func saveSum() throws(SQLiteError) {
    digest = sum
    try save()
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
