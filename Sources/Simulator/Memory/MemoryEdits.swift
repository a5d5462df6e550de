import Replication

/// The versions that one transaction makes, and their encoding for a push.
struct MemoryEdits {
  let from: UInt64
  private(set) var seq: UInt64
  let judgedBefore: Judged
  var writer = RowBatchWriter()

  init(from: UInt64, judged: Judged) {
    self.from = from
    self.seq = from
    self.judgedBefore = judged
  }

  mutating func next() -> UInt64 {
    seq += 1
    return seq
  }
}
