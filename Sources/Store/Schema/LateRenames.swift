import Replication
import SQLite

/// Finds out which columns were renamed when rows come that have them under their names of before.
///
/// A migration has renamed `name` and dropped `fax`, and no row told which of the two `full_name`
/// is. An edit of the city comes from a machine that has both. If what the row here has lost is
/// what `full_name` adds as `name`, and what came as `fax`, then it is `name`.
struct LateRenames {
  let tables: Tables
  let versions: VersionTable
  let shelf: Shelf
  let connection: Connection

  /// A column of a table, by its name here, and the first name that it has.
  struct Found {
    var table: ReplicaTable
    var column: String
    var first: String
  }

  /// Assignments that are tried for one row, at most: a member may send whatever it likes.
  private static let mostTries = 1_000
  private static let mostColumns = 8

  /// The renames of one table that one of these rows proves.
  func found(in rows: [ShapedRow]) throws(SQLiteError) -> [Found] {
    guard try tables.hasDropped() else { return [] }
    var last: (shape: TableShape, gone: Gone?)?
    for row in rows {
      guard case .values(let values) = row.row.content else { continue }
      if last?.shape != row.shape { last = (row.shape, try gone(of: row.shape)) }
      guard let gone = last?.gone, let found = try prove(row, values, gone), !found.isEmpty
      else { continue }
      return found
    }
    return []
  }

  /// A table that has lost columns here, some of which a shape has.
  private struct Gone {
    let table: ReplicaTable
    let statements: RowStatements
    /// The columns that it has lost, by the hashes of their names.
    let columns: Set<UInt64>
  }

  private func gone(of shape: TableShape) throws(SQLiteError) -> Gone? {
    guard let table = tables.table(shape.name), table.isTracked, !table.isSettings,
      let statements = table.statements
    else { return nil }
    let names = zip(shape.columns, statements.columns(for: shape.columns))
      .filter { $0.1 == nil }.map { ContentHash.column($0.0) }
    guard !names.isEmpty else { return nil }
    let columns = try tables.dropped(table.name).intersection(names)
    return columns.isEmpty ? nil : Gone(table: table, statements: statements, columns: columns)
  }

  private func prove(
    _ row: ShapedRow, _ values: [Replication.Value], _ gone: Gone
  ) throws(SQLiteError) -> [Found]? {
    let (table, statements) = (gone.table, gone.statements)
    guard let key = table.key(values.prefix(row.shape.keyCount)),
      let entry = try shelf.entry(table: table.id, key: key), entry.rest != 0,
      case let open = entry.brought.count, open > 0, open <= Self.mostColumns,
      let old = try versions.version(table: table.id, key: key), !old.isDeleted,
      let standing = try StandingRow.read(key, statements, on: connection)
    else { return nil }
    let beside = try standing.beside(entry, statements, key, on: connection)
    let brought = zip(beside.places, beside.standIns).filter { $0.1.isBrought }
    // A program may have written over what the rename had brought.
    guard brought.count == open, standing.hash(beside) == old.hash else { return nil }
    let hash = row.row.version.hash
    let parts = Placement(shape: row.shape, values: values, hash: hash, exists: true)
      .parts(in: statements)
    let reading = statements.read(parts.known, parts.unknown, hash: hash, standing: nil)
    guard reading.rest == 0 else { return nil }
    // What is kept beside the row is no part of what was lost.
    let known = Set(beside.extras.map(\.name))
    let counted = Dictionary(
      reading.extras.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    let names = parts.unknown.map(\.name).filter { !known.contains($0) }
      .map { Name($0, counted[$0]) }.filter { gone.columns.contains($0.hash) }
    var search = Search(
      names, brought.map { ContentHash.content($0.1.value) }, tries: Self.mostTries)
    let lost = names.reduce(entry.rest) { $0 &- $1.share }
    search.look(for: lost)
    return search.only?.enumerated().map { index, name in
      Found(
        table: table, column: statements.names[brought[index].0], first: names[name].name)
    }
  }

  /// A column that the sender has, and what its value adds to the row that came.
  private struct Name {
    let name: String
    let hash: UInt64
    let share: UInt64

    /// Without a value if that counts for nothing.
    init(_ name: String, _ value: Replication.Value?) {
      let hash = ContentHash.column(name)
      (self.name, self.hash) = (name, hash)
      share = value.map { ContentHash.share(column: hash, $0) } ?? 0
    }
  }

  /// Which of the names the values had.
  private struct Search {
    private let names: [Name]
    /// By their hashes.
    private let values: [UInt64]
    private var tries: Int
    private var taken: [Int] = []
    private var found: [[Int]] = []

    init(_ names: [Name], _ values: [UInt64], tries: Int) {
      (self.names, self.values, self.tries) = (names, values, tries)
    }

    /// The places of the names, if no others are possible: two columns may have had one value.
    var only: [Int]? { found.count == 1 && tries > 0 ? found[0] : nil }

    /// Looks for the names by which the values add `sum` more than what came.
    mutating func look(for sum: UInt64) {
      guard taken.count < values.count else {
        if sum == 0 { found.append(taken) }
        return
      }
      let value = values[taken.count]
      for (place, name) in names.enumerated()
      where !taken.contains(place) && tries > 0 && found.count < 2 {
        tries -= 1
        taken.append(place)
        look(for: sum &- (ContentHash.share(column: name.hash, content: value) &- name.share))
        taken.removeLast()
      }
    }
  }
}
