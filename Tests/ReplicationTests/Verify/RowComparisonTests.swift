import Replication
import Testing

/// What two accounts of one row mean.
@Suite struct RowComparisonTests {
  static let (a, b) = (Samples.origin(1), Samples.origin(2))
  /// Both sides have seen five edits of each.
  static let both = Frontier([a: 5, b: 5])

  static func row(
    _ state: AccountRow.State = .live, _ dot: Dot? = Dot(a, 1), at stamp: Int64 = 9,
    hash: UInt64 = 1, key: UInt8 = 1
  ) -> AccountRow {
    AccountRow(
      table: "t", key: Key(bytes: [0x15, key]), state: state,
      dot: state == .uncaptured ? nil : dot, stamp: Stamp(rawValue: stamp),
      hash: state == .deleted || state == .missing ? 0 : hash)
  }

  static func compared(
    _ here: AccountRow?, _ there: AccountRow?, _ ours: Frontier = both, _ theirs: Frontier = both
  ) -> RowComparison {
    var comparison = RowComparison(here: ours, there: theirs)
    comparison.take(here, there)
    return comparison
  }

  static let later = row(.live, Dot(b, 2), at: 10, hash: 2)
  static let gone = row(.deleted, Dot(b, 2), at: 10)

  @Test(
    arguments: [
      (row(), nil, .onlyHere), (nil, row(), .onlyThere), (row(), later, .newerThere),
      (later, row(), .newerHere), (row(), gone, .newerThere), (gone, row(), .newerHere),
      (row(), row(.live, Dot(b, 2)), .otherVersion), (row(), row(.missing), .otherContent),
      (row(.changed, hash: 7), row(), .otherContent), (row(.uncaptured), nil, .onlyHere),
      (row(.uncaptured, hash: 1), row(), .otherVersion),
      (row(), row(.uncaptured, hash: 4), .otherContent), (nil, row(.uncaptured), .onlyThere),
      (gone, row(.uncaptured), .onlyThere),
    ] as [(AccountRow?, AccountRow?, RowDifference.Why)])
  func `a difference has a reason`(
    here: AccountRow?, there: AccountRow?, why: RowDifference.Why
  ) {
    let comparison = Self.compared(here, there)
    #expect(
      comparison.differences == [RowDifference(why: why, here: here, there: there)])
    #expect(comparison.count == 1)
    #expect(comparison.explains)
    let isCaptured = [here, there].allSatisfy { $0?.isCaptured != false }
    #expect(comparison.isMendable == isCaptured)
  }

  @Test func `equal rows are none`() {
    for row in [Self.row(), Self.gone, Self.row(.uncaptured), Self.row(.missing)] {
      let comparison = Self.compared(row, row)
      #expect(comparison.count == 0)
      #expect(!comparison.explains)
    }
  }

  @Test func `a delete that one side has forgotten is none`() {
    #expect(Self.compared(Self.gone, nil).forgotten == 1)
    #expect(Self.compared(nil, Self.gone).forgotten == 1)
    let twice = Self.compared(Self.gone, Self.row(.deleted))
    #expect(twice.deletedTwice == 1)
    for comparison in [Self.compared(Self.gone, nil), twice] {
      #expect(comparison.count == 0 && comparison.explains)
    }
  }

  @Test func `what one side has not seen yet is on its way`() {
    let behind = Frontier([Self.a: 5, Self.b: 1])
    for (ours, theirs) in [(Self.both, behind), (behind, Self.both)] {
      for (here, there) in [
        (Self.later, nil), (nil, Self.later), (Self.row(), Self.later), (Self.gone, Self.row()),
      ] as [(AccountRow?, AccountRow?)] {
        let comparison = Self.compared(here, there, ours, theirs)
        #expect(comparison.onTheWay == 1 && comparison.count == 0)
      }
      // What both have seen is not.
      #expect(Self.compared(Self.row(), nil, ours, theirs).count == 1)
    }
  }

  @Test func `many differences are counted, and some of them kept`() {
    var comparison = RowComparison(here: Self.both, there: Self.both)
    for _ in 0..<5_000 { comparison.take(Self.row(), nil) }
    #expect(comparison.count == 5_000)
    #expect(comparison.differences.count == 1_000)
    var long = RowComparison(here: Self.both, there: Self.both)
    var row = Self.row()
    row.key = Key(bytes: [UInt8](repeating: 1, count: 400 << 10))
    for _ in 0..<10 { long.take(nil, row) }
    #expect(long.count == 10)
    #expect(long.differences.count == 2)
  }
}
