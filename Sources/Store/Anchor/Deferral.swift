import Replication

/// Edits that do not fit beside what stands: put off until nothing else is left to judge. Then they
/// are tried again by their stamps.
struct Deferral {
  /// What was put off.
  private(set) var late: Set<Dot> = []
  /// Of these, what was tried in vain since an edit was accepted last.
  private var tried: Set<Dot> = []
  /// Of these, what is there by name alone.
  private var byName: Set<Dot> = []
  /// What was put off, and some that was judged since.
  private var order: [DueEdit] = []
  private var isSorted = true

  /// Whether anything waits whose content is here.
  var hasContent: Bool { late.count > byName.count }

  mutating func putOff(_ edit: DueEdit, isByName: Bool = false) {
    if late.insert(edit.dot).inserted {
      order.append(edit)
      isSorted = false
    }
    tried.insert(edit.dot)
    if isByName { byName.insert(edit.dot) }
  }

  /// The next ones that were not tried since an edit was accepted.
  mutating func untried(_ limit: Int) -> [DueEdit] {
    sort()
    var found: [DueEdit] = []
    for edit in order where found.count < limit && !tried.contains(edit.dot) { found.append(edit) }
    return found
  }

  /// The next ones, tried or not.
  mutating func first(_ limit: Int) -> ArraySlice<DueEdit> {
    sort()
    return order.prefix(limit)
  }

  private mutating func sort() {
    order.removeAll { !late.contains($0.dot) }
    if !isSorted { order.sort(by: DueEdit.precedes) }
    isSorted = true
  }

  /// An edit was judged, or superseded; if it was accepted it may have made room.
  mutating func judged(_ edit: Dot, isAccepted: Bool) {
    late.remove(edit)
    tried.remove(edit)
    byName.remove(edit)
    if isAccepted { tried = [] }
  }
}
