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
  }

  private func gone(of shape: TableShape) throws(SQLiteError) -> Gone? {
    guard let table = tables.table(shape.name), table.isTracked, !table.isSettings,
      let statements = table.statements
    else { return nil }
    let names = zip(shape.columns, statements.columns(for: shape.columns))
      .filter { $0.1 == nil }.map { ContentHash.column($0.0) }
    guard !names.isEmpty, try !tables.dropped(table.name).isDisjoint(with: names) else {
      return nil
    }
    return Gone(table: table, statements: statements)
  }

  private func prove(
    _ row: ShapedRow, _ values: [Replication.Value], _ gone: Gone
  ) throws(SQLiteError) -> [Found]? {
    let (table, statements) = (gone.table, gone.statements)
    guard let key = table.key(values.prefix(row.shape.keyCount)),
      let entry = try shelf.entry(table: table.id, key: key), entry.rest != 0,
      case let open = entry.uncounted.count, open > 0, open <= Self.mostColumns,
      let old = try versions.version(table: table.id, key: key), !old.isDeleted,
      let standing = try StandingRow.read(key, statements, on: connection)
    else { return nil }
    let beside = try standing.beside(entry, statements, key, on: connection)
    let brought = zip(beside.places, beside.standIns).filter { $0.1.isUncounted }
    // A program may have written over what the rename had brought.
    guard brought.count == open, standing.hash(beside) == old.hash else { return nil }
    let hash = row.row.version.hash
    let parts = Placement(shape: row.shape, values: values, hash: hash, exists: true)
      .parts(in: statements)
    let reading = statements.read(parts.known, parts.unknown, hash: hash, standing: nil)
    guard reading.rest == 0 else { return nil }
    // What both know beside the row is no part of what was lost.
    let known = Set(beside.extras.map(\.name))
    var names = parts.unknown.filter { !known.contains($0.name) }.map { Name($0.name) }
    for extra in reading.extras {
      guard let index = names.firstIndex(where: { $0.name == extra.name }) else { continue }
      names[index].share = ContentHash.share(column: names[index].hash, extra.value)
    }
    var search = Search(
      names: names, values: brought.map(\.1.value), tries: Self.mostTries)
    let lost = names.reduce(entry.rest) { $0 &- $1.share }
    return search.places(giving: lost, from: 0)?.enumerated().map { index, name in
      Found(
        table: table, column: statements.names[brought[index].0], first: names[name].name)
    }
  }

  /// A column that the sender has, and what its value adds to the row that came.
  private struct Name {
    let name: String
    let hash: UInt64
    var share: UInt64 = 0

    init(_ name: String) { (self.name, hash) = (name, ContentHash.column(name)) }
  }

  /// Which of the names the values had.
  private struct Search {
    let names: [Name]
    let values: [Replication.Value]
    var tries: Int
    private var taken: Set<Int> = []

    init(names: [Name], values: [Replication.Value], tries: Int) {
      (self.names, self.values, self.tries) = (names, values, tries)
    }

    /// The places of the names by which the values add `sum` more than what came.
    mutating func places(giving sum: UInt64, from first: Int) -> [Int]? {
      guard first < values.count else { return sum == 0 ? [] : nil }
      for (place, name) in names.enumerated() where !taken.contains(place) && tries > 0 {
        tries -= 1
        let share = ContentHash.share(column: name.hash, values[first]) &- name.share
        taken.insert(place)
        if let others = places(giving: sum &- share, from: first + 1) { return [place] + others }
        taken.remove(place)
      }
      return nil
    }
  }
}
