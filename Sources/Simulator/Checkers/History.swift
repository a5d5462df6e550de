import Replication

/// Every version that any node was seen to make, and what was seen to go wrong.
struct History {
  struct Made {
    var row: RowNumber
    var version: Version
    /// The content of the row when the version was new; nil if it is deleted.
    var content: UInt64?
    /// False if the application had changed the row again before anybody looked.
    var isSeen = true
  }

  /// By origin and seq; nil where a version was replaced before anybody saw it.
  private(set) var made: [Origin: [Made?]] = [:]
  private(set) var faults: [String] = []

  mutating func add(_ new: Made) {
    let dot = new.version.dot
    let index = Int(dot.seq) - 1
    let missing = index + 1 - (made[dot.origin]?.count ?? 0)
    made[dot.origin, default: []].append(contentsOf: repeatElement(nil, count: max(0, missing)))
    made[dot.origin]?[index] = new
  }

  subscript(dot: Dot) -> Made? {
    guard let list = made[dot.origin], dot.seq <= UInt64(list.count) else { return nil }
    return list[Int(dot.seq) - 1]
  }

  mutating func blame(_ fault: String) {
    if faults.count < 20 { faults.append(fault) }
  }
}
