import Replication

/// What a replica shows of the anchor's work.
struct OfficeView {
  struct Ruled {
    var dot: Dot
    var kind: UInt8
    var edit: Dot
    var term: Term
  }

  static let tookOffice = Ruling.Kind.tookOffice.rawValue

  /// The highest term that it follows, and whether somebody is its anchor.
  var term = Term.none
  var isHeld = false
  /// 0 none, 1 waiting, 2 taking, 3 judging.
  var part: UInt8 = 0
  var judged = Judged()
  /// What waits for an anchor.
  var pending: [RowNumber: [Version]] = [:]
  /// Those of them that are there by name alone.
  var nameless: Set<Dot> = []
  var rulings: [Ruled] = []
  /// By the seq of the edit; nil as long as there is no verdict.
  var verdicts: [UInt64: String?] = [:]

  /// Those that were not here before, in whatever order they are kept.
  func rulings(since before: OfficeView?) -> [Ruled] {
    guard let before, !before.rulings.isEmpty else { return rulings }
    if rulings.elementsEqual(before.rulings, by: { $0.dot == $1.dot }) { return [] }
    let known = Set(before.rulings.map(\.dot))
    return rulings.filter { !known.contains($0.dot) }
  }

  /// What this replica shows, it may certify.
  var certifies: Bool { part >= 2 }
}

extension OfficeView {
  /// Whether an edit that was just made need not stand: it waits, or the anchor has spoken.
  func keeps(
    _ row: RowNumber, of own: Origin, _ standing: Version?, isDelete: Bool
  ) -> Bool {
    if pending[row]?.contains(where: { $0.dot.origin == own }) == true { return true }
    return standing?.certificate != nil && isDelete
  }
}
