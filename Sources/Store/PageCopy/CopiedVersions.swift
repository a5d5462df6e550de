import Glibc
import Replication
import SQLite

/// Takes the sums over the versions of a copy in one walk, and looks at each of them.
struct CopiedVersions {
  private var claims: CopiedClaims
  private let origins: Origins
  /// The seeds of the tables.
  private let seeds: [Int64: UInt64]
  private var sums = ReceivedPages.Versions()
  /// The table whose versions are read, its seed, and what was taken of it.
  private var (table, seed): (Int64, UInt64) = (.min, 0)
  private var (content, live): (UInt64, Int) = (0, 0)
  private var newest: Int64 = 0
  private var last: [UInt8] = []

  init(_ claims: CopiedClaims, on connection: Connection) throws(SQLiteError) {
    self.claims = claims
    origins = try Origins(connection)
    guard origins.frontier.entries.count < Limits.frontierEntries else {
      throw .rows("it has too many origins")
    }
    var seeds: [Int64: UInt64] = [:]
    for row in try connection.rows("SELECT id, name FROM _flotilla_local") {
      if let id = row[0].integer, let name = row[1].string { seeds[id] = tableSeed(name) }
    }
    self.seeds = seeds
  }

  mutating func read(_ connection: Connection) throws(SQLiteError) -> ReceivedPages.Versions {
    let statement = try connection.prepare(
      "SELECT tbl, key, \(VersionTable.columns) FROM _flotilla_version")
    while try statement.step() { try take(statement) }
    endTable()
    sums.newest = Stamp(clamping: newest)
    try claims.checkRest(connection)
    guard try DigestTable(connection).digest == sums.digest else {
      throw .rows("its versions are not those that the inviter counts")
    }
    return sums
  }

  private mutating func take(_ statement: Statement) throws(SQLiteError) {
    let next = statement.integer(0)
    let isNext = next != table
    if isNext { try begin(next) }
    // What is not in order cannot be found by its key.
    guard let place = statement.withBytes(1, { follow($0, isFirst: isNext) }) else {
      throw .rows("its versions are not in order")
    }
    let (seq, stamp) = (statement.integer(3), statement.integer(4))
    guard let origin = origins.origin(of: statement.integer(2)), 1...(1 << 62) ~= seq,
      0...Stamp.highest.rawValue ~= stamp, statement.isText(1) == false
    else { throw .rows("a version in it is none") }
    newest = max(newest, stamp)
    try claims.check(statement)
    guard !statement.isNull(5) else {
      return try claims.check(Key(bytes: statement.bytes(1)), of: table)
    }
    let hash = UInt64(bitPattern: statement.integer(5))
    live += 1
    content &+= RowSums.share(place, hash)
    sums.digest.add(place: place, Dot(origin, UInt64(seq)), hash: hash)
  }

  private mutating func begin(_ next: Int64) throws(SQLiteError) {
    guard next > table else { throw .rows("its versions are not in order") }
    endTable()
    guard let known = seeds[next] else { throw .rows("it has versions of no table") }
    (table, seed) = (next, known)
  }

  private mutating func endTable() {
    guard table != .min else { return }
    (sums.content[table], sums.live[table]) = (content, live)
    (content, live) = (0, 0)
  }

  /// The hash of a key; nil if that does not come after the one before.
  private mutating func follow(_ key: UnsafeRawBufferPointer, isFirst: Bool) -> UInt64? {
    let isAfter = isFirst || last.withUnsafeBytes { Self.precedes($0, key) }
    guard isAfter else { return nil }
    last.replaceSubrange(0..., with: key)
    return hash64(key, seed: seed)
  }

  private static func precedes(
    _ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer
  ) -> Bool {
    guard let first = one.baseAddress, let second = other.baseAddress else {
      return one.isEmpty && !other.isEmpty
    }
    let order = memcmp(first, second, min(one.count, other.count))
    return order != 0 ? order < 0 : one.count < other.count
  }
}
