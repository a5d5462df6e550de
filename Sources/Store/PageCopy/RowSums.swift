import Replication
import SQLite

/// Sums over the rows of one table: of their keys with what counts of them, and for each index of
/// what it should hold.
///
/// Sums do not depend on the order, so a table is read as it lies in the file. A look for each row,
/// which takes three times as long, is spared.
struct RowSums {
  /// Where an index finds its columns: places of the shape, or the rowid.
  struct Index: Equatable {
    var name: String
    /// The names to be read from it.
    var columns: [String]
    /// Places among the values of a row.
    var places: [Int]
    var order: IndexOrder
  }

  /// Over (key, content), as `Digest` counts them but for the dot.
  private(set) var content: UInt64 = 0
  /// Over what each index should hold.
  private(set) var indexes: [UInt64]

  private let statements: RowStatements
  private let collations: [KeyCollation]
  private let seed: UInt64
  private let presets: [Preset]
  private let plan: [Index]
  private let sql: String
  private let count: Int
  private let keyCount: Int

  /// What a column holds that counts for nothing; its hash tells quickly what is another value.
  private struct Preset {
    var hash: UInt64?
    var value: Replication.Value?
  }

  init(_ table: ReplicaTable, _ statements: RowStatements, _ plan: [Index], rowID: String?) {
    self.statements = statements
    self.plan = plan
    collations = table.keyCollations
    seed = table.seed
    presets = statements.defaults.map { value in
      Preset(hash: value.map(ContentHash.content), value: value)
    }
    indexes = plan.map { _ in 0 }
    keyCount = statements.shape.keyCount
    count = statements.names.count + (rowID == nil ? 0 : 1)
    let columns = statements.names.map(quoted) + (rowID.map { [$0] } ?? [])
    sql =
      "SELECT \(columns.joined(separator: ", ")) FROM main.\(quoted(statements.tableName)) "
      + "NOT INDEXED"
  }

  /// Reads the whole table.
  mutating func read(_ connection: Connection) throws(SQLiteError) {
    let statement = try connection.prepare(sql)
    var hashes = [UInt64](repeating: 0, count: count)
    var key: [UInt8] = []
    while try statement.step() {
      key.removeAll(keepingCapacity: true)
      for column in 0..<count {
        let content = statement.content(column)
        hashes[column] = content.hash
        guard column < keyCount else { continue }
        guard encode(content, column, &key, statement) else {
          throw .rows("a row of \(statements.tableName) has no key")
        }
      }
      var sum = ContentHash()
      for column in presets.indices where counts(column, hashes[column], statement) {
        sum.add(column: statements.columnHashes[column], content: hashes[column])
      }
      content &+= Self.share(hash64(key, seed: seed), sum.value)
      for (number, index) in plan.enumerated() {
        indexes[number] &+= Self.share(index.places.lazy.map { hashes[$0] })
      }
    }
  }

  /// What an index holds; throws if that is not in its order, where nobody would find it.
  static func sum(
    of index: Index, in table: String, on connection: Connection
  ) throws(SQLiteError) -> UInt64 {
    let statement = try connection.prepare(
      "SELECT \(index.columns.joined(separator: ", ")) FROM main.\(quoted(table)) "
        + "INDEXED BY \(quoted(index.name))")
    var sum: UInt64 = 0
    var order = index.order
    while try statement.step() {
      guard order.follows(statement) else {
        throw .rows("the index \(index.name) is not in order")
      }
      sum &+= share(index.columns.indices.lazy.map { statement.content($0).hash })
    }
    return sum
  }

  /// What one row adds to `content`; `place` is the hash of its key.
  static func share(_ place: UInt64, _ content: UInt64) -> UInt64 { mix(place ^ mix(content)) }

  private static func share(_ hashes: some Collection<UInt64>) -> UInt64 {
    var hash: UInt64 = 0
    for one in hashes { hash = mix(hash ^ one) }
    return mix(hash)
  }

  private func counts(_ column: Int, _ hash: UInt64, _ statement: Statement) -> Bool {
    guard hash == presets[column].hash else { return true }
    return Replication.Value(statement.value(column)) != presets[column].value
  }

  /// Encodes one column of the key of a row; false if it is NULL.
  private func encode(
    _ content: Statement.Content, _ column: Int, _ key: inout [UInt8], _ statement: Statement
  ) -> Bool {
    let collation = column < collations.count ? collations[column] : .binary
    switch content {
    case .null: return false
    case .integer(let integer): Key.append(integer, to: &key)
    case .blob(let bytes): Key.append(bytes, isText: false, to: &key)
    case .text(let bytes) where collation == .binary: Key.append(bytes, isText: true, to: &key)
    case .text, .real:
      let value = Replication.Value(statement.value(column))
      guard let part = Key([value], collations: [collation]) else { return false }
      key += part.bytes
    }
    return true
  }
}

extension Statement.Content {
  /// The hash of the value by itself.
  fileprivate var hash: UInt64 {
    switch self {
    case .null: ContentHash.content(.null)
    case .integer(let integer): ContentHash.content(.integer(integer))
    case .real(let real): ContentHash.content(.real(real))
    case .text(let bytes): ContentHash.content(bytes, isText: true)
    case .blob(let bytes): ContentHash.content(bytes, isText: false)
    }
  }
}

extension RowSums {
  /// The indexes of a table whose content follows from its columns, and under which name its rowid
  /// can be read; nil if there are others, over expressions or a part of the rows.
  ///
  /// Where there is no rowid the rows lie in an index, too: of that one the key is read alone.
  static func plan(
    _ schema: TableSchema, _ statements: RowStatements, on connection: Connection
  ) throws(SQLiteError) -> (indexes: [Index], rowID: String?)? {
    var (indexes, needsRowID): ([Index], Bool) = ([], false)
    let list = try connection.rows(
      "SELECT name, origin, partial, \"unique\" FROM pragma_index_list(?, 'main')",
      [.string(schema.name)])
    for row in list {
      guard row[2].integer == 0, let name = row[0].string else { return nil }
      let isTable = schema.isWithoutRowID && row[1].string == "pk"
      let columns = try connection.rows(
        "SELECT cid, name, desc, coll, key FROM pragma_index_xinfo(?, 'main')", [.string(name)]
      ).filter { !isTable || $0[4].integer == 1 }
      guard let order = IndexOrder(columns, isUnique: row[3].integer == 1) else { return nil }
      var index = Index(name: name, columns: [], places: [], order: order)
      for column in columns {
        if column[0].integer == -1 {
          guard let rowID = schema.rowIDName else { return nil }
          needsRowID = true
          index.columns.append(quoted(rowID))
          index.places.append(statements.names.count)
        } else {
          guard let name = column[1].string,
            let place = statements.names.firstIndex(where: { isSameName($0, name) })
          else { return nil }
          index.columns.append(quoted(statements.names[place]))
          index.places.append(place)
        }
      }
      indexes.append(index)
    }
    return (indexes, needsRowID ? schema.rowIDName.map(quoted) : nil)
  }
}
