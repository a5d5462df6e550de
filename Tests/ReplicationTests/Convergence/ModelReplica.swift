import Replication

/// A replica in memory: one table of rows, merged by rank; the frontier moves at End only.
struct ModelReplica {
  static let shape = TableShape(name: "t", keyCount: 1, columns: ["id", "text"])
  static let table = tableSeed(shape.name)

  let id: Identity
  let origin: Origin
  private(set) var rows: [Int64: Version] = [:]
  private(set) var frontier = Frontier()
  private(set) var digest = Digest()
  /// Per sender: how far an interrupted catch-up was worked through.
  private(set) var progress: [Identity: Frontier] = [:]
  private(set) var wrongEnds = 0

  init(number: UInt64) {
    id = Identity(high: 0, low: number)
    origin = Origin(rawValue: number * 7 % 5 + 1)
  }

  var position: Position { Position(frontier: frontier, digest: digest, own: origin) }

  /// One fold: each key gets one new version.
  mutating func edit(_ keys: Set<Int64>, moment: Int64, random: inout Seeded) -> Push {
    let from = frontier[origin]
    var (seq, writer) = (from, RowBatchWriter())
    for key in keys.sorted() {
      seq += 1
      let dot = Dot(origin, seq)
      let isDeleted = random.chance(20)
      let version = Version(
        dot: dot, created: rows[key]?.created ?? dot,
        stamp: .placing(moment, over: rows[key]?.stamp), hash: isDeleted ? 0 : random.next() | 1,
        isDeleted: isDeleted)
      put(version, at: key)
      writer.add(Self.shape, version, Self.content(version, key))
    }
    frontier.raise(origin, to: seq)
    return Push(
      origin: origin, from: from, to: seq, batch: writer.bytes, rows: seq - from,
      check: writer.check)
  }

  /// A snapshot: every version above the peer's frontier, even beyond what it covers.
  func export(_ scope: Session.ExportScope) -> ModelExport {
    let wanted = rows.filter { key, version in
      switch scope {
      case .above(let frontier), .unsent(let frontier, _): !frontier.covers(version.dot)
      case .buckets(let buckets):
        buckets.contains(Digest.bucket(table: Self.table, key: Self.key(key)))
      case .bucket(let bucket, let frontier):
        bucket == Digest.bucket(table: Self.table, key: Self.key(key))
          && !frontier.covers(version.dot)
      }
    }
    return ModelExport(
      covers: frontier, rows: wanted.sorted { $0.value.dot < $1.value.dot }.map { $0 })
  }

  mutating func merge(_ merge: Merge) -> MergeResult {
    var (count, check, last) = (UInt64(0), UInt64(0), Dot?.none)
    for bytes in merge.batches {
      guard let batch = try? RowBatch(bytes: bytes) else { preconditionFailure("a broken batch") }
      count += UInt64(batch.rows.count)
      check &+= batch.check
      for row in batch.rows {
        guard case .integer(let key) = row.values[0] else { preconditionFailure("a strange key") }
        last = row.version.dot
        if let held = rows[key], held.rank >= row.version.rank { continue }
        put(row.version, at: key)
      }
    }
    if let end = merge.end {
      let isWhole =
        merge.rowsBefore + count == end.rows && merge.checkBefore &+ check == end.check
      if !isWhole { wrongEnds += 1 }
    }
    move(merge, last: last)
    return MergeResult(rows: count, check: check)
  }

  private mutating func move(_ merge: Merge, last: Dot?) {
    switch merge.kind {
    case .repair: break
    case .push(let origin, _, let to): if merge.movesFrontier { frontier.raise(origin, to: to) }
    case .full(let covers):
      if merge.movesFrontier {
        frontier.join(covers)
        progress[merge.sender] = nil
      } else if let last {
        progress[merge.sender, default: Frontier()].join(covers.reached(at: last))
      }
    }
  }

  /// A row disappears behind the replica's back, as if the machine had been set back.
  mutating func lose(_ key: Int64) { put(nil, at: key) }

  private mutating func put(_ version: Version?, at key: Int64) {
    digest.replace(table: Self.table, key: Self.key(key), old: rows[key], new: version)
    rows[key] = version
  }

  static func key(_ number: Int64) -> Key { Key([.integer(number)], collations: [])! }

  static func content(_ version: Version, _ key: Int64) -> WireRow.Content {
    version.isDeleted
      ? .deleted(key: [.integer(key)])
      : .values([.integer(key), .integer(Int64(bitPattern: version.hash))])
  }
}

extension Frontier {
  /// How far an exchange that covers this has come with the row of this dot; never beyond it.
  func reached(at last: Dot) -> Frontier {
    Frontier(
      Dictionary(
        uniqueKeysWithValues: entries.compactMap { origin, seq in
          if origin < last.origin { return (origin, seq) }
          return origin == last.origin ? (origin, min(seq, last.seq)) : nil
        }))
  }
}

/// A snapshot that is being read, a few rows at a time.
struct ModelExport {
  static let batchRows = 3

  let covers: Frontier
  let rows: [(key: Int64, value: Version)]
  var next = 0
  var isOpened = false
  var isWanted = false

  init(covers: Frontier, rows: [(key: Int64, value: Version)]) {
    self.covers = covers
    self.rows = rows
  }

  var isDone: Bool { next == rows.count }
  var progress: Frontier { next == 0 ? Frontier() : covers.reached(at: rows[next - 1].value.dot) }

  mutating func batch() -> Session.Input {
    var writer = RowBatchWriter()
    for (key, version) in rows[next..<min(next + Self.batchRows, rows.count)] {
      writer.add(ModelReplica.shape, version, ModelReplica.content(version, key))
      next += 1
    }
    return .exported(batch: writer.bytes, rows: UInt64(writer.rowCount), check: writer.check)
  }
}
