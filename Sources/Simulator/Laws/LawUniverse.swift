import Replication

/// Two rows and four versions of each, of which all orders are tried.
enum LawUniverse: CaseIterable {
  /// Nobody was ever the anchor.
  case plain
  /// Two rivals and one before them have certified, and edits were made on that.
  case judged

  private static let (first, second, rival) = (
    Term(number: 1, incarnation: 7), Term(number: 2, incarnation: 1),
    Term(number: 2, incarnation: 8)
  )

  /// Versions 0 to 3 are of the row `2 * order`, the others of the next one; `seq` numbers it.
  func version(_ index: Int, of order: Int, seq: UInt64) -> LawVersion {
    let row = Int64(order * 2 + index / 4)
    return self == .plain ? plain(index, row, seq) : judged(index, row, seq)
  }

  /// Stamps tie and the origin decides; and a copied replica has used one stamp twice, and a delete
  /// comes last.
  private func plain(_ index: Int, _ row: Int64, _ seq: UInt64) -> LawVersion {
    switch index {
    case 0: LawVersion(row: row, content: 1, stamp: 10, origin: 3, seq: seq)
    case 1: LawVersion(row: row, content: 2, stamp: 20, origin: 1, seq: seq)
    case 2: LawVersion(row: row, content: nil, stamp: 20, origin: 2, seq: seq)
    case 3: LawVersion(row: row, content: 4, stamp: 20, origin: 3, seq: seq)
    case 4: LawVersion(row: row, content: 5, stamp: 10, origin: 1, seq: seq)
    case 5: LawVersion(row: row, content: 6, stamp: 20, origin: 2, seq: seq)
    case 6: LawVersion(row: row, content: 7, stamp: 20, origin: 2, seq: seq)
    default: LawVersion(row: row, content: nil, stamp: 30, origin: 1, seq: seq)
    }
  }

  /// Of the first row a certified delete stands, though it was made first; of the second an edit
  /// on the word of the higher rival, though the lower one has counted further.
  private func judged(_ index: Int, _ row: Int64, _ seq: UInt64) -> LawVersion {
    let edit = Dot(Origin(rawValue: 9), UInt64(row) + 1)
    func law(_ content: Int64?, _ stamp: Int64, _ origin: UInt64) -> LawVersion {
      LawVersion(row: row, content: content, stamp: stamp, origin: origin, seq: seq)
    }
    return switch index {
    case 0: law(1, 90, 3).undated
    case 1: law(2, 10, 4).certifying(edit, in: Self.first, epoch: 2)
    case 2: law(3, 5, 3).made(in: Self.first, epoch: 2, knowing: [edit])
    case 3: law(nil, 1, 4).certifying(edit, in: Self.first, epoch: 3)
    case 4: law(5, 40, 1).certifying(edit, in: Self.second, epoch: 9)
    case 5: law(6, 20, 2).certifying(edit, in: Self.rival, epoch: 1)
    case 6: law(7, 3, 3).made(in: Self.rival, epoch: 1, knowing: [edit]).undated
    default: law(nil, 99, 4).certifying(edit, in: Self.first, epoch: 99)
    }
  }
}
