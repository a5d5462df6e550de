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
  private var writer: RowBatchWriter? = RowBatchWriter()

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
    guard writer != nil else { return }
    guard count <= Limits.wholeRows, content.size < Limits.wholeBytes / 2 else {
      writer = nil
      return
    }
    writer?.add(shape, version, content)
    if let size = writer?.size, size > Limits.wholeBytes - 4_096 { writer = nil }
  }

  /// The settings that were changed are in force.
  mutating func settle() { changedSettings = false }

  /// One that no push can carry.
  mutating func addLong() {
    count += 1
    writer = nil
  }

  /// What was encoded is out of date.
  mutating func cancelPush() { writer = nil }

  /// The push of all versions made, if there are any and they fit.
  func push(_ origin: Origin, judged: Judged?) -> Push? {
    guard let writer, count > 0 else { return nil }
    return Push(
      origin: origin, from: from, to: last, batch: writer.bytes, rows: UInt64(count),
      check: writer.check, judged: judged)
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
