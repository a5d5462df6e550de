import Replication
import SQLite

/// A column that is NULL by the version of a row and takes none here, so that its table shows
/// something else: the default, or what stood there before.
///
/// A machine has let `note` take NULL, and sends one; here `note` is NOT NULL DEFAULT ''. The row
/// shows '' until `note` takes NULL here too, or a program writes something else there. Meanwhile
/// it is counted as NULL, and passed on so.
struct StandIn: Equatable {
  /// The first name of the column.
  var name: String
  /// What the table shows instead.
  var shown: Replication.Value
  /// Whether the NULL adds to the content hash: where it is the default of the author it does not.
  var isCounted: Bool
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
  var nulls: [Int] = []
  /// What the row counts more as NULL is counted in these columns instead of what they show.
  fileprivate(set) var shift: UInt64 = 0

  var isEmpty: Bool { extras.isEmpty && rest == 0 && standIns.isEmpty }

  /// Adds all of it to what the table shows of the row.
  func add(to sum: inout ContentHash) {
    for (name, value) in extras { sum.add(column: ContentHash.column(name), value) }
    sum.add(rest: rest &+ shift)
  }

  /// The row as its version says it, from what its table shows.
  func said(_ values: [Replication.Value]) -> [Replication.Value] {
    var values = values
    for place in nulls { values[place] = .null }
    return values + extras.map(\.value)
  }

  func entry(keyCount: Int) -> Shelf.Entry {
    Shelf.Entry(
      why: .columns, values: extras, keyCount: keyCount, rest: rest, standIns: standIns)
  }
}

extension RowStatements {
  /// What an entry of the shelf says of a row, of which `shown` gives the columns.
  func beside(
    _ entry: Shelf.Entry?, _ shown: (Int) throws(SQLiteError) -> Replication.Value?
  ) throws(SQLiteError) -> Beside {
    guard let entry, entry.why == .columns else { return Beside() }
    var beside = Beside(extras: unknown(in: entry), rest: entry.rest)
    for (standIn, column) in zip(entry.standIns, columns(for: entry.standIns.map(\.name))) {
      guard let column, try shown(column) == standIn.shown else { continue }
      beside.standIns.append(standIn)
      beside.nulls.append(column)
      var (instead, before) = (ContentHash(), ContentHash())
      if standIn.isCounted { instead.add(column: columnHashes[column], .null) }
      if defaults[column] != standIn.shown {
        before.add(column: columnHashes[column], standIn.shown)
      }
      beside.shift &+= before.rest(to: instead.value)
    }
    return beside
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

extension Store {
  func beside(
    _ row: StandingRow, _ entry: Shelf.Entry?, _ statements: RowStatements, _ key: Key
  ) throws(SQLiteError) -> Beside {
    try row.beside(entry, statements, key, on: connection)
  }

  /// Keeps what is beside a row now, if anything is.
  func keep(
    _ beside: Beside, _ statements: RowStatements, _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) {
    guard !beside.isEmpty else { return try shelf.remove(table: table.id, key: key) }
    let entry = beside.entry(keyCount: statements.shape.keyCount)
    try shelf.put(entry, table: table.id, key: key)
  }
}
