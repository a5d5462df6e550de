import Replication
import SQLite

/// The SQL that reads and writes single rows of one table, made from its local schema and from the
/// names under which the site knows its columns.
///
/// It is looked at for each row, and no row makes a copy of it.
final class RowStatements {
  /// How the table travels: the key columns first, generated columns not at all, each under its
  /// first name.
  let shape: TableShape
  let keyCount: Int
  /// The name of the table in this file.
  let tableName: String
  /// For each column of the shape: its name in this file.
  let names: [String]
  /// Further names under which values may come for a column of the shape (see `ColumnNames`).
  let aliases: [String: Int]
  /// For each column of the shape: the hash of its first name.
  let columnHashes: [UInt64]
  /// For each column of the shape: the value that counts for nothing in the content hash.
  let defaults: [Replication.Value?]
  /// For each column of the shape: whether it takes no NULL, and whether it once did here.
  let isRequired, hasOutgrownNull: [Bool]
  /// Whether the texts of the file are UTF-16.
  private let isWide: Bool
  private let affinities: [Affinity]
  /// Every column of the shape, by key.
  let selectByKey: String
  let deleteByKey: String
  let existsByKey: String
  /// The key by the rowid, past all indexes; nil where that is the key, or has no name.
  let selectKeyByRowID: String?

  let table: String
  /// `OR ABORT`, where the table says something else. It holds for statements of triggers, too.
  private let resolution: String
  let keyCondition: String
  /// The key columns, with the collation by which two keys are one.
  let keyTerms: [String]
  /// A key column can change though the row stays the same one (case, 1 for 1.0).
  private let writesKey: Bool
  /// Texts that were made for some columns.
  private var inserts: [[Int]: String] = [:]
  private var updates: [[Int]: String] = [:]
  private var lastPlaces: (names: [String], columns: [Int?]) = ([], [])
  private var lastPairs: (names: [String], pairs: [(index: Int, column: Int?)]) = ([], [])
  private var lastWhole: (shape: TableShape, row: WholeRow?)?
  private var lastInsert: (columns: [Int], text: String) = ([], "")
  private var lastUpdate: (columns: [Int], text: String) = ([], "")
  /// The text that reads several rows.
  var lastTogether: (count: Int, text: String)?

  /// `columnNames` tells the first name of each column of the schema; their own, if nil.
  init(_ schema: TableSchema, _ columnNames: ColumnNames? = nil) {
    let others = schema.shippedColumns.filter { !schema.key.contains($0) }
    let shipped = schema.key + others
    let columns = shipped.map { schema.columns[$0] }
    let firsts = columnNames.map { names in shipped.map { names.firsts[$0] } }
    self.shape = TableShape(
      name: schema.name, keyCount: schema.key.count, columns: firsts ?? columns.map(\.name),
      collations: schema.collations,
      affinities: schema.key.map { KeyAffinity(schema.columns[$0].affinity) })
    self.keyCount = shape.keyCount
    self.tableName = schema.name
    self.names = columns.map(\.name)
    var aliases: [String: Int] = [:]
    for (alias, column) in columnNames?.aliases ?? [:] {
      if let place = shipped.firstIndex(of: column) { aliases[alias] = place }
    }
    self.aliases = aliases
    self.columnHashes = shape.columns.map { ContentHash.column($0) }
    self.defaults = columns.map { $0.constantDefault.map(Replication.Value.init) }
    self.isRequired = columns.map(\.isNotNull)
    self.hasOutgrownNull = shipped.map {
      schema.columns[$0].isNotNull && columnNames?.haveTakenNull[$0] == true
    }
    self.affinities = columns.map(\.affinity)
    self.isWide = schema.isWide
    self.table = "main." + quoted(schema.name)
    self.resolution = schema.resolvesConflicts ? "OR ABORT " : ""
    self.keyTerms = schema.key.enumerated().map { position, column in
      let column = schema.columns[column]
      let collation = schema.keyCollations[position]
      return quoted(column.name) + (collation == column.collation ? "" : " COLLATE \(collation)")
    }
    self.keyCondition = keyTerms.map { "\($0) = ?" }.joined(separator: " AND ")
    let names = self.names.map(quoted).joined(separator: ", ")
    self.selectByKey = "SELECT \(names) FROM \(table) WHERE \(keyCondition)"
    self.deleteByKey = "DELETE FROM \(table) WHERE \(keyCondition)"
    self.existsByKey = "SELECT 1 FROM \(table) WHERE \(keyCondition)"
    let keyNames = schema.key.map { quoted(schema.columns[$0].name) }.joined(separator: ", ")
    let rowID = schema.hasIntegerKey ? nil : schema.rowIDName
    let past = "FROM \(table) NOT INDEXED WHERE"
    self.selectKeyByRowID = rowID.map { "SELECT \(keyNames) \(past) \($0) = ?" }
    self.writesKey =
      others.isEmpty || schema.keyCollations.contains { $0 != "BINARY" }
      || schema.key.contains { ![.integer, .text, .real].contains(schema.columns[$0].affinity) }
  }

  /// What the key columns are called in this file.
  var keyNames: [String] { Array(names.prefix(shape.keyCount)) }

  private init(_ other: RowStatements, _ shape: TableShape) {
    (self.shape, keyCount) = (shape, other.keyCount)
    tableName = other.tableName
    (names, aliases, columnHashes) = (other.names, other.aliases, other.columnHashes)
    (defaults, isRequired, affinities) = (other.defaults, other.isRequired, other.affinities)
    (hasOutgrownNull, isWide) = (other.hasOutgrownNull, other.isWide)
    (selectByKey, deleteByKey, existsByKey) = (
      other.selectByKey, other.deleteByKey, other.existsByKey
    )
    (selectKeyByRowID, table) = (other.selectKeyByRowID, other.table)
    resolution = other.resolution
    (keyCondition, keyTerms) = (other.keyCondition, other.keyTerms)
    writesKey = other.writesKey
  }

  /// The same for rows that travel under this name of the table.
  func travelling(as name: String) -> RowStatements {
    RowStatements(self, shape.named(name))
  }

  /// The same for rows of this generation of the key.
  func travelling(in generation: UInt64) -> RowStatements {
    if generation == shape.generation { return self }
    return RowStatements(self, shape.of(generation: generation))
  }

  /// How rows of that shape go into the table, if they are whole in it. One after another has the
  /// same shape.
  func whole(_ shape: TableShape) -> WholeRow? {
    if let lastWhole, lastWhole.shape.isCopy(of: shape) { return lastWhole.row }
    // The next row has the shape where this one has it.
    let isSame = lastWhole.map { $0.shape == shape } ?? false
    let row = isSame ? lastWhole?.row : WholeRow(shape, self)
    lastWhole = (shape, row)
    return row
  }

  /// Whether a value may be stored in a column as another one: 1.5 in a column of TEXT is '1.5'.
  func mayConvert(_ value: Replication.Value, in column: Int) -> Bool {
    affinities[column].mayConvert(value) || isWide && value.isTornByUTF16
  }

  /// Whether the table cannot show a key as it came, and would take it for another one.
  func cannotHoldKey(of values: [Replication.Value]) -> Bool {
    isWide && values.prefix(keyCount).contains(where: \.isTornByUTF16)
  }

  /// Whether a column shows a value as it came.
  func takes(_ value: Replication.Value, in column: Int) -> Bool {
    value == .null ? !isRequired[column] : !mayConvert(value, in: column)
  }

  /// The other values which a column stores as this one.
  func others(
    of value: Replication.Value, in column: Int, on connection: Connection
  ) throws(SQLiteError) -> [Replication.Value] {
    try affinities[column].others(of: value, on: connection)
  }

  /// Some columns of the row with the key that is bound.
  func select(_ names: String) -> String { "SELECT \(names) FROM \(table) WHERE \(keyCondition)" }

  /// The value that most of the first rows have in a column, and how many of how many do.
  func commonest(
    _ column: Int, on connection: Connection
  ) throws(SQLiteError) -> (value: SQLite.Value, count: Int64, of: Int64)? {
    let rows = "SELECT \(quoted(names[column])) AS value FROM \(table) LIMIT 2000"
    let row = try connection.row(
      """
      SELECT value, count(*), sum(count(*)) OVER () FROM (\(rows))
      GROUP BY value ORDER BY count(*) DESC LIMIT 1
      """)
    return row.map { ($0[0], $0[1].integer ?? 0, $0[2].integer ?? 0) }
  }

  /// The column of that first name; `index` is where it probably is.
  func column(named name: String, at index: Int?) -> Int? {
    if let index, index < shape.columns.count, shape.columns[index] == name { return index }
    if let column = shape.columns.firstIndex(where: { isSameName($0, name) }) { return column }
    // A letter with an accent may be spelled in two ways; no table has both.
    guard name.utf8.contains(where: { $0 >= 0x80 }) else { return nil }
    return shape.columns.firstIndex { folded($0) == folded(name) }
  }

  /// The column that is called so in this file.
  func column(here name: String) -> Int? { names.firstIndex { isSameName($0, name) } }

  /// For each first name the column; row after row brings the same.
  private func places(of names: [String]) -> [Int?] {
    if lastPlaces.names.hasSameBytes(as: names) { return lastPlaces.columns }
    let columns = names.enumerated().map { column(named: $1, at: $0) }
    lastPlaces = (names, columns)
    return columns
  }

  /// For each name of a version the column that its value is for; nil if there is none here.
  ///
  /// `full_name` of a machine that has not heard yet that this is the site's `name` goes into the
  /// same column, unless the version has a value for `name` as well.
  func columns(for names: [String]) -> [Int?] {
    var found = places(of: names)
    guard !aliases.isEmpty, found.contains(nil) else { return found }
    for (index, name) in names.enumerated() where found[index] == nil {
      guard let column = aliases[folded(name)], !found.contains(column) else { continue }
      found[index] = column
    }
    return found
  }

  /// The same for the values of a version, by their places.
  ///
  /// Its sender may take `name` and `full_name` for two columns that are one here. The value
  /// under the later name goes in unless it says less; the other is none of the row.
  func columns(
    for names: [String], _ values: [Replication.Value]
  ) -> [(index: Int, column: Int?)] {
    if lastPairs.names.hasSameBytes(as: names) {
      // The next row has the names where this one has them.
      lastPairs.names = names
      return lastPairs.pairs
    }
    var found = places(of: names)
    guard !aliases.isEmpty, found.contains(nil) else {
      // Of these no value is looked at.
      lastPairs = (names, Array(zip(found.indices, found)))
      return lastPairs.pairs
    }
    var isLeftOut: Set<Int> = []
    let others = names.indices.filter { found[$0] == nil }
    for index in others.sorted(by: { folded(names[$0]) < folded(names[$1]) }) {
      guard let column = aliases[folded(names[index])] else { continue }
      guard let other = found.firstIndex(of: column) else {
        found[index] = column
        continue
      }
      if isHidden(values[index], by: values[other], in: column) {
        isLeftOut.insert(index)
      } else {
        (found[index], found[other]) = (column, nil)
        isLeftOut.insert(other)
      }
    }
    return zip(found.indices, found).filter { !isLeftOut.contains($0.0) }
  }

  /// Whether a value says nothing: it is NULL, or what the column has by default.
  func isSilent(_ value: Replication.Value, in column: Int) -> Bool {
    weight(of: value, in: column) < 2
  }

  /// Whether the value under the later name of a column does not go in, for it says less than that
  /// under an earlier one.
  func isHidden(
    _ later: Replication.Value, by earlier: Replication.Value, in column: Int
  ) -> Bool { weight(of: later, in: column) < weight(of: earlier, in: column) }

  /// How much a value says: a default least, for it may have been filled in; then NULL.
  private func weight(of value: Replication.Value, in column: Int) -> Int {
    value == defaults[column] ? 0 : value == .null ? 1 : 2
  }

  /// Of two names of a column, whether the one is the later: the first one is the earliest, and
  /// of others, whose order nobody knows, each machine takes the same.
  func isLater(_ name: String, than other: String, of column: Int) -> Bool {
    let first = shape.columns[column]
    if isSameName(name, first) { return false }
    return isSameName(other, first) || folded(name) > folded(other)
  }

  /// Which columns a version carries its author decides: so many texts are remembered.
  private static let mostTexts = 32

  /// Inserts a row with the given columns of the shape.
  func insert(_ columns: [Int]) -> String {
    if columns == lastInsert.columns { return lastInsert.text }
    if let known = inserts[columns] {
      lastInsert = (columns, known)
      return known
    }
    let names = columns.map { quoted(self.names[$0]) }.joined(separator: ", ")
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    let text = "INSERT \(resolution)INTO \(table)(\(names)) VALUES (\(marks))"
    if inserts.count < Self.mostTexts { inserts[columns] = text }
    return text
  }

  /// The same, so that rows that are in the way go.
  func replacing(_ columns: [Int]) -> String {
    "INSERT OR REPLACE" + insert(columns).dropFirst("INSERT \(resolution)".count - 1)
  }

  /// Updates the given columns of the row whose key values are bound last.
  func update(_ columns: [Int]) -> String {
    if columns == lastUpdate.columns { return lastUpdate.text }
    if let known = updates[columns] {
      lastUpdate = (columns, known)
      return known
    }
    let names = columns.map { "\(quoted(self.names[$0])) = ?" }.joined(separator: ", ")
    let text = "UPDATE \(resolution)\(table) SET \(names) WHERE \(keyCondition)"
    if updates.count < Self.mostTexts { updates[columns] = text }
    return text
  }

  /// Whether an update sets this column if a version carries it.
  func isUpdated(_ column: Int) -> Bool { writesKey || column >= shape.keyCount }

  /// The rows after a key (or from the start) in key order, without those that have no whole key.
  func selectAfter(hasStart: Bool) -> String {
    let names = self.names.map(quoted).joined(separator: ", ")
    let key = keyTerms.joined(separator: ", ")
    let marks = keyTerms.map { _ in "?" }.joined(separator: ", ")
    let present = keyTerms.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
    let start = hasStart ? "(\(key)) > (\(marks)) AND" : ""
    return "SELECT \(names) FROM \(table) WHERE \(start) \(present) ORDER BY \(key) LIMIT ?"
  }

  /// Some row, if there is one.
  var selectAny: String { "SELECT 1 FROM \(table) LIMIT 1" }

  /// What a node calls the key columns of a table that it does not have: 0, 1, …
  static func placeholders(_ count: Int) -> [String] { (0..<count).map { "\($0)" } }

  /// What is counted of a row beside its values and those on the shelf.
  func rest(in entry: Shelf.Entry?) -> UInt64 { entry?.why == .columns ? entry?.rest ?? 0 : 0 }

  /// The values on the shelf whose columns do not exist here.
  func unknown(in entry: Shelf.Entry?) -> [(name: String, value: Replication.Value)] {
    guard let entry, entry.why == .columns else { return [] }
    let all = entry.values + entry.standIns.filter(\.isCounted).map { ($0.name, $0.value) }
    return columns(for: all.map(\.name), all.map(\.value)).filter { $0.column == nil }
      .map { all[$0.index] }
  }

  /// Of values whose columns do not exist here, those that can travel beside the columns that do.
  func sendable(
    _ extras: [(name: String, value: Replication.Value)]
  ) -> [(name: String, value: Replication.Value)] {
    if extras.isEmpty { return extras }
    if ShapeNames.hasRoom(for: extras.lazy.map(\.name), beside: shape.columns) { return extras }
    var names = ShapeNames(shape.columns)
    return extras.filter { names.take($0.name) == nil }
  }

  /// How a row travels with values whose columns do not exist here.
  func shape(with extras: [(name: String, value: Replication.Value)]) -> TableShape {
    extras.isEmpty ? shape : shape.with(extras.map(\.name))
  }

  func sum(
    _ known: [(column: Int, value: Replication.Value)],
    _ extras: [(name: String, value: Replication.Value)]
  ) -> ContentHash {
    var sum = ContentHash()
    for (column, value) in known where defaults[column] != value {
      sum.add(column: columnHashes[column], value)
    }
    for (name, value) in extras { sum.add(column: ContentHash.column(name), value) }
    return sum
  }

  /// The columns beside the key that a version does not carry, with what it means by that.
  func defaulted(without columns: [Int]) -> [(column: Int, value: Replication.Value)] {
    let carried = Set(columns)
    return shape.columns.indices.dropFirst(shape.keyCount).compactMap { index in
      guard !carried.contains(index), let value = defaults[index] else { return nil }
      return isRequired[index] && value == .null ? nil : (index, value)
    }
  }

  /// What counts of a row, given in the order of the shape.
  func sum(_ values: [Replication.Value]) -> ContentHash {
    var sum = ContentHash()
    for (column, value) in values.enumerated() where defaults[column] != value {
      sum.add(column: columnHashes[column], value)
    }
    return sum
  }

  /// The same with what is kept beside the row.
  func sum(_ values: [Replication.Value], _ beside: Beside) -> ContentHash {
    var sum = sum(values)
    beside.add(to: &sum)
    return sum
  }

  /// The hash of a row, given in the order of the shape.
  func contentHash(_ values: [Replication.Value]) -> UInt64 { sum(values).value }
}
