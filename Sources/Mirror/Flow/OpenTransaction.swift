import SQLite

/// What has become of the rows of the site in the transaction that is open on the server.
///
/// Where a part of it is undone to a savepoint, what was noted since goes with it. Only what stands
/// here when the server has committed counts.
struct OpenTransaction {
  /// A row that was left out.
  struct Aside {
    let row: MirroredRow
    let reason: String
    /// Whether a program of the server has changed it, and the journal says so.
    var isChanged = false
  }

  /// How many rows of a table were refused, one after the other, for a reason without a name.
  struct Odd {
    var rows = 0
    var code: UInt32 = 0
    var count = 0
    /// Some row went.
    var isOver = false
  }

  /// How far it was at a savepoint.
  struct Mark {
    fileprivate let gone: Int
    fileprivate let aside: Int
    fileprivate let dropped: Int
    fileprivate let held: HeldRows
  }

  private(set) var gone: [MirroredRow] = []
  private(set) var aside: [Aside] = []
  /// Rows that are held or nowhere, and so need not go out any more.
  private(set) var dropped: [MirroredRow] = []
  /// What stood on the server where it writes, as far as that goes to the conflict log.
  private(set) var overwritten: [RowKey: [Value]]
  private var strange: Set<RowKey> = []
  /// Rows that want what another one has, in the table that it writes.
  var refused: [(row: MirroredRow, error: ServerError)] = []
  var odd = Odd()
  /// How often it has waited for locks.
  var waits = 0

  init(over overwritten: [RowKey: [Value]] = [:]) { self.overwritten = overwritten }

  mutating func go(_ row: MirroredRow) { gone.append(row) }

  mutating func drop(_ row: MirroredRow) { dropped.append(row) }

  mutating func setAside(_ row: MirroredRow, _ reason: String, isChanged: Bool = false) {
    aside.append(Aside(row: row, reason: reason, isChanged: isChanged))
  }

  mutating func setAside(_ rows: some Sequence<MirroredRow>, _ reason: String) {
    for row in rows { setAside(row, reason) }
  }

  /// What the journals name comes in, and is not owed.
  mutating func leaveToJournals() { aside.removeAll(where: \.isChanged) }

  func mark(_ held: HeldRows) -> Mark {
    Mark(gone: gone.count, aside: aside.count, dropped: dropped.count, held: held)
  }

  /// Gives which rows were held at that savepoint.
  mutating func undo(to mark: Mark) -> HeldRows {
    gone.removeLast(gone.count - mark.gone)
    aside.removeLast(aside.count - mark.aside)
    dropped.removeLast(dropped.count - mark.dropped)
    return mark.held
  }

  /// The server has something in the place of a row that the site never had.
  mutating func meet(_ row: RowKey, _ there: [Value]) {
    overwritten[row] = there
    strange.insert(row)
  }

  /// Rows for which something of the server is lost. One that is held takes that place when nobody
  /// knows of it any more, if the two never met: it `isFirst`, or is strange.
  func losing(isFirst: (Int) -> Bool) -> [MirroredRow] {
    guard !overwritten.isEmpty else { return [] }
    let held = dropped.filter { strange.contains($0.name) || isFirst($0.link.number) }
    return (gone + held).filter { row in
      overwritten[row.name].map { $0 != row.row } ?? false
    }
  }

  func gone(since mark: Mark) -> ArraySlice<MirroredRow> { gone[mark.gone...] }
}
