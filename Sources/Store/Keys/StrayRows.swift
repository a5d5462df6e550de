import Replication
import SQLite

/// Rows that refer to a number which another row has now than the one that is meant: they are not
/// shown until their authors have written them again (docs/keys.md).
///
/// It follows from the versions alone, so it is the same on every replica. One of these serves as
/// long as no version changes.
struct StrayRows {
  let connection: Connection
  let tables: Tables
  let versions: VersionTable
  let shelf: Shelf
  let parentage: Parentage
  /// No row was beside its table to begin with.
  private let hadNoneBeside: Bool
  private let lookup: Lookup

  init(
    connection: Connection, tables: Tables, versions: VersionTable, shelf: Shelf,
    parentage: Parentage
  ) throws(SQLiteError) {
    (self.connection, self.tables, self.versions) = (connection, tables, versions)
    (self.shelf, self.parentage) = (shelf, parentage)
    hadNoneBeside = try shelf.isEmpty
    lookup = Lookup(versions)
  }

  /// What is asked again and again: many rows refer to one.
  private final class Lookup {
    private let versions: VersionTable
    private var known: [Export.RowID: Version?] = [:]
    private var texts: [Int64: String] = [:]

    init(_ versions: VersionTable) { self.versions = versions }

    /// The numbers in a row of a table, in the order of its links.
    func select(_ links: [Parentage.Link], _ statements: RowStatements) -> String {
      guard let child = links.first?.child else { return statements.existsByKey }
      if let text = texts[child] { return text }
      let columns = links.map { quoted(statements.names[$0.column]) }
      let text = statements.select(columns.joined(separator: ", "))
      texts[child] = text
      return text
    }

    /// The version of a row that is referred to.
    func version(of row: Export.RowID) throws(SQLiteError) -> Version? {
      if let version = known[row] { return version }
      let version = try versions.version(table: row.table, key: row.key)
      known[row] = .some(version)
      return version
    }
  }

  /// Whether rows of a table name those to which they refer.
  func concern(_ table: Int64) -> Bool { !parentage.links(of: table).isEmpty }

  /// By which column a row refers to another one than is meant; nil if by none. `isPlaced`: it is
  /// known to be in its table.
  func link(
    of version: Version, _ table: ReplicaTable, _ key: Key, isPlaced: Bool = false
  ) throws(SQLiteError) -> Parentage.Link? {
    guard !version.numbering.parents.isEmpty, concern(table.id), let statements = table.statements
    else { return nil }
    // A program may have written the key of a row that is beside its table.
    let isAlone = isPlaced && hadNoneBeside
    let kept =
      try isAlone
      ? nil : shelf.entry(table: table.id, key: key).flatMap { $0.why.isWhole ? $0 : nil }
    let links = parentage.links(of: table.id)
    let row =
      try kept == nil
      ? connection.row(lookup.select(links, statements), (key.values ?? []).map(\.sqlite)) : nil
    let number = { (place: Int, link: Parentage.Link) in
      row.map { Replication.Value($0[place]) } ?? kept.flatMap { link.number(in: $0, statements) }
    }
    for meant in parentage.meantElsewhere(by: version, of: table.id, number: number) {
      let parent = Export.RowID(table: meant.parent.id, key: meant.key)
      guard let standing = try lookup.version(of: parent), !standing.isDeleted else { continue }
      if meant.row.isMet(by: standing, under: meant.key) { return meant.link }
    }
    for meant in parentage.meant(by: version, of: table.id, among: tables, number: number) {
      let parent = Export.RowID(table: meant.parent.id, key: meant.key)
      guard let standing = try lookup.version(of: parent), !standing.isDeleted else { continue }
      if !meant.row.isMet(by: standing, under: meant.key) { return meant.link }
    }
    return nil
  }

  /// The column by which a row does so, and the table to which it refers.
  func words(
    _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) -> (column: String, parent: String)? {
    guard let version = try versions.version(table: table.id, key: key),
      let link = try link(of: version, table, key), let statements = table.statements,
      let parent = tables.byID[link.parent]
    else { return nil }
    return (statements.names[link.column], parent.name)
  }

  /// The rows that refer to a number, and the tables that may have more of them beside themselves.
  func referring(
    to row: Export.RowID
  ) throws(SQLiteError) -> (rows: [Export.RowID], tables: Set<Int64>) {
    var found: [Export.RowID] = []
    let links = parentage.links(to: row.table)
    for link in links {
      guard let child = tables.byID[link.child] else { continue }
      found += try connection.rows(link.select, (row.key.values ?? []).map(\.sqlite))
        .compactMap { child.key($0.map(Replication.Value.init)) }
        .map { Export.RowID(table: child.id, key: $0) }
    }
    return (found, Set(links.map(\.child)))
  }
}

extension Settlement {
  var strays: StrayRows {
    get throws(SQLiteError) {
      try StrayRows(
        connection: connection, tables: tables, versions: versions, shelf: shelf,
        parentage: try kinship.parentage(tables))
    }
  }
}
