import Replication

/// When the entries of a journal were written that is folded in slices, the newest first.
///
/// They are dated in the order of writing, all of them before the first slice; one date stands for
/// all that follow it by the same clock.
struct JournalDates {
  private struct Run {
    var first: Int64
    /// Site time less the wall time noted; nil if it cannot be told.
    var shift: Int64?
    var moment: Dating.Moment
  }

  private var dating: Dating?
  private var runs: [Run] = []
  /// The last entry that was dated.
  private(set) var through: Int64 = 0

  var isEmpty: Bool { dating == nil }

  mutating func begin(_ dating: Dating) { self.dating = dating }

  mutating func extend(to site: Int64) { dating?.extend(to: site) }

  mutating func add(_ id: Int64, _ wall: Int64) {
    guard let moment = dating?.place(wall, entry: id) else { return }
    through = id
    let (shift, overflow) = moment.at.subtractingReportingOverflow(wall)
    let known = moment.isCertain && !overflow ? shift : nil
    if let last = runs.last, last.moment.isCertain == moment.isCertain {
      if let known, known == last.shift { return }
      if known == nil, last.moment == moment { return }
    }
    runs.append(Run(first: id, shift: known, moment: moment))
  }

  /// What was written first is told first, also where two clocks were read a little apart.
  /// One for each entry; nil if nothing is known.
  func moments(of entries: [(id: Int64, wall: Int64)]) -> [Dating.Moment?] {
    var index = runs.lastIndex { $0.first <= entries.first?.id ?? 0 } ?? 0
    return entries.map { id, wall in
      guard index < runs.count else { return nil }
      while index + 1 < runs.count, runs[index + 1].first <= id { index += 1 }
      let run = runs[index]
      return run.shift.map { Dating.Moment(wall + $0) } ?? run.moment
    }
  }

  /// Entries from `id` on are folded; later ones may get their numbers.
  mutating func cut(from id: Int64) {
    through = min(through, max(id, .min + 1) - 1)
    while let last = runs.last, last.first >= id { runs.removeLast() }
  }
}
