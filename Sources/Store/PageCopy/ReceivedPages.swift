import Replication
import SQLite

/// A file that came as pages, and the checks without which it is not believed.
///
/// Each check opens a connection of its own, so that two can run at a time. Nothing here runs SQL
/// of the file: what its schema says was compared, to the letter, with what this machine has made.
///
/// Pages that refer to each other can make a small file one of trillions of rows. `checkPages`
/// finds that soon; who reads beside it keeps little in memory, and ends when that fails.
package struct ReceivedPages: Sendable {
  /// What the versions in the file say, table by table.
  package struct Versions: Sendable {
    /// Over (key, content hash) of those that are not deleted, by the number of their table.
    var content: [Int64: UInt64] = [:]
    var digest = Digest()
    /// How many of them there are.
    var live: [Int64: Int] = [:]
    /// The highest stamp of all.
    var newest = Stamp.zero
  }

  package let path: String
  /// Asked now and then by each check; the answer false ends it.
  private let goesOn: @Sendable () -> Bool

  package init(path: String, while goesOn: @escaping @Sendable () -> Bool = { true }) {
    (self.path, self.goesOn) = (path, goesOn)
  }

  /// Steps of SQLite's machine between two questions whether to go on: some ten thousand rows.
  private static let watchedSteps = 100_000

  /// Opens the file as one that somebody else has written.
  func open(_ mode: Connection.Mode = .readWrite) throws(SQLiteError) -> Connection {
    let connection = try Connection(path: path, mode: mode, followsLinks: false)
    try connection.set(.triggers, to: false)
    try connection.set(.foreignKeys, to: false)
    try connection.set(.defensive, to: true)
    // As in the replica that it is to be: "malformed" is what a file with JSON in it is without.
    try connection.set(.trustedSchema, to: true)
    try connection.set(.doubleQuotedStrings, to: false)
    try connection.execute("PRAGMA cell_size_check = ON; PRAGMA cache_size = -512")
    connection.setWatch(every: Self.watchedSteps, goesOn)
    return connection
  }

  /// Looks through all pages.
  package func checkPages() throws(StoreError) {
    try orRows { () throws(SQLiteError) in
      let connection = try open(.readOnly)
      let finding = try connection.scalar("PRAGMA quick_check(1)").string
      guard finding == "ok" else { throw .rows("its pages do not hold: \(finding ?? "")") }
    }
  }

  /// Takes the sums over all versions; throws if one is none that anybody can have written, or that
  /// this node would take from a peer at that moment.
  package func checkVersions(
    by sealed: Sealed, at moment: Int64
  ) throws(StoreError) -> Versions {
    let connection = try orRows { () throws(SQLiteError) in try open(.readOnly) }
    let claims = try CopiedClaims(sealed, at: moment, connection)
    return try orRows { () throws(SQLiteError) in
      var versions = try CopiedVersions(claims, on: connection)
      return try versions.read(connection)
    }
  }

  /// Reads every row of the site's tables.
  package func checkRows() throws(StoreError) -> Rows {
    let connection = try orRows { () throws(SQLiteError) in try open(.readOnly) }
    let tables = try Tables(connection, SchemaCache())
    var found = Rows()
    for table in tables.tracked + tables.settings {
      guard let schema = table.schema, let statements = table.statements else {
        throw StoreError(.rowsOnly, "\(table.name) is not in the copy")
      }
      try orRows { () throws(SQLiteError) in
        let plan = try RowSums.plan(schema, statements, on: connection)
        var sums = RowSums(table, statements, plan?.indexes ?? [], rowID: plan?.rowID)
        try sums.read(connection)
        found.content[table.id] = sums.content
        found.indexes += sums.indexes
      }
    }
    return found
  }

  /// Sums over what the indexes hold, in the order of `Rows.indexes`; throws if one is not in
  /// order. Tables with others than plain ones SQLite looks through itself.
  package func checkIndexes() throws(StoreError) -> [UInt64] {
    let connection = try reporting { () throws(SQLiteError) in try open(.readOnly) }
    let tables = try Tables(connection, SchemaCache())
    var sums: [UInt64] = []
    for table in tables.tracked + tables.settings {
      guard let schema = table.schema, let statements = table.statements else { continue }
      try orRows { () throws(SQLiteError) in
        if let plan = try RowSums.plan(schema, statements, on: connection) {
          for index in plan.indexes {
            sums.append(try RowSums.sum(of: index, in: schema.name, on: connection))
          }
          return
        }
        try Self.requireIntegrity(of: schema.name, in: "main", on: connection)
      }
    }
    return sums
  }

  /// Has SQLite look through one table with its indexes.
  static func requireIntegrity(
    of table: String, in schema: String, on connection: Connection
  ) throws(SQLiteError) {
    let finding = try connection.scalar("PRAGMA \(schema).integrity_check(\(quoted(table)))").string
    guard finding == "ok" else { throw .rows("\(table) does not hold") }
  }

  /// What the rows of the site's tables are.
  package struct Rows: Sendable {
    /// Over (key, content), by the number of the table.
    var content: [Int64: UInt64] = [:]
    /// Over what each index should hold.
    var indexes: [UInt64] = []
  }

  /// Throws unless rows, versions and indexes say the same.
  package func compare(
    _ rows: Rows, _ versions: Versions, _ indexes: [UInt64]
  ) throws(StoreError) {
    guard indexes == rows.indexes else {
      throw StoreError(.rowsOnly, "an index does not hold what it should")
    }
    let connection = try orRows { () throws(SQLiteError) in try open(.readOnly) }
    let tables = try Tables(connection, SchemaCache())
    try orRows { () throws(SQLiteError) in
      var expected = versions.content
      try takeOffShelf(&expected, tables, connection)
      for table in tables.byID.values.map(\.id) + expected.keys
      where rows.content[table, default: 0] != expected[table, default: 0] {
        throw .rows("rows of table \(table) are not as their versions say")
      }
    }
  }

  /// What waits beside its table is not in it, and what is kept beside a row counts with it.
  private func takeOffShelf(
    _ expected: inout [Int64: UInt64], _ tables: Tables, _ connection: Connection
  ) throws(SQLiteError) {
    let versions = VersionTable(
      connection: connection, origins: try Origins(connection), terms: try Terms(connection))
    let shelf = Shelf(connection: connection)
    var last: VersionTable.Place?
    while case let places = try shelf.slice(after: last, limit: 1_000), !places.isEmpty {
      for (id, key) in places {
        guard let table = tables.byID[id], let statements = table.statements,
          let why = try shelf.why(table: id, key: key)
        else { throw .rows("what it keeps beside rows cannot be read") }
        guard let version = try versions.version(table: id, key: key), !version.isDeleted else {
          continue
        }
        let place = hash64(key.bytes, seed: table.seed)
        expected[id, default: 0] &-= RowSums.share(place, version.hash)
        // What waits was compared with what its version says.
        if why.isWhole { continue }
        guard let entry = try shelf.entry(table: id, key: key),
          let row = try StandingRow.read(key, statements, on: connection),
          row.hash(try row.beside(entry, statements, key, on: connection)) == version.hash
        else { throw .rows("a row of \(table.name) is not as its version says") }
        expected[id, default: 0] &+= RowSums.share(place, row.content.value)
      }
      last = places.last
    }
  }
}

extension StoreError.Code {
  /// A copy by pages is not possible; by rows it is.
  package static let rowsOnly = StoreError.Code("rows-only")
}

/// Runs `body` and reports whatever it throws as a reason to go by rows.
func orRows<Result>(_ body: () throws(SQLiteError) -> Result) throws(StoreError) -> Result {
  do {
    return try body()
  } catch {
    throw StoreError(.rowsOnly, error.message, cause: error)
  }
}
