/// Which numbers a member gives in tables with AUTOINCREMENT, so that two that do not hear of each
/// other rarely give the same (docs/keys.md).
///
/// Numbers are dealt out in blocks, in turn: the first block is that of member 0, the next one that
/// of member 1, and so on; then member 0 has another one. SQLite gives the number above all that
/// are in the table, so a member goes on in its next block once it has seen numbers beyond its own.
package struct NumberBlocks: Sendable, Equatable {
  /// Numbers in one block.
  package static let size: Int64 = 1 << 8
  /// The fewest blocks until it is the same member's turn again, and the most.
  package static let turns: ClosedRange<Int64> = 4...1_024
  /// JavaScript knows whole numbers up to here.
  package static let limit: Int64 = 1 << 53

  /// How many blocks a life leaves when it begins. A file may be put back to one state twice, and
  /// the second time others know what was given in the block that was next the first time.
  package static func left(by life: UInt64) -> Int64 { 1 + Int64(life % 16) }

  private let member: Int64
  /// Blocks until it is the same member's turn again.
  private let turns: Int64

  /// `count`: all who were ever admitted, as far as is known. As many turns as the next power of
  /// two make it rare that who knows of fewer gives the same numbers. Members beyond the first
  /// 1,024 share the blocks of earlier ones, most of which have left.
  package init(member: Int64, of count: Int64) {
    var turns = Self.turns.lowerBound
    while turns < min(count, Self.turns.upperBound) { turns *= 2 }
    self.turns = turns
    self.member = max(0, member) % turns
  }

  /// The number after which a member goes on that has seen all up to `last`: that one as long as
  /// the next one is its own and half a block is free above it, else the end of a block.
  ///
  /// Nil if there is no block left: then it goes on where it is. It `leaves` so many blocks of its
  /// own, of which others may know what was given in them.
  package func start(after last: Int64, leaves: Int64 = 0) -> Int64? {
    guard last >= 0, last < Self.limit else { return nil }
    let block = last / Self.size
    if leaves == 0, block % turns == member, last % Self.size <= Self.size / 2 { return last }
    let ahead = (member - block % turns + turns) % turns
    let next = block + (ahead == 0 ? turns : ahead) + max(0, leaves - 1) * turns
    let (start, isBeyond) = next.multipliedReportingOverflow(by: Self.size)
    return isBeyond || start >= Self.limit ? nil : start
  }
}
