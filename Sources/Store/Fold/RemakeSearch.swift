import Replication
import SQLite

/// What the columns of a row may have counted before a migration that made its table anew.
///
/// Each of them may have counted or not, so all readings are tried of a few alone. The likely one
/// is tried of any number: a new column counted nothing, one that takes longer texts what it shows.
struct RemakeSearch {
  /// A column of a row that may have counted otherwise before the migration.
  struct Open {
    let column: UInt64
    /// Whether it may have counted nothing.
    let isFilled: Bool
    /// What it may have counted.
    let forms: [Replication.Value]
    /// Whether it counted nothing as it was not there.
    var isNew = false
    /// Whether it is likely to have counted, in its first form.
    var likely: Bool?
  }

  /// What counts in any case.
  var base = ContentHash()
  var open: [Open] = []

  /// Columns that are tried, at most.
  private static let limit = 8

  /// Whether not all readings are tried.
  var isTooWide: Bool { open.count { !$0.isNew } > Self.limit }

  /// Which of the open columns count where the sum is to be `hash`.
  func counts(_ hash: UInt64) -> [UInt64: Bool]? {
    if let found = counts(hash, trying: { $0.likely == nil }) { return found }
    return counts(hash, trying: { open.count <= Self.limit || !$0.isNew })
  }

  /// The same where some are tried and the others have counted as is likely.
  private func counts(_ hash: UInt64, trying isTried: (Open) -> Bool) -> [UInt64: Bool]? {
    let tried = open.filter(isTried)
    guard tried.count <= Self.limit else { return nil }
    var (sum, likely) = (base, [UInt64: Bool]())
    for column in open where !isTried(column) {
      likely[column.column] = column.likely
      if column.likely == true { sum.add(column: column.column, column.forms[0]) }
    }
    return Self.counts(tried[...], sum, hash)?.merging(likely) { found, _ in found }
  }

  /// Which of the open columns count, in one of their forms, where the sum is to be `hash`.
  private static func counts(
    _ open: ArraySlice<Open>, _ base: ContentHash, _ hash: UInt64
  ) -> [UInt64: Bool]? {
    guard let first = open.first else { return base.value == hash ? [:] : nil }
    if first.isFilled, var found = counts(open.dropFirst(), base, hash) {
      found[first.column] = false
      return found
    }
    for form in first.forms {
      var sum = base
      sum.add(column: first.column, form)
      guard var found = counts(open.dropFirst(), sum, hash) else { continue }
      found[first.column] = true
      return found
    }
    return nil
  }
}
