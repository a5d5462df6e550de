import Replication

/// The versions that one fold makes, and their encoding for a push while they are few.
struct Edits {
  /// The own seq before this fold.
  let from: UInt64
  private(set) var last: UInt64
  private(set) var count = 0
  private(set) var changedSettings = false
  /// True while existing rows are compared, rather than touched rows folded.
  var isComparing = false
  /// What was judged before.
  let judgedBefore: Judged
  /// Whether all that was made has been encoded.
  private var isEncoded = true
  /// Whether it may go in several batches.
  private var isLong = false
  private var batches: [Stretch.Batch] = []
  private var writer = RowBatchWriter()

  /// So many batches of a frame are kept of one fold.
  private static let mostBatches = 4

  init(from: UInt64, judged: Judged) {
    self.from = from
    self.last = from
    self.judgedBefore = judged
  }

  mutating func next() -> UInt64 {
    last += 1
    return last
  }

  mutating func add(_ shape: TableShape, _ version: Version, _ content: WireRow.Content) {
    count += 1
    if Tables.isSettings(shape.name), content.ruling == nil { changedSettings = true }
    if isEncoded, makeRoom(content.size) { writer.add(shape, version, content) }
  }

  /// The same of a row whose values are encoded.
  mutating func add(_ shape: TableShape, _ version: Version, encoded values: [UInt8]) {
    count += 1
    if Tables.isSettings(shape.name) { changedSettings = true }
    if isEncoded, makeRoom(values.count) { writer.add(shape, version, encoded: values) }
  }

  /// The same of a row as it stands, with what is kept beside it.
  mutating func add(
    _ version: Version, _ row: StandingRow, _ beside: Beside, _ statements: RowStatements
  ) {
    if row.isLong { return addLong() }
    guard beside.altersRow else { return add(statements.shape, version, encoded: row.encoded) }
    add(statements.shape(with: beside.extras), version, .values(beside.said(row.values ?? [])))
  }

  /// Begins a new batch if the last one has no room for so many bytes; false if nothing is encoded
  /// any more.
  private mutating func makeRoom(_ size: Int) -> Bool {
    if isLong || count <= Limits.wholeRows, size < Limits.wholeBytes / 2 {
      if writer.size + size <= Limits.piece - 4_096 { return true }
      if isLong, batches.count < Self.mostBatches {
        closeBatch()
        return isEncoded
      }
    }
    cancelPush()
    return false
  }

  private mutating func closeBatch() {
    guard !writer.isEmpty else { return }
    let bytes = writer.bytes
    guard bytes.count <= Limits.piece else { return cancelPush() }
    batches.append(
      Stretch.Batch(bytes: bytes, rows: UInt64(writer.rowCount), check: writer.check))
    writer = RowBatchWriter()
  }

  /// More waits than fits into this fold: what it makes goes out as a stretch, if `isSent`.
  mutating func goOn(isSent: Bool) {
    guard isSent else { return cancelPush() }
    isLong = true
  }

  /// The settings that were changed are in force.
  mutating func settle() { changedSettings = false }

  /// One that no push can carry.
  mutating func addLong() {
    count += 1
    cancelPush()
  }

  /// What was encoded is out of date, or not wanted.
  mutating func cancelPush() {
    isEncoded = false
    batches = []
    writer = RowBatchWriter()
  }

  /// The push of all versions made, if there are any and they fit.
  func push(_ origin: Origin, judged: Judged?) -> Push? {
    guard isEncoded, !isLong, count > 0 else { return nil }
    return Push(
      origin: origin, from: from, to: last, batch: writer.bytes, rows: UInt64(count),
      check: writer.check, judged: judged)
  }

  /// All versions made, if this fold goes on and they fit.
  mutating func stretch(_ origin: Origin, waiting: Int) -> Stretch? {
    if isEncoded, isLong { closeBatch() }
    guard isEncoded, isLong, count > 0 else { return nil }
    return Stretch(
      origin: origin, from: from, to: last, batches: batches, waiting: UInt64(waiting))
  }
}

extension WireRow.Content {
  /// About how many bytes the values take.
  var size: Int {
    switch self {
    case .values(let values), .deleted(let values), .withheld(let values),
      .ruling(_, let values):
      values.reduce(0) { sum, value in
        switch value {
        case .text(let bytes), .blob(let bytes): sum + bytes.count + 5
        default: sum + 9
        }
      }
    }
  }
}
