import Replication
import SQLite

/// Rows beside their tables that may have to follow one that moves, found by the row they mean.
///
/// There may be many of them, also of one peer that sends rows without parents, and a move concerns
/// few. So they are walked through once for all moves.
struct FollowingRows {
  private struct Meaning: Hashable {
    var table: Int64
    var meant: Dot
  }

  private let store: Store
  private let items: [MovingRows.Item]
  private var itemsByMeaning: [Meaning: [Int]] = [:]
  private var itemsByPlace: [FormerKeys.Place: [Int]] = [:]
  private var parked: [Int64: [Dot: [Key]]] = [:]
  private var pending: [Int64: [Dot: [PendingTable.Item]]] = [:]

  init(_ store: Store, _ items: [MovingRows.Item]) {
    (self.store, self.items) = (store, items)
    for (index, item) in items.enumerated() {
      let place = FormerKeys.Place(
        table: item.table, key: item.key, created: item.version.created)
      itemsByPlace[place, default: []].append(index)
      for meant in item.version.meant {
        itemsByMeaning[Meaning(table: item.table, meant: meant), default: []].append(index)
      }
    }
  }

  /// Of the rows that lost their keys those of a table that mean a row, and those that are at a
  /// place themselves.
  func moving(
    in table: Int64, _ meant: Dot, at place: FormerKeys.Place?
  ) -> [(item: MovingRows.Item, isItself: Bool)] {
    let here = place.flatMap { $0.table == table ? itemsByPlace[$0] : nil } ?? []
    let following = itemsByMeaning[Meaning(table: table, meant: meant)] ?? []
    return Set(here + following).sorted().map { (items[$0], here.contains($0)) }
  }

  /// Parked rows of a table that mean a row: their version alone says so.
  mutating func parked(in table: Int64, _ meant: Dot) throws(SQLiteError) -> [Key] {
    if parked[table] == nil {
      var found: [Dot: [Key]] = [:]
      for (key, version) in try store.shelf.parked(in: table, store.versions) {
        for meant in version.meant { found[meant, default: []].append(key) }
      }
      parked[table] = found
    }
    return parked[table]?[meant] ?? []
  }

  /// Those that wait for the anchor.
  mutating func pending(
    in table: Int64, _ meant: Dot
  ) throws(SQLiteError) -> [PendingTable.Item] {
    if pending[table] == nil {
      var found: [Dot: [PendingTable.Item]] = [:]
      for item in try store.pending.all(in: table) {
        for meant in item.version.meant { found[meant, default: []].append(item) }
      }
      pending[table] = found
    }
    return pending[table]?[meant] ?? []
  }
}

extension Version {
  /// The rows that it refers to, by whatever column.
  fileprivate var meant: Set<Dot> { Set(numbering.parents.map(\.row)) }
}

extension Shelf {
  /// Rows of a table that wait for a constraint or for another row, with their versions.
  func parked(
    in table: Int64, _ versions: VersionTable
  ) throws(SQLiteError) -> [(Key, Version)] {
    let why = [Why.constraint, .reference, .parent].map { literal($0.rawValue) }
    return try connection.with(
      """
      SELECT \(VersionTable.columns(of: "v")), v.key
      FROM _flotilla_shelf AS s JOIN _flotilla_version AS v ON v.tbl = s.tbl AND v.key = s.key
      WHERE s.tbl = ? AND s.why IN (\(why.joined(separator: ", "))) AND v.hash IS NOT NULL
      """, [.integer(table)]
    ) { (statement) throws(SQLiteError) in
      var found: [(Key, Version)] = []
      while try statement.step() {
        guard let version = versions.version(from: statement, at: 0),
          !version.numbering.parents.isEmpty
        else { continue }
        found.append((Key(bytes: statement.bytes(VersionTable.columnCount)), version))
      }
      return found
    }
  }
}
