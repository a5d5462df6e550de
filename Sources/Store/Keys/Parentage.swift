import Replication
import SQLite

/// Which tables refer to which by key, and in which of them two machines may give one key to two
/// rows (docs/keys.md). It follows from the schema that this replica has.
struct Parentage {
  /// A foreign key to the primary key of a tracked table.
  struct Link {
    /// The same on every machine: a hash of the columns' first names.
    let id: UInt32
    let child: Int64
    let parent: Int64
    /// For each column of the parent's key, in its order: which column of the child's shape.
    let columns: [Int]
    /// Whether one of them is in the key of the child.
    let isOfKey: Bool
    /// The keys of the children that refer to a key.
    let select: String
  }

  private let links: [Link]
  /// Tables whose key is a single whole number, and that refer to others or are referred to.
  private(set) var numbered: Set<Int64> = []
  /// Tables whose key holds that of one of these, or of such a one.
  private(set) var derived: Set<Int64> = []
  private let ofChild: [Int64: [Link]]
  private let ofParent: [Int64: [Link]]

  init(_ tables: [ReplicaTable], on connection: Connection) throws(SQLiteError) {
    var links: [Link] = []
    for table in tables { links += try Self.links(of: table, among: tables, on: connection) }
    let related = Set(links.flatMap { [$0.parent, $0.child] })
    var numbered = Set(tables.filter { related.contains($0.id) && $0.hasNumber }.map(\.id))
    var derived: Set<Int64> = []
    var hasMore = true
    while hasMore {
      hasMore = false
      for link in links where link.isOfKey && link.parent != link.child {
        guard numbered.contains(link.parent) || derived.contains(link.parent) else { continue }
        numbered.remove(link.child)
        if derived.insert(link.child).inserted { hasMore = true }
      }
    }
    let movable = numbered.union(derived)
    self.links = links.filter { movable.contains($0.parent) }
    (self.numbered, self.derived) = (numbered, derived)
    ofChild = Dictionary(grouping: self.links, by: \.child)
    ofParent = Dictionary(grouping: self.links, by: \.parent)
  }

  var isEmpty: Bool { links.isEmpty }

  /// To what the rows of a table refer.
  func links(of child: Int64) -> [Link] { ofChild[child] ?? [] }

  /// What refers to the rows of a table.
  func links(to parent: Int64) -> [Link] { ofParent[parent] ?? [] }

  /// Tables in the order in which their rows are folded: who is referred to comes first.
  func depth(of table: Int64) -> Int { depth(of: table, 0) }

  private func depth(of table: Int64, _ level: Int) -> Int {
    guard level < 16 else { return 0 }
    let parents = links(of: table).map(\.parent).filter { $0 != table }
    return parents.map { depth(of: $0, level + 1) + 1 }.max() ?? 0
  }

  private static func links(
    of table: ReplicaTable, among tables: [ReplicaTable], on connection: Connection
  ) throws(SQLiteError) -> [Link] {
    guard let schema = table.schema, let statements = table.statements else { return [] }
    let shape = statements.shape
    // "to" is NULL where the primary key is meant.
    let rows = try connection.rows(
      """
      SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?, 'main') ORDER BY id, seq
      """, [.string(schema.name)])
    var found: [Link] = []
    for (_, parts) in Dictionary(grouping: rows, by: { $0[0].integer ?? 0 }).sorted(by: {
      $0.key < $1.key
    }) {
      guard let name = parts[0][1].string,
        let parent = tables.first(where: { isSameName($0.name, name) }),
        let key = parent.statements?.shape, key.keyCount == parts.count
      else { continue }
      var columns: [Int?] = Array(repeating: nil, count: key.keyCount)
      for (place, part) in parts.enumerated() {
        guard let from = part[2].string, let column = statements.column(here: from)
        else { continue }
        let target = part[3].string.map { to in parent.statements?.column(here: to) } ?? place
        if let target, target < columns.count { columns[target] = column }
      }
      let known = columns.compactMap { $0 }
      guard known.count == key.keyCount else { continue }
      let keys = statements.names.prefix(shape.keyCount).map(quoted).joined(separator: ", ")
      let terms = known.map { "\(quoted(statements.names[$0])) = ?" }.joined(separator: " AND ")
      found.append(
        Link(
          id: Self.id(of: known.map { statements.columnHashes[$0] }), child: table.id,
          parent: parent.id, columns: known,
          isOfKey: known.contains { $0 < shape.keyCount },
          select: "SELECT \(keys) FROM main.\(quoted(shape.name)) WHERE \(terms)"))
    }
    // What the key holds comes first, in the order of the key.
    return found.filter(\.isOfKey).sorted { $0.columns.lexicographicallyPrecedes($1.columns) }
      + found.filter { !$0.isOfKey }
  }
}

extension Parentage.Link {
  /// Where the columns of the reference are in a row that is kept apart from its table; nil if not
  /// all are there.
  func places(in entry: Shelf.Entry, _ statements: RowStatements) -> [Int]? {
    let found = columns.compactMap { column in
      entry.values.firstIndex { statements.column(named: $0.name, at: nil) == column }
    }
    return found.count == columns.count ? found : nil
  }
}

extension Parentage {
  private static func id(of columns: [UInt64]) -> UInt32 {
    let sum = columns.reduce(UInt64(0)) { ($0 &* 31) &+ $1 }
    return UInt32(truncatingIfNeeded: sum ^ (sum >> 32))
  }
}

extension ReplicaTable {
  /// Whether its rows are told apart by one whole number, for which a fresh one can be found.
  var hasNumber: Bool {
    guard let schema, schema.key.count == 1, let column = schema.key.first else { return false }
    return schema.hasIntegerKey || schema.columns[column].affinity == .integer
  }
}
