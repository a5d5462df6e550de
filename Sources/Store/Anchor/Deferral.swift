import Replication

/// Edits that do not fit beside what stands: put off until nothing else is left to judge. Then they
/// are tried again by their stamps.
struct Deferral {
  /// What an edit is put off for.
  enum Cause {
    /// It does not fit; what comes with it may make room.
    case room
    /// A row to which it refers may yet come. One that makes room may be that row.
    case parent
    /// It is there by name alone. What was made over it, and may be put off too, decides about it.
    case name
  }

  /// What was put off.
  private(set) var late: Set<Dot> = []
  /// Of these, what was tried in vain since an edit was accepted last.
  private var tried: Set<Dot> = []
  /// Of these, what is there by name alone, and what waits for a parent.
  private var byName: Set<Dot> = []
  private var orphans: Set<Dot> = []
  /// What does not fit together with others either, and is yet to be rejected.
  private var refuted: ArraySlice<PendingTable.Item> = []
  /// What was put off, and some that was judged since.
  private var order: [DueEdit] = []
  private var isSorted = true

  /// Whether anything waits whose content is here.
  var hasContent: Bool { late.count > byName.count }
  /// Whether any of that waits for room.
  var seeksRoom: Bool { late.count > byName.count + orphans.count }

  mutating func putOff(_ edit: DueEdit, for cause: Cause) {
    if late.insert(edit.dot).inserted {
      order.append(edit)
      (isSorted, refuted) = (false, [])
    }
    tried.insert(edit.dot)
    byName.remove(edit.dot)
    orphans.remove(edit.dot)
    switch cause {
    case .room: break
    case .parent: orphans.insert(edit.dot)
    case .name: byName.insert(edit.dot)
    }
  }

  /// The content of an edit has come, which may be put off by name alone.
  mutating func retry(_ edit: Dot) {
    guard byName.remove(edit) != nil else { return }
    tried.remove(edit)
    refuted = []
  }

  /// The next ones that were not tried since an edit was accepted.
  mutating func untried(_ limit: Int) -> [DueEdit] {
    sort()
    var found: [DueEdit] = []
    for edit in order where found.count < limit && !tried.contains(edit.dot) { found.append(edit) }
    return found
  }

  /// The next ones, tried or not, that nothing else decides about. `together`: so many that wait
  /// for room.
  mutating func first(_ limit: Int, together: Int) -> [DueEdit] {
    sort()
    let passed = (seeksRoom ? orphans : []).union(hasContent ? byName : [])
    let most = seeksRoom ? max(limit, together) : limit
    return Array(order.lazy.filter { !passed.contains($0.dot) }.prefix(most))
  }

  private mutating func sort() {
    order.removeAll { !late.contains($0.dot) }
    if !isSorted { order.sort(by: DueEdit.precedes) }
    isSorted = true
  }

  mutating func refute(_ items: [PendingTable.Item]) { refuted = items[...] }

  /// The next ones to be rejected; none once others may have made room.
  mutating func takeRefuted(_ limit: Int) -> ArraySlice<PendingTable.Item> {
    defer { refuted = refuted.dropFirst(limit) }
    return refuted.prefix(limit)
  }

  /// An edit was judged, or superseded; if it was accepted it may have made room.
  mutating func judged(_ edit: Dot, isAccepted: Bool) {
    late.remove(edit)
    tried.remove(edit)
    byName.remove(edit)
    orphans.remove(edit)
    if isAccepted { (tried, refuted) = ([], []) }
  }
}
