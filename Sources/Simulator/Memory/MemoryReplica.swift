import Replication
import Store

/// A replica without a file: the machines' other half in its simplest form.
///
/// What decides (ranks, stamps, claims, checks) is the product's; this only keeps the rows. It is a
/// value, so that what was on disk at a moment can be kept and come back.
struct MemoryReplica: SimulatedReplica {
  static let shape = TableShape(name: "t", keyCount: 1, columns: ["id", "text"])
  static let table = tableSeed(shape.name)
  /// Keys that applications use; few, so that edits meet.
  static let keys = 12
  static let encoded: [Key] = (0..<keys).map { Key([.integer(Int64($0))], collations: [])! }

  /// What is in the file.
  struct File {
    var versions: [RowNumber: Version] = [:]
    /// What the application reads; nil if the row is deleted.
    var rows: [RowNumber: UInt64] = [:]
    /// Rows that the application has touched, and when last.
    var journal: [RowNumber: Int64] = [:]
    var frontier = Frontier()
    var digest = Digest()
    /// Per sender: how far an interrupted catch-up was worked through.
    var progress: [Identity: Frontier] = [:]
    /// What was signed about members.
    var statements: [SignedStatement] = []
    var rights = Rights.all
  }

  let site = Identity(high: 1, low: 1)
  let id: Identity
  let name: String
  let origin: Origin
  let schemaHash: UInt64 = 1
  var file = File()
  /// What a power cut leaves.
  var durable = File()
  var exports: [Int64: MemoryExport] = [:]
  private var nextExport: Int64 = 1
  private var commits: UInt64 = 0
  /// How often an export pauses, in a thousand.
  let pauses: Int
  let batchRows: Int
  private var random: Seeded
  var witness = Witness()

  init(number: Int, faults: Faults, _ random: inout Seeded) {
    id = Templates.node(number)
    name = "node-\(number)"
    origin = Templates.origin(of: number)
    pauses = faults[.slices]
    batchRows = 1 + random.below(6)
    self.random = random.fork()
  }

  var position: Position {
    Position(frontier: file.frontier, digest: file.digest, own: origin, age: commits)
  }

  var isFolded: Bool { file.journal.isEmpty }

  mutating func write(_ random: inout Seeded, at now: Instant, _ story: inout Story) {
    // To put back what was not allowed is the store's affair: here nobody tries.
    guard file.rights.right(to: Self.shape.name) == .write else { return }
    let before = observation.rows
    for _ in 0...random.below(4) {
      let row = random.below(Self.keys)
      let content = random.chance(200) ? nil : random.next() | 1
      file.rows[row] = content
      file.journal[row] = now.wall
      story.tell("\(name) writes row \(row)\(content == nil ? " away" : "")")
    }
    // Applications sync what they commit.
    durable = file
    witness.written(observation.rows, before: before, at: now.wall)
  }

  /// There is no schema.
  mutating func migrate(_ random: inout Seeded, at now: Instant, _ story: inout Story) {}
  mutating func remove(_ random: inout Seeded, at now: Instant, _ story: inout Story) {}

  mutating func fold(at now: Instant) -> FoldResult {
    let result = foldAll(at: now)
    if result.versions > 0 { commit(isDurable: true) }
    return result
  }

  /// Each touched row gets one new version, if its content is new.
  private mutating func foldAll(at now: Instant) -> FoldResult {
    guard !file.journal.isEmpty else { return FoldResult(versions: 0, push: nil, hasMore: false) }
    let from = file.frontier[origin]
    var (seq, writer) = (from, RowBatchWriter())
    for (row, moment) in file.journal.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
      let old = file.versions[row]
      let content = file.rows[row]
      let isAsBefore = old.map { $0.isDeleted ? nil : $0.hash } ?? nil
      if isAsBefore == content { continue }
      seq += 1
      let dot = Dot(origin, seq)
      let isNew = old?.isDeleted ?? true
      let version = Version(
        dot: dot, created: isNew ? dot : old?.created ?? dot,
        stamp: .placing(min(moment, now.wall), over: old?.stamp), hash: content ?? 0,
        isDeleted: content == nil)
      keep(version, row)
      writer.add(Self.shape, version, Self.content(version, row))
    }
    file.journal = [:]
    file.frontier.raise(origin, to: seq)
    guard seq > from else { return FoldResult(versions: 0, push: nil, hasMore: false) }
    let push = Push(
      origin: origin, from: from, to: seq, batch: writer.bytes, rows: seq - from,
      check: writer.check)
    return FoldResult(versions: Int(seq - from), push: push, hasMore: false)
  }

  mutating func merge(
    _ merge: Merge, at now: Instant
  ) throws -> (MergeResult, FoldResult) {
    let batches = try merge.decoded()
    guard merge.follows(file.frontier) else { throw StoreError(.gap, "a push leaves a gap") }
    let fold = foldAll(at: now)
    var result = MergeResult(rows: 0, check: 0)
    var last: Dot?
    for batch in batches {
      result.rows += UInt64(batch.rows.count)
      result.check &+= batch.check
      for row in batch.rows {
        guard case .integer(let key) = row.values[0] else {
          throw StoreError(.wire, "a strange key")
        }
        last = row.version.dot
        let number = RowNumber(key)
        if let held = file.versions[number], held.rank >= row.version.rank { continue }
        keep(row.version, number)
        file.rows[number] = row.version.isDeleted ? nil : row.version.hash
      }
    }
    if merge.reader == file.rights { file.frontier.join(merge.claim) }
    if let progress = merge.progress(after: last) {
      file.progress[merge.sender, default: Frontier()].join(progress)
    } else if case .full = merge.kind, merge.movesFrontier {
      file.progress[merge.sender] = nil
    }
    commit(isDurable: merge.end != nil || fold.versions > 0)
    return (result, fold)
  }

  /// Whether an export pauses now.
  mutating func pausesNow() -> Bool { random.chance(pauses) }

  mutating func register(_ export: MemoryExport) -> Int64 {
    nextExport += 1
    exports[nextExport] = export
    return nextExport
  }

  private mutating func keep(_ version: Version, _ row: RowNumber) {
    file.digest.replace(
      table: Self.table, key: Self.encoded[row], old: file.versions[row], new: version)
    file.versions[row] = version
  }

  private mutating func commit(isDurable: Bool) {
    commits += 1
    if isDurable { durable = file }
  }

  func progress(of sender: Identity) -> Frontier { file.progress[sender] ?? Frontier() }

  static func content(_ version: Version, _ row: RowNumber) -> WireRow.Content {
    let key = Replication.Value.integer(Int64(row))
    return version.isDeleted
      ? .deleted(key: [key]) : .values([key, .integer(Int64(bitPattern: version.hash))])
  }
}
