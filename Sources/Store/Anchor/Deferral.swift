import Replication

/// Edits that do not fit beside what stands: put off until nothing else is left to judge. Then they
/// are tried again by their stamps.
///
/// A program moves 20,000 entries of a list down by one place, and no place may be taken twice. So
/// an edit is put off for the entry that has its place, and tried again when that has moved. Where
/// nobody can tell what would make room, all are tried in rounds, as long as a round has accepted
/// something.
struct Deferral {
  /// What has to happen before an edit fits.
  enum Need: Hashable {
    /// A row changes that has its value, or refers to what it takes away.
    case change(Export.RowID)
    /// A row comes to which it refers, known by `Reference.watch`.
    case parent(Int64)
  }

  /// What an edit is put off for.
  enum Cause: Equatable {
    /// It does not fit; what comes with it may make room. Nil if nobody knows how.
    case room(Need?)
    /// A row to which it refers may yet come. One that makes room may be that row.
    case parent
    /// It is there by name alone. What was made over it, and may be put off too, decides about it.
    case name
  }

  private struct Late {
    var cause: Cause
    /// How many edits had been accepted when it was tried last.
    var tried: Int

    var need: Need? { if case .room(let need) = cause { need } else { nil } }
  }

  /// What was put off.
  private var late: [Dot: Late] = [:]
  /// The same, and some that was judged since.
  private var order: [DueEdit] = []
  private var isSorted = true
  /// How many are put off for each cause that others have to give way to.
  private var (names, orphans) = (0, 0)
  /// What waits for something, what would bring it, and what is to be tried because it happened.
  private var waiting: [Need: [DueEdit]] = [:]
  private var bringing: [Need: DueEdit] = [:]
  private var woken: ArraySlice<DueEdit> = []
  /// What is left of the present round.
  private var round: ArraySlice<DueEdit> = []
  private var accepted = 0
  /// Whether an edit was accepted since the round began.
  private var isRoundDue = false
  /// What does not fit together with others either, and is yet to be rejected.
  private var refuted: ArraySlice<PendingTable.Item> = []

  var count: Int { late.count }

  func contains(_ edit: Dot) -> Bool { late[edit] != nil }

  /// Whether anything waits whose content is here.
  var hasContent: Bool { late.count > names }
  /// Whether any of that waits for room.
  var seeksRoom: Bool { late.count > names + orphans }
  /// Whether any of that is known to need something.
  var hasNeeds: Bool { !waiting.isEmpty }

  /// `brings`: what others may need that happens if it is accepted.
  mutating func putOff(_ edit: DueEdit, for cause: Cause, brings: [Need] = []) {
    let former = late.updateValue(Late(cause: cause, tried: accepted), forKey: edit.dot)?.cause
    if former == nil {
      order.append(edit)
      (isSorted, refuted) = (false, [])
    }
    guard former != cause else { return }
    count(former, -1)
    count(cause, 1)
    if case .room(let need?) = cause { waiting[need, default: []].append(edit) }
    for need in brings { bringing[need] = edit }
  }

  private mutating func count(_ cause: Cause?, _ change: Int) {
    if cause == .name { names += change }
    if cause == .parent { orphans += change }
  }

  /// The content of an edit has come, which may be put off by name alone.
  mutating func retry(_ edit: DueEdit) {
    guard late[edit.dot]?.cause == .name else { return }
    wake(edit)
    refuted = []
  }

  /// Something has happened that some may need.
  mutating func happened(_ need: Need) {
    for edit in waiting.removeValue(forKey: need) ?? [] where late[edit.dot]?.need == need {
      wake(edit)
    }
  }

  private mutating func wake(_ edit: DueEdit) {
    count(late[edit.dot]?.cause, -1)
    late[edit.dot] = Late(cause: .room(nil), tried: accepted)
    woken.append(edit)
  }

  /// The next ones to be tried again.
  mutating func untried(_ limit: Int) -> [DueEdit] {
    var found: [DueEdit] = []
    if woken.count > 1 { woken.sort(by: DueEdit.precedes) }
    while found.count < limit, let edit = woken.popFirst() {
      if late[edit.dot] != nil { found.append(edit) }
    }
    guard found.isEmpty else { return found }
    if round.isEmpty, isRoundDue {
      sort()
      (round, isRoundDue) = (order[...], false)
    }
    while found.count < limit, let edit = round.popFirst() {
      if let late = late[edit.dot], late.tried < accepted, late.need == nil { found.append(edit) }
    }
    return found
  }

  /// The next ones, tried or not, that nothing else decides about. Of those that wait for room some
  /// `together`, each with those that would make it.
  mutating func first(_ limit: Int, together: Int) -> [DueEdit] {
    sort()
    guard seeksRoom else {
      return Array(order.lazy.filter { [self] in !hasContent || !isName($0) }.prefix(limit))
    }
    var (found, taken): ([DueEdit], Set<Dot>) = ([], [])
    for edit in order where found.count < together {
      var chain: [DueEdit] = []
      var next: DueEdit? = edit
      while let link = next, seeksRoom(link), chain.count < Self.longestChain,
        taken.insert(link.dot).inserted
      {
        chain.append(link)
        next = late[link.dot]?.need.flatMap { bringing[$0] }
      }
      guard found.isEmpty || found.count + chain.count <= together else { break }
      found += chain
    }
    return found.sorted(by: DueEdit.precedes)
  }

  private static let longestChain = 50_000

  private func seeksRoom(_ edit: DueEdit) -> Bool {
    if case .room = late[edit.dot]?.cause { true } else { false }
  }

  private func isName(_ edit: DueEdit) -> Bool { late[edit.dot]?.cause == .name }

  private mutating func sort() {
    order.removeAll { late[$0.dot] == nil }
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
    count(late.removeValue(forKey: edit)?.cause, -1)
    guard isAccepted else { return }
    accepted += 1
    (isRoundDue, refuted) = (!late.isEmpty, [])
  }
}
