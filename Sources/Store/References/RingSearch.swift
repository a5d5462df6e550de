/// How far the search for rings has come among rows of which each waits for the next one.
///
/// The way from a row may lead over any number of others, so it is gone some steps in a commit. Of
/// rows the hashes are kept: there may be millions.
struct RingSearch {
  typealias Place = (row: Export.RowID, watch: Int64?)

  /// Where the way goes on that the last commit has left.
  var place: Place?
  /// So many steps are left in the open transaction.
  var room = 0
  /// Rows on the way, and those from which it leads to no ring.
  private var way: Set<Int> = []
  private var inNoRing: Set<Int> = []

  var hasRoom: Bool { room > 0 }

  mutating func takePlace(behind item: Shelf.Waiting) -> Place {
    defer { place = nil }
    return place ?? (item.row, item.watch)
  }

  func isKnown(_ row: Export.RowID) -> Bool { inNoRing.contains(row.hashValue) }

  /// False if the way has led to this row before.
  mutating func pass(_ row: Export.RowID) -> Bool {
    room -= 1
    return way.insert(row.hashValue).inserted
  }

  mutating func endWay() {
    inNoRing.formUnion(way)
    way = []
  }
}
