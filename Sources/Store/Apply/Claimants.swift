import Replication

/// The rows of a table that wait for parked parents and claim their unique values all the same, by
/// what they claim.
///
/// An order of a parked customer waits beside its table, and its number is taken. Who comes with
/// that number finds it here. So a change costs no more than the rows that claim the same.
struct Claimants {
  /// By numbers of values (`Claims.numbers`): rows of other values may have one in common.
  private var byNumber: [Int64: Set<Key>] = [:]
  /// Those of which their table alone can tell what they claim.
  private var unclear: Set<Key> = []
  private var numbers: [Key: Set<Int64>?] = [:]
  /// What was taken out in the open transaction. Who was put in need not be here: it is looked.
  private var removed: [Key: Set<Int64>?] = [:]

  var isEmpty: Bool { numbers.isEmpty }

  /// `claimed` is nil if it cannot be told.
  mutating func put(_ key: Key, _ claimed: Set<Int64>?) {
    remove(key)
    numbers[key] = .some(claimed)
    guard let claimed else {
      unclear.insert(key)
      return
    }
    for number in claimed { byNumber[number, default: []].insert(key) }
  }

  mutating func remove(_ key: Key) {
    guard let known = numbers.removeValue(forKey: key) else { return }
    if removed[key] == nil { removed[key] = .some(known) }
    unclear.remove(key)
    for number in known ?? [] {
      byNumber[number]?.remove(key)
      if byNumber[number]?.isEmpty == true { byNumber[number] = nil }
    }
  }

  mutating func committed() { removed = [:] }

  mutating func rolledBack() {
    for (key, claimed) in removed { put(key, claimed) }
    removed = [:]
  }

  /// The rows that may claim one of these values; all, if it cannot be told which they are.
  func rows(claiming values: Set<Int64>?) -> [Key] {
    guard let values else { return numbers.keys.sorted() }
    return values.reduce(into: unclear) { $0.formUnion(byNumber[$1] ?? []) }.sorted()
  }
}
