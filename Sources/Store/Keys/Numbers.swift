import Replication
import SQLite

/// Sees to it that AUTOINCREMENT gives numbers of this replica's own blocks.
struct Numbers {
  private let connection: Connection
  private let meta: Meta

  init(_ connection: Connection) {
    self.connection = connection
    meta = Meta(connection: connection)
  }

  /// The blocks of this replica; nil as long as it is alone in its site.
  var blocks: NumberBlocks? {
    get throws(SQLiteError) {
      guard let member = try meta.integer(.member) else { return nil }
      return NumberBlocks(member: member, of: try meta.integer(.memberCount) ?? 0)
    }
  }

  /// Puts `sqlite_sequence` where the next number is one of this replica's own.
  ///
  /// "If a table contains a column of type INTEGER PRIMARY KEY AUTOINCREMENT ... the ROWID chosen
  /// for the new row is at least one larger than the largest ROWID that has ever before existed in
  /// that same table" (sqlite.org/autoinc.html): what is in the table counts, whatever the sequence
  /// says. So many blocks are left: others may know what was given in them.
  func settle(_ table: ReplicaTable, leaves: Int64 = 0) throws(SQLiteError) {
    guard let schema = table.schema, schema.isAutoincrement, let column = schema.key.first,
      let blocks = try blocks
    else { return }
    let sequence = Sequence(schema.name, on: connection)
    let known = try sequence.last
    // One that is beyond all that are given came in a row of somebody; SQLite gives none after it.
    let isGiven = known.map { $0 < NumberBlocks.limit } ?? true
    let given = isGiven ? known : try highest(of: table)
    let standing = try connection.scalar(
      "SELECT max(\(quoted(schema.columns[column].name))) FROM main.\(quoted(schema.name))"
    ).integer
    guard let start = blocks.start(after: max(given ?? 0, standing ?? 0, 0), leaves: leaves),
      start != known
    else { return }
    try sequence.set(start)
  }

  /// The highest number that a row has or had here, of those that are given: none is beyond what
  /// every program can read, so one row cannot use them up.
  func highest(of table: ReplicaTable) throws(SQLiteError) -> Int64 {
    let limit = Key([.integer(NumberBlocks.limit)], collations: [.binary])
    let key = try connection.scalar(
      "SELECT max(key) FROM _flotilla_version WHERE tbl = ? AND key < ?",
      [.integer(table.id), .blob(limit?.bytes ?? [])]
    ).blob.map { Key(bytes: $0) }
    guard case .integer(let number)? = key?.values?.first else { return 0 }
    return max(0, number)
  }

  /// The number that the next row gets, if that is arranged.
  func next(_ table: ReplicaTable) throws(SQLiteError) -> Int64? {
    guard let schema = table.schema, schema.isAutoincrement, try blocks != nil else { return nil }
    return try Sequence(schema.name, on: connection).last.flatMap { $0 < .max ? $0 + 1 : nil }
  }
}

extension Sequence {
  /// The row is there from the first INSERT on; before that it is made.
  fileprivate func set(_ last: Int64) throws(SQLiteError) {
    let changed = try connection.run(
      "UPDATE main.sqlite_sequence SET seq = ? WHERE name = ?", [.integer(last), .string(name)])
    guard changed == 0 else { return }
    try connection.run(
      "INSERT INTO main.sqlite_sequence(name, seq) VALUES (?, ?)",
      [.string(name), .integer(last)])
  }
}

extension Store {
  /// Tells by which number this replica counts among the members, once and for all, and how many
  /// there are and were.
  package func setMember(_ number: Int64, of count: Int64) throws(StoreError) {
    let (member, known) = try reporting { () throws(SQLiteError) in
      (try meta.integer(.member), try meta.integer(.memberCount) ?? 0)
    }
    guard member == nil || count > known else { return }
    try transaction {
      if member == nil { try meta.set(.member, .integer(number)) }
      try meta.set(.memberCount, .integer(max(known, count)))
      try settleNumbers(in: tables.tracked)
    }
  }

  /// Arranges which numbers these tables give next.
  func settleNumbers(in tables: [ReplicaTable], leaves: Int64 = 0) throws(SQLiteError) {
    let numbers = Numbers(connection)
    for table in tables { try numbers.settle(table, leaves: leaves) }
  }

  /// The same for those in which the open transaction has changed something.
  func settleNumbers() throws(SQLiteError) {
    let changed = recent.touchedTables.sorted().compactMap { tables.byID[$0] }
    try settleNumbers(in: changed)
  }
}

/// What becomes of two rows of a table that get one key on two nodes.
package struct KeyHandling: Sendable {
  package enum Kind: String, Sendable {
    /// The later one gets a fresh number.
    case rekey
    /// It moves with the row whose key its own holds.
    case follow
    /// One of them goes to the conflict log.
    case log

    /// What can be chosen.
    package static let choices: [Kind] = [.rekey, .log]
  }

  package var table: String
  package var kind: Kind
  /// Whether the site has chosen it; else it follows from the foreign keys.
  package var isChosen = false
  /// The next number that AUTOINCREMENT gives here, if that is arranged.
  package var next: Int64?
}
