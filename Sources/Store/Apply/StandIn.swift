import Replication
import SQLite

/// A value of a row that its column does not show, or does not count, as it came.
///
/// A machine has made `code` a TEXT, and sends '00123'; here `code` is an INTEGER and shows 123. Or
/// `note` comes with NULL, and is NOT NULL DEFAULT '' here. Or `state` comes with 'new', which is
/// its default here and counts for nothing, and had another default where it was written. The row
/// shows what the column has made of the value until the column takes it, or a program writes
/// something else there. Meanwhile it is counted as it came, and passed on so.
struct StandIn: Equatable {
  /// The first name of the column.
  var name: String
  /// What came.
  var value: Replication.Value
  /// What the table shows of it: of a NULL the default, or what stood there before.
  var shown: Replication.Value
  /// Whether the value adds to the content hash: the default of its author does not.
  var isCounted: Bool
  /// A rename has brought it into the column, and nobody knows yet from which: no version of the
  /// row has counted it there.
  var isBrought = false

  /// Whether the table shows what came, and it is counted otherwise alone.
  var isShown: Bool { value == shown }

  /// Whether what the table shows says all that came: a number for its text, a text for its number,
  /// a default for NULL.
  var saysAll: Bool {
    switch (value, shown) {
    case (.null, _): true
    case (.text(let text), .real(let real)): text == Array("\(real)".utf8)
    default: shown.isSameNumber(as: value)
    }
  }

  /// Whether the column shows the same still, maybe in the form that another type of it has for
  /// that: a migration has copied it then.
  func stands(as now: Replication.Value) -> Bool {
    now == shown || value != .null && now != value && shown.isSameNumber(as: now)
  }
}

/// What is kept beside a row that stands in its table.
struct Beside {
  /// Values that count, of columns that do not exist here.
  var extras: [(name: String, value: Replication.Value)] = []
  /// What counts without being known here.
  var rest: UInt64 = 0
  /// Those that still stand as they were put there.
  var standIns: [StandIn] = []
  /// The columns that these are for, by their places in the shape.
  var places: [Int] = []
  /// Those in whose columns something else has been written since, by the places of these.
  var writtenOver: [Int: StandIn] = [:]
  /// What the row counts more as the values are counted that came, and not what their columns show.
  fileprivate(set) var shift: UInt64 = 0

  var isEmpty: Bool { extras.isEmpty && rest == 0 && standIns.isEmpty }

  /// Whether the row travels with other values than its table shows.
  var altersRow: Bool { !places.isEmpty || !extras.isEmpty }

  /// Adds all of it to what the table shows of the row.
  func add(to sum: inout ContentHash) {
    for (name, value) in extras { sum.add(column: ContentHash.column(name), value) }
    sum.add(rest: rest &+ shift)
  }

  /// What the version says of columns that show something else, by their places.
  var said: [Int: Replication.Value] {
    Dictionary(zip(places, standIns.map(\.value)), uniquingKeysWith: { $1 })
  }

  /// The row as its version says it, from what its table shows.
  func said(_ values: [Replication.Value]) -> [Replication.Value] {
    guard altersRow else { return values }
    var values = values
    for (place, standIn) in zip(places, standIns) { values[place] = standIn.value }
    return values + extras.map(\.value)
  }

  /// A column here shows something else than this value of it. Whether that counts, the values say
  /// that were beside the row so far.
  mutating func stand(
    _ name: String, for value: Replication.Value, showing shown: Replication.Value
  ) {
    let place = extras.firstIndex { $0.name == name }
    if let place { extras.remove(at: place) }
    standIns.append(StandIn(name: name, value: value, shown: shown, isCounted: place != nil))
  }

  /// Lets go of each NULL whose column once took NULL and takes none any more; false if there is
  /// none.
  ///
  /// A machine that is yet to let a column take NULL passes one on, for it comes from a later
  /// migration. Here it comes from an earlier one, and no machine will show it in the end.
  mutating func outgrowNulls(_ statements: RowStatements) -> Bool {
    let isLetGo = { (place: Int, standIn: StandIn) in
      standIn.value == .null && statements.hasOutgrownNull[place]
    }
    let left = zip(places, standIns).filter { !isLetGo($0, $1) }
    guard left.count < standIns.count else { return false }
    for (place, standIn) in zip(places, standIns) where isLetGo(place, standIn) {
      shift &-= statements.shift(of: standIn, showing: standIn.shown, in: place)
    }
    (places, standIns) = (left.map(\.0), left.map(\.1))
    return true
  }

  /// A column shows what a rename has brought there.
  mutating func bring(
    _ value: Replication.Value, _ place: Int, _ statements: RowStatements
  ) {
    let standIn = StandIn(
      name: statements.shape.columns[place], value: value, shown: value, isCounted: false,
      isBrought: true)
    standIns.append(standIn)
    places.append(place)
    shift &+= statements.shift(of: standIn, showing: value, in: place)
  }

  /// The columns with what a rename has brought that are known to be others by now, under whose
  /// names that does count.
  func settled(_ statements: RowStatements) -> Set<Int> {
    Set(
      zip(places, standIns).filter { place, standIn in
        standIn.isBrought && !isSameName(standIn.name, statements.shape.columns[place])
      }.map(\.0))
  }

  mutating func settle(_ statements: RowStatements) {
    let settled = settled(statements)
    guard !settled.isEmpty else { return }
    for (place, standIn) in zip(places, standIns) where settled.contains(place) {
      shift &-= statements.shift(of: standIn, showing: standIn.shown, in: place)
    }
    let left = zip(places, standIns).filter { !settled.contains($0.0) }
    (places, standIns) = (left.map(\.0), left.map(\.1))
  }

  func entry(keyCount: Int) -> Shelf.Entry {
    Shelf.Entry(
      why: .columns, values: extras, keyCount: keyCount, rest: rest, standIns: standIns)
  }
}

extension RowStatements {
  /// What is kept beside a row that has been read so, if it shows the values that came.
  func beside(_ reading: Reading, _ brought: [(column: Int, standIn: StandIn)] = []) -> Beside {
    var beside = Beside(extras: reading.extras, rest: reading.rest)
    beside.standIns = reading.otherwise.map { column, value in
      StandIn(
        name: shape.columns[column], value: value, shown: value,
        isCounted: value == defaults[column])
    }
    beside.standIns += brought.map(\.standIn)
    return beside
  }

  /// What an entry of the shelf says of a row, of which `shown` gives the columns.
  ///
  /// What is more than can travel is counted, and not told: no peer would read such a row, nor
  /// could it be read from the shelf.
  func beside(
    _ entry: Shelf.Entry?, _ shown: (Int) throws(SQLiteError) -> Replication.Value?
  ) throws(SQLiteError) -> Beside {
    guard let entry, entry.why == .columns else { return Beside() }
    let kept = unknown(in: entry)
    var beside = Beside(extras: sendable(kept), rest: entry.rest)
    if beside.extras.count < kept.count {
      var (sent, all) = (ContentHash(), ContentHash())
      for (name, value) in beside.extras { sent.add(column: ContentHash.column(name), value) }
      for (name, value) in kept { all.add(column: ContentHash.column(name), value) }
      beside.rest &+= sent.rest(to: all.value)
    }
    for (standIn, column) in zip(entry.standIns, columns(for: entry.standIns.map(\.name))) {
      guard let column, let now = try shown(column) else { continue }
      guard standIn.stands(as: now) else {
        beside.writtenOver[column] = standIn
        continue
      }
      let isCountedHere = defaults[column] != now
      // It is shown and counted as it came.
      if standIn.value == now, standIn.isCounted == isCountedHere { continue }
      beside.standIns.append(standIn)
      beside.places.append(column)
      beside.shift &+= shift(of: standIn, showing: now, in: column)
    }
    return beside
  }

  /// What a row counts more as this value is counted, and not what its column shows.
  fileprivate func shift(
    of standIn: StandIn, showing now: Replication.Value, in column: Int
  ) -> UInt64 {
    let hash = columnHashes[column]
    let came = standIn.isCounted ? ContentHash.share(column: hash, standIn.value) : 0
    return came &- (defaults[column] != now ? ContentHash.share(column: hash, now) : 0)
  }

  func beside(_ entry: Shelf.Entry?, _ values: [Replication.Value]) throws(SQLiteError) -> Beside {
    try beside(entry) { values[$0] }
  }
}

extension StandingRow {
  func beside(
    _ entry: Shelf.Entry?, _ statements: RowStatements, _ key: Key, on connection: Connection
  ) throws(SQLiteError) -> Beside {
    try statements.beside(entry) { (column) throws(SQLiteError) in
      try value(of: column, statements, key, on: connection)
    }
  }
}
