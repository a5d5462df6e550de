import Replication
import Store

/// How far the first copy of this node is, from joining until it is complete.
///
/// A pure value. It is over once all is here that the inviter was known to hold. Whoever waits for
/// it shows the rows that have come, and gives up when one of them could not be merged.
struct CopyProgress: Sendable {
  /// The copy, while it is not complete.
  private(set) var unfinished: FirstCopy?
  /// Why the last rows from a peer could not be merged.
  private(set) var failure: FlotillaError?
  /// Rows of the exchange that goes on; of about how many.
  private(set) var rows: UInt64 = 0
  private var expected: UInt64 = 0

  init(_ unfinished: FirstCopy?) { self.unfinished = unfinished }

  /// Rows have come of a long exchange.
  mutating func receive(_ passage: Passage) { (rows, expected) = (passage.rows, passage.total) }

  /// An exchange of so many rows is over.
  mutating func receive(rows count: UInt64) { rows = max(rows, count) }

  mutating func fail(_ error: FlotillaError) { failure = error }

  mutating func end() { unfinished = nil }

  /// What a person is shown of a copy; `hasPages`: most of it came as pages of the file.
  func progress(of copy: FirstCopy, hasPages: Bool, bytes: Int) -> JoinProgress {
    let total = Int(clamping: hasPages ? expected : max(copy.rows, expected))
    let rows = Int(clamping: rows)
    return hasPages
      ? .catchingUp(rows: rows, of: total, bytes: bytes)
      : .copying(rows: rows, of: total, bytes: bytes)
  }
}
