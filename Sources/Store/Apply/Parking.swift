import Replication
import SQLite

/// What is to be looked at before it is known which rows stand: what has changed since that was
/// decided last.
final class Parking: FilePart {
  /// Rows whose version or place has changed, and whether they are gone where that is known.
  private(set) var touched: [Export.RowID: Bool?] = [:]
  /// What children referred to in rows that have changed since, by the number of the reference.
  private(set) var before: [Export.RowID: [Int: [SQLite.Value]]] = [:]
  /// Keys under which another row stands than before.
  private(set) var replaced: Set<Export.RowID> = []
  /// Parents that a program has deleted, and when; their children may be here all the same.
  private(set) var orphaning: [Export.RowID: Dating.Moment] = [:]
  /// Tables in which something has changed, so that parked rows may stand.
  var freed: Set<Int64> = []
  /// Of tables whose parked rows were tried since the file was opened.
  var obstacles: [Int64: Obstacles] = [:]
  /// To which a rollback goes back.
  private var begun = Begun()
  /// Rows that have come to stand, or been displaced, since the references were looked at.
  private(set) var moved: Set<Export.RowID> = []
  /// Above which own seq programs have written since parked rows were tried last, as the file says.
  private(set) var sparedFrom = UInt64.max
  /// The foreign keys by which the rows stand, as the file says.
  private(set) var signature: Int64 = 0
  /// A row dangles that this node may not mark.
  private(set) var mustSettle = false
  /// What waits for other rows is to be looked at whatever has changed: nobody remembers that.
  private(set) var isUnsure = true

  /// What is about to go, while what refers to it is parked.
  var crowd = Crowd()
  /// How far a walk has come through the rows that wait for others: what they wait for may be
  /// there, for all could not come back at once, or nobody remembers. Nil if none is to be found.
  private(set) var recall: Recall? = Recall()
  /// So many rows that wait may still come back in the open transaction.
  var room = 0
  /// So many may in each.
  var limit: Int

  private let meta: Meta
  private let shelf: Shelf

  init(_ meta: Meta, _ shelf: Shelf, limit: Int) {
    (self.meta, self.shelf, self.limit) = (meta, shelf, limit)
  }

  struct Recall {
    var last: Shelf.Waiting?
    /// It is to be begun anew when it has ended.
    var isAgain = false
    /// A second walk looks for rings of rows that wait for each other.
    var rings: RingSearch?
  }

  /// Rows are left waiting though what they wait for is there.
  func recallAgain() {
    if recall?.last == nil { recall = Recall() } else { recall?.isAgain = true }
  }

  func goOn(_ recall: Recall?) {
    self.recall = recall ?? (self.recall?.isAgain == true ? Recall() : nil)
  }

  /// A walk has come to its end: rings are looked for next.
  func endWalk() {
    let isDone = recall?.rings != nil || recall?.isAgain == true
    goOn(isDone ? nil : Recall(rings: RingSearch()))
  }

  /// What was so when a transaction began, and what it has looked at since: after a rollback it has
  /// not.
  private struct Begun {
    var freed: Set<Int64> = []
    var (mustSettle, isUnsure): (Bool, Bool) = (false, true)
    var recall: Recall? = Recall()
    var touched: Set<Export.RowID> = []
    var replaced: Set<Export.RowID> = []
    var before: [Export.RowID: [Int: [SQLite.Value]]] = [:]
    /// For these `Parking.before` was noted since.
    var noted: Set<Export.RowID> = []
  }

  func begin() {
    room = limit
    begun = Begun(freed: freed, mustSettle: mustSettle, isUnsure: isUnsure, recall: recall)
  }

  func committed() {
    begun = Begun()
    for known in obstacles.values { known.committed() }
  }

  /// A busy program makes many of them, and thousands of rows may be parked: so what is known of
  /// these stays. Rows that have changed meanwhile are looked at though they are as before.
  func rolledBack() {
    (freed, mustSettle, isUnsure) = (begun.freed, begun.mustSettle, begun.isUnsure)
    (recall, orphaning, moved) = (begun.recall, [:], [])
    for row in begun.touched.union(touched.keys) { touched[row] = .some(nil) }
    replaced.formUnion(begun.replaced)
    for row in begun.noted { before[row] = nil }
    before.merge(begun.before) { _, old in old }
    obstacles = obstacles.filter { !$0.value.isNew }
    for known in obstacles.values { known.rolledBack() }
    begun = Begun()
  }

  /// What the file says when it is opened; of changes before that nothing is known.
  func load() throws(SQLiteError) {
    freed = try shelf.constrainedTables()
    try reload()
  }

  func reload() throws(SQLiteError) {
    sparedFrom = try meta.integer(.sparedFrom).map { UInt64(bitPattern: $0) } ?? .max
    signature = try meta.integer(.references) ?? 0
  }

  /// Keeps the border in the file: a kill, or a commit that fails, must not forget it.
  func spare(above seq: UInt64) throws(SQLiteError) {
    guard seq != sparedFrom else { return }
    try meta.set(.sparedFrom, seq == .max ? .null : .integer(Int64(bitPattern: seq)))
    sparedFrom = seq
  }

  func follow(_ signature: Int64) throws(SQLiteError) {
    try meta.set(.references, .integer(signature))
    self.signature = signature
  }

  func touch(_ row: Export.RowID, isGone: Bool?) { touched[row] = .some(isGone) }

  func note(_ values: [Int: [SQLite.Value]], before row: Export.RowID) {
    guard before[row] == nil else { return }
    before[row] = values
    begun.noted.insert(row)
  }

  func replace(_ row: Export.RowID) { replaced.insert(row) }

  func orphan(_ row: Export.RowID, at moment: Dating.Moment) {
    if orphaning[row].map({ $0.at < moment.at }) ?? true { orphaning[row] = moment }
  }

  func takeOrphaning() -> [Export.RowID: Dating.Moment] {
    defer { orphaning = [:] }
    return orphaning
  }

  func move(_ rows: [Export.RowID]) { moved.formUnion(rows) }

  func takeMoved() -> Set<Export.RowID> {
    defer { moved = [] }
    return moved
  }

  /// Whether a row has changed that refers to others, or to which others refer.
  var concernsReferences: Bool { !touched.isEmpty }

  /// Forgets what has changed: it was looked at.
  func settle() {
    begun.touched.formUnion(touched.keys)
    begun.replaced.formUnion(replaced)
    begun.before.merge(before.filter { !begun.noted.contains($0.key) }) { old, _ in old }
    (touched, before, moved, replaced) = ([:], [:], [], [])
    (isUnsure, mustSettle) = (false, false)
  }

  func requireSettling() { mustSettle = true }
}
