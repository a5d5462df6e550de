import Replication

/// Puts rows in the order of ranks, tables and keys.
///
/// To compare two keys is to count twice who holds their bytes. The first eight bytes nearly always
/// tell, so these are sorted, and the rows stay where they are.
struct KeyOrder {
  private struct Place {
    var rank: Int
    var table: Int64
    var lead: UInt64
    var index: UInt32
  }

  private var places: [Place] = []

  init(capacity: Int) { places.reserveCapacity(capacity) }

  /// Takes in the next row.
  mutating func add(rank: Int, table: Int64, _ key: Key) {
    places.append(
      Place(rank: rank, table: table, lead: key.lead, index: UInt32(places.count)))
  }

  /// The rows in that order, by when they were added; of two with one key the earlier comes first.
  mutating func sorted(_ key: (Int) -> Key) -> [UInt32] {
    places.sort { left, right in
      if left.rank != right.rank { return left.rank < right.rank }
      if left.table != right.table { return left.table < right.table }
      if left.lead != right.lead { return left.lead < right.lead }
      let order = Key.order(key(Int(left.index)), key(Int(right.index)))
      return order != 0 ? order < 0 : left.index < right.index
    }
    return places.map(\.index)
  }
}
