import Replication
import SQLite

/// Which tables refer to which by numbers that two machines may give twice (docs/keys.md). It
/// follows from the schema that this replica has.
final class Parentage {
  /// A column that says which row of a table is meant, by its number.
  ///
  /// A foreign key to a row whose own key holds such a number is one, too: a note on line 3 of an
  /// order refers to that order.
  struct Link: Hashable {
    /// The same on every machine: a hash of the column's first name and of the table.
    let id: UInt32
    /// The same over later names of the table, under which some may have known it as another one.
    let later: [UInt32]
    let child: Int64
    let parent: Int64
    /// Which column of the child's shape.
    let column: Int
    /// Whether it is in the key of the child.
    let isOfKey: Bool
    /// The keys of the children that refer to a number.
    let select: String
    fileprivate let columnHash: UInt64

    /// Whether it is by this column that a version names a row.
    func isMeant(by parent: ParentRow) -> Bool {
      parent.link == id || later.contains(parent.link)
    }
  }

  /// Tables whose key is a single whole number, and that refer to others or are referred to, or of
  /// which the site has chosen so.
  private(set) var numbered: Set<Int64> = []
  /// Tables whose key holds that of one of these.
  private(set) var derived: Set<Int64> = []
  /// Tables in the order in which their rows are folded: who is referred to comes first.
  private let depths: [Int64: Int]
  private let ofChild: [Int64: [Link]]
  private let ofParent: [Int64: [Link]]
  /// Tables of the site that this file has never had.
  private let unseen: [ReplicaTable]

  init(
    _ tables: [ReplicaTable], _ names: TableNames, seen: Set<String>, on connection: Connection
  ) throws(SQLiteError) {
    var declared: [Declared] = []
    var related: Set<Int64> = []
    for table in tables {
      let (found, refers) = try Declared.all(of: table, among: tables, on: connection)
      declared += found
      if refers { related.insert(table.id) }
    }
    related.formUnion(declared.flatMap { [$0.parent, $0.child] })
    numbered = Self.numbered(
      tables, declared, related, try CollisionChoices(connection: connection).read())
    depths = Self.depths(declared)
    let numbers = Self.numbers(declared, numbered)
    let byID = Dictionary(uniqueKeysWithValues: tables.map { ($0.id, $0) })
    var links: [Link] = []
    let later = names.later()
    for (table, found) in numbers {
      guard let table = byID[table], let statements = table.statements else { continue }
      links += found.compactMap { number in
        byID[number.parent].map {
          Link(table, statements, column: number.column, $0, later[folded($0.name)] ?? [])
        }
      }
    }
    unseen = tables.filter { !$0.isHere && !seen.contains(folded($0.name)) }
    // What the key holds comes first, in the order of the key.
    links.sort { ($0.isOfKey ? 0 : 1, $0.column, $0.id) < ($1.isOfKey ? 0 : 1, $1.column, $1.id) }
    ofChild = Dictionary(grouping: links, by: \.child)
    ofParent = Dictionary(grouping: links, by: \.parent)
    derived = Set(links.filter { $0.isOfKey && $0.child != $0.parent }.map(\.child))
  }

  var isEmpty: Bool { ofChild.isEmpty && numbered.isEmpty }

  /// Whether the keys of a table are not, or not any more, numbers that a row may lose.
  func isPlain(_ table: Int64) -> Bool { !numbered.contains(table) && !derived.contains(table) }

  /// To what the rows of a table refer.
  func links(of child: Int64) -> [Link] { ofChild[child] ?? [] }

  /// What refers to the rows of a table.
  func links(to parent: Int64) -> [Link] { ofParent[parent] ?? [] }

  func depth(of table: Int64) -> Int { depths[table] ?? 0 }

  /// How many tables are above each; where they refer to each other in a circle, not more than so
  /// many.
  private static func depths(_ declared: [Declared]) -> [Int64: Int] {
    var depths: [Int64: Int] = [:]
    for level in 1...16 {
      let above = declared.filter { link in
        link.parent != link.child && depths[link.parent, default: 0] + 1 >= level
          && depths[link.child, default: 0] < level
      }
      if above.isEmpty { break }
      for link in above { depths[link.child] = level }
    }
    return depths
  }

  /// Tables of one whole number that is their own: it is not the number of another row.
  private static func numbered(
    _ tables: [ReplicaTable], _ declared: [Declared], _ related: Set<Int64>,
    _ choices: [String: KeyHandling.Kind]
  ) -> Set<Int64> {
    let wanted = tables.filter { table in
      (choices[folded(table.name)].map { $0 == .rekey } ?? related.contains(table.id))
        && table.hasNumber
    }
    var numbered = Set(wanted.map(\.id))
    var derived: Set<Int64> = []
    var hasMore = true
    while hasMore {
      hasMore = false
      for link in declared where link.isOfKey && link.parent != link.child {
        guard numbered.contains(link.parent) || derived.contains(link.parent) else { continue }
        numbered.remove(link.child)
        if derived.insert(link.child).inserted { hasMore = true }
      }
    }
    return numbered
  }

  private struct Number: Hashable {
    var column: Int
    var parent: Int64
  }

  /// Which columns of each table hold the number of a row, and of which table: directly, or because
  /// they refer to a key that holds it.
  private static func numbers(
    _ declared: [Declared], _ numbered: Set<Int64>
  ) -> [Int64: Set<Number>] {
    var numbers: [Int64: Set<Number>] = [:]
    var hasMore = true
    while hasMore {
      hasMore = false
      for link in declared {
        let found: [Number] =
          numbered.contains(link.parent)
          ? [Number(column: link.columns[0], parent: link.parent)]
          : (numbers[link.parent] ?? []).filter { $0.column < link.columns.count }
            .map { Number(column: link.columns[$0.column], parent: $0.parent) }
        for number in found where numbers[link.child, default: []].insert(number).inserted {
          hasMore = true
        }
      }
    }
    return numbers
  }
}

extension Parentage {
  /// A foreign key to the primary key of a tracked table, as it is declared. It may be to more
  /// columns: `(tenant, patient)` to `(tenant, id)` says by `patient` which row is meant.
  private struct Declared {
    let child: Int64
    let parent: Int64
    /// For each column of the parent's key, in its order: which column of the child's shape.
    let columns: [Int]
    /// Whether one of them is in the key of the child.
    let isOfKey: Bool

    /// `refers`: other columns than those of its key refer to some table, of the site or not. A
    /// migration may just have made that one.
    static func all(
      of table: ReplicaTable, among tables: [ReplicaTable], on connection: Connection
    ) throws(SQLiteError) -> (found: [Declared], refers: Bool) {
      guard let schema = table.schema, let statements = table.statements else { return ([], false) }
      // "to" is NULL where the primary key is meant.
      let rows = try connection.rows(
        """
        SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?, 'main') ORDER BY id, seq
        """, [.string(schema.name)])
      let keyCount = statements.shape.keyCount
      let refers = rows.contains { row in
        row[2].string.flatMap(statements.column(here:)).map { $0 >= keyCount } ?? false
      }
      var found: [Declared] = []
      for (_, parts) in Dictionary(grouping: rows, by: { $0[0].integer ?? 0 }).sorted(by: {
        $0.key < $1.key
      }) {
        guard let name = parts[0][1].string,
          let parent = tables.first(where: { isSameName($0.nameHere, name) }),
          let key = parent.statements?.shape
        else { continue }
        var columns: [Int?] = Array(repeating: nil, count: key.keyCount)
        for (place, part) in parts.enumerated() {
          guard let from = part[2].string, let column = statements.column(here: from)
          else { continue }
          let target = part[3].string.map { to in parent.statements?.column(here: to) } ?? place
          if let target, columns.indices.contains(target) { columns[target] = column }
        }
        let known = columns.compactMap { $0 }
        guard known.count == key.keyCount else { continue }
        found.append(
          Declared(
            child: table.id, parent: parent.id, columns: known,
            isOfKey: known.contains { $0 < keyCount }))
      }
      return (found, refers)
    }
  }
}

extension Parentage.Link {
  fileprivate init(
    _ table: ReplicaTable, _ statements: RowStatements, column: Int, _ parent: ReplicaTable,
    _ later: [String]
  ) {
    let (shape, hash) = (statements.shape, statements.columnHashes[column])
    let keys = statements.names.prefix(shape.keyCount).map(quoted).joined(separator: ", ")
    let name = statements.names[column]
    // A column without a type compares nothing as a number that is text.
    let isTyped = table.schema?.columns.first { $0.name == name }?.affinity != .blob
    self.init(
      id: Self.id(hash, parent.seed), later: later.map { Self.id(hash, tableSeed($0)) },
      child: table.id, parent: parent.id, column: column, isOfKey: column < shape.keyCount,
      select: """
        SELECT \(keys) FROM main.\(quoted(statements.tableName))
        WHERE \(quoted(name)) \(isTyped ? "= ?1" : "IN (?1, CAST(?1 AS TEXT))")
        """, columnHash: hash)
  }

  fileprivate static func id(_ column: UInt64, _ table: UInt64) -> UInt32 {
    let sum = column &* 31 &+ table
    return UInt32(truncatingIfNeeded: sum ^ (sum >> 32))
  }

  /// Where the number is in a row that is kept apart from its table; nil if it is not there.
  func place(in entry: Shelf.Entry, _ statements: RowStatements) -> Int? {
    entry.values.firstIndex { statements.column(named: $0.name, at: nil) == column }
  }

  func number(in entry: Shelf.Entry, _ statements: RowStatements) -> Replication.Value? {
    place(in: entry, statements).map { entry.values[$0].value }
  }
}

extension Parentage {
  /// A row that a version means, under the number that is in one of its columns.
  struct Meant {
    let link: Link
    let parent: ReplicaTable
    let key: Key
    let row: ParentRow

    var place: FormerKeys.Place {
      FormerKeys.Place(table: parent.id, key: key, created: row.row)
    }
  }

  /// The rows that a version of a table means. `number` gives what is in the column of a link: the
  /// one at that index of the table's links.
  func meant(
    by version: Version, of table: Int64, among tables: Tables,
    number: (_ index: Int, Link) -> Replication.Value?
  ) -> [Meant] {
    let parents = version.numbering.parents
    guard !parents.isEmpty else { return [] }
    return links(of: table).enumerated().compactMap { index, link in
      guard let row = parents.first(where: link.isMeant),
        let parent = tables.byID[link.parent],
        let key = number(index, link).flatMap(parent.key(referredToBy:))
      else { return nil }
      return Meant(link: link, parent: parent, key: key, row: row)
    }
  }

  /// Those that it means in tables which this file has never had: there is another one in their
  /// place, to which its own rows refer.
  func meantElsewhere(
    by version: Version, of table: Int64,
    number: (_ index: Int, Link) -> Replication.Value?
  ) -> [Meant] {
    if unseen.isEmpty { return [] }
    return links(of: table).enumerated().flatMap { index, link in
      unseen.compactMap { parent in
        let id = Link.id(link.columnHash, parent.seed)
        guard let row = version.numbering.parents.first(where: { $0.link == id }),
          let key = number(index, link).flatMap(parent.key(referredToBy:))
        else { return nil }
        return Meant(link: link, parent: parent, key: key, row: row)
      }
    }
  }

  /// The same of a row that is kept apart from its table.
  func meant(
    by version: Version, _ entry: Shelf.Entry, _ table: ReplicaTable, among tables: Tables
  ) -> [Meant] {
    guard let statements = table.statements else { return [] }
    return meant(by: version, of: table.id, among: tables) { $1.number(in: entry, statements) }
  }
}

extension ReplicaTable {
  var hasNumber: Bool { schema?.hasNumber ?? false }

  /// The key that a column of another table means which holds this. SQLite compares as the
  /// parent's column does: '7' refers to number 7.
  func key(referredToBy value: Replication.Value) -> Key? {
    guard case .text(let text) = value, let number = Int64(String(decoding: text, as: UTF8.self)),
      Replication.Value.integer(number).isSameNumber(as: value)
    else { return key([value]) }
    return key([.integer(number)])
  }
}

extension Replication.Value {
  /// This number as a column has it that held another one: as text where that was text.
  func asNumber(like other: Replication.Value) -> Replication.Value {
    switch (self, other) {
    case (.integer(let number), .text): .text(Array(String(number).utf8))
    case (.integer(let number), .real): .real(Double(number))
    default: self
    }
  }
}

extension TableSchema {
  /// Whether its rows are told apart by one whole number, for which a fresh one can be found.
  var hasNumber: Bool {
    guard key.count == 1, let column = key.first else { return false }
    return hasIntegerKey || columns[column].affinity == .integer
  }
}
