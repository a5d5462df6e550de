@testable import Replication

/// Questions for rows, and their answers.
extension SessionDriver {
  static let sums = Account.Sums(
    frontier: Frontier([own: 5]), rows: 2, uncaptured: 1, digest: Digest())

  /// One of each kind, in the order of an account.
  static let accountRows = (1...5 as ClosedRange<UInt8>).map { number in
    AccountRow(
      table: "t", key: Key(bytes: [0x15, number]),
      state: [.live, .deleted, .uncaptured, .missing, .changed][Int(number) - 1],
      dot: number == 3 ? nil : Dot(own, UInt64(number)),
      stamp: number == 3 ? .zero : Stamp(rawValue: 1 << 61),
      hash: number == 2 || number == 4 ? 0 : 7)
  }

  mutating func accountStep(_ kind: UInt8, isPeer: Bool) throws(WireError) {
    let asked = session.inspecting.asked
    switch (isPeer, kind) {
    case (true, 0):
      let number = session.inspecting.heard + 1
      let bucket = try reader.byte("bucket")
      hear(.inspect(Inspect(number: number, buckets: bucket == 0 ? [] : [bucket])))
    case (true, 1): hear(.account(Account(number: asked, .sums(Self.sums))))
    case (true, 2):
      let isLast = try reader.byte("last") & 1 == 1
      hear(.account(Account(number: asked, .rows(try ofOneBucket(), isLast: isLast))))
    case (true, 3): hear(.account(Account(number: asked, .nothing(.failed))))
    case (true, 4): try describeStep(isPeer: true)
    case (true, _): hear(.account(Account(number: try reader.uint("number"), .sums(Self.sums))))
    case (false, 2):
      let bucket = Int(try reader.byte("bucket"))
      feed(.inspect(bucket == 0 ? [] : [bucket]))
    case (false, 3): feed(.accounted(.sums(Self.sums)))
    case (false, 4):
      feed(.accounted(.rows(Self.accountRows, isLast: try reader.byte("last") & 1 == 1)))
    case (false, 5): feed(.stopInspecting)
    case (false, 6): feed(.repair([Int(try reader.byte("bucket"))]))
    case (false, 7): try describeStep(isPeer: false)
    case (false, _): feed(.accounted(.nothing(.notAllowed)))
    }
  }

  /// The schema of one side, for the other.
  private mutating func describeStep(isPeer: Bool) throws(WireError) {
    let table = SchemaObject(kind: .table, name: "t", sql: "CREATE TABLE t(a)")
    let offer = Offer(siteName: "s", rows: 1, objects: 1)
    switch (isPeer, try reader.byte("part") & 7) {
    case (true, 0): hear(.describe)
    case (true, 1): hear(.offer(offer))
    case (true, 2): hear(.offer(Offer(siteName: "", rows: 0, objects: try reader.uint("count"))))
    case (true, 4): hear(.knock)
    case (true, 5): hear(.knocked(.reached))
    case (true, 6): hear(.program("0.1.0"))
    case (true, _): hear(.schema(table))
    case (false, 0): feed(.describe)
    case (false, 4): feed(.knock)
    case (false, 5): feed(.dialledBack(.refused))
    case (false, _): feed(.offer(offer, [table]))
    }
  }

  /// A row that fits what was asked for, if one of the samples does.
  private func ofOneBucket() throws(WireError) -> [AccountRow] {
    guard case .rows(let buckets, let last) = session.inspecting.asking else { return [] }
    return Self.accountRows.filter { row in
      buckets.contains(row.bucket) && last.map { $0 < row.place } ?? true
    }
  }
}
