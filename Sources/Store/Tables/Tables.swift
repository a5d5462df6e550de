import Replication
import SQLite

/// The tables of the site by local number and by name.
final class Tables {
  /// The replicated table that lists the site's tracked tables.
  static let settings = "_flotilla_table"
  /// Names that peers may bring along, at most.
  static let limit = 2_000

  private let connection: Connection
  private(set) var byID: [Int64: ReplicaTable] = [:]
  private var idByName: [String: Int64] = [:]

  init(_ connection: Connection) throws(StoreError) {
    self.connection = connection
    try reload()
  }

  /// Reads the tracked tables and their schemas again.
  func reload() throws(StoreError) {
    let (rows, tracked) = try reporting { () throws(SQLiteError) in
      (
        try connection.rows("SELECT id, name, baseline FROM _flotilla_local"),
        try trackedNames()
      )
    }
    byID = [:]
    idByName = [:]
    for row in rows {
      guard let id = row[0].integer, let name = row[1].string else { continue }
      let isTracked = name == Self.settings || tracked.contains { isSameName($0, name) }
      let schema = isTracked ? try Trackability.schema(of: name, on: connection) : nil
      add(
        ReplicaTable(
          id: id, name: name, schema: schema, isTracked: isTracked,
          isBaseline: row[2].integer != 0))
    }
  }

  /// The names that the site tracks.
  func trackedNames() throws(SQLiteError) -> [String] {
    try connection.rows("SELECT name FROM _flotilla_table ORDER BY name")
      .compactMap { $0[0].string }
  }

  var tracked: [ReplicaTable] {
    byID.values.filter { $0.isTracked && $0.name != Self.settings }.sorted { $0.id < $1.id }
  }

  func table(_ name: String) -> ReplicaTable? {
    idByName[folded(name)].flatMap { byID[$0] }
  }

  /// The table of a name; a name that is new here gets a number and waits for its table.
  func tableOrNew(_ name: String) throws(StoreError) -> ReplicaTable {
    if let table = table(name) { return table }
    guard byID.count < Self.limit else {
      throw StoreError(.table, "the site names more than \(Self.limit) tables")
    }
    let id = try reporting { () throws(SQLiteError) in
      try connection.run("INSERT INTO _flotilla_local(name) VALUES (?)", [.string(name)])
      return connection.lastInsertRowID
    }
    let table = ReplicaTable(id: id, name: name, schema: nil, isTracked: false, isBaseline: false)
    add(table)
    return table
  }

  /// A hash over the names and columns of all tracked tables, to compare two nodes' schemas.
  var schemaHash: UInt64 {
    tracked.reduce(0) { sum, table in
      let columns = table.statements?.columnHashes.reduce(0, &+) ?? 0
      return sum &+ mix(table.seed ^ columns)
    }
  }

  private func add(_ table: ReplicaTable) {
    byID[table.id] = table
    idByName[folded(table.name)] = table.id
  }

  private func folded(_ name: String) -> String {
    String(decoding: name.utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
