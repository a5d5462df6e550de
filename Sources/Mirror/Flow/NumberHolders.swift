import SQLite

/// Which columns of the server hold the number of a row of a table. They refer to it by a FOREIGN
/// KEY of the site or of the server, or refer to such a column in turn.
///
/// A line of an order has the order's number in its key, and a note on that line has it, too.
struct NumberHolders {
  /// In small letters: neither side tells names of columns apart by their letters.
  private struct Column: Hashable {
    var table: Cascade.Place
    var name: String
  }

  private struct Reference {
    var child: Cascade.Place
    var parent: Cascade.Place
    var columns: [String]
    var parentColumns: [String]
  }

  private let references: [Reference]
  private let links: [Cascade.Place: TableLink]

  init(
    _ links: [TableLink], _ site: SiteFile, _ server: ServerConnection
  ) throws(MirrorError) {
    self.links = Dictionary(links.map { (Self.place($0), $0) }) { first, _ in first }
    let here = try reading { () throws(SQLiteError) in try Self.ofSite(links, site) }
    let there = try serving { () throws(ServerError) in try Self.ofServer(server) }
    references = here + there
  }

  private static func place(_ link: TableLink) -> Cascade.Place {
    Cascade.Place(schema: link.server.schema, name: link.server.name)
  }

  /// Those of the number that is the key of a table.
  func holders(of link: TableLink) -> [ServerKeys.Holder] {
    let key = Column(table: Self.place(link), name: link.serverKey[0].lowercased())
    var (found, open): ([Column], [Column]) = ([], [key])
    while let column = open.popLast() {
      for reference in references where reference.parent == column.table {
        for (own, other) in zip(reference.columns, reference.parentColumns) {
          let holder = Column(table: reference.child, name: own)
          guard other == column.name, holder != key, !found.contains(holder) else { continue }
          found.append(holder)
          open.append(holder)
        }
      }
    }
    return found.compactMap(holder)
  }

  private func holder(_ column: Column) -> ServerKeys.Holder? {
    let name = serverName(column.name)
    guard let link = links[column.table],
      let place = link.columns.firstIndex(where: { $0.serverName.lowercased() == column.name })
    else { return ServerKeys.Holder(table: column.table.sqlName, column: name, mirrored: nil) }
    guard link.columns[place].form.isNumber else { return nil }
    return ServerKeys.Holder(
      table: column.table.sqlName, column: name, mirrored: (link, place))
  }

  private static func ofSite(
    _ links: [TableLink], _ site: SiteFile
  ) throws(SQLiteError) -> [Reference] {
    var references: [Reference] = []
    for child in links {
      for (name, columns) in try site.references(of: child) {
        guard let parent = links.first(where: { $0.site.name.lowercased() == name })
        else { continue }
        func serverColumn(_ link: TableLink, _ name: String) -> String {
          link.columns.first { $0.name.lowercased() == name }?.serverName.lowercased() ?? name
        }
        // Without names it is the key.
        let key = parent.key.map { parent.columns[$0].name.lowercased() }
        let others = columns.enumerated().map { number, pair in
          pair.to ?? (number < key.count ? key[number] : "")
        }
        references.append(
          Reference(
            child: place(child), parent: place(parent),
            columns: columns.map { serverColumn(child, $0.from) },
            parentColumns: others.map { serverColumn(parent, $0) }))
      }
    }
    return references
  }

  private static func ofServer(_ server: ServerConnection) throws(ServerError) -> [Reference] {
    try server.rows(
      of: 6,
      """
      SELECT table_schema, table_name, column_name, referenced_table_schema,
        referenced_table_name, referenced_column_name
      FROM information_schema.key_column_usage WHERE referenced_table_name IS NOT NULL
      """
    ).map { row in
      let names = row.map { $0.string ?? "" }
      return Reference(
        child: Cascade.Place(schema: names[0], name: names[1]),
        parent: Cascade.Place(schema: names[3], name: names[4]),
        columns: [names[2].lowercased()], parentColumns: [names[5].lowercased()])
    }
  }
}

extension SiteFile {
  /// The FOREIGN KEYs of a table: the other table, and its columns if they are named; all in small
  /// letters.
  func references(
    of link: TableLink
  ) throws(SQLiteError) -> [(table: String, columns: [(from: String, to: String?)])] {
    let rows = try connection.rows(
      #"""
      SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?, 'main') ORDER BY id, seq
      """#, [.string(link.site.name)])
    var found: [(id: Value, table: String, columns: [(from: String, to: String?)])] = []
    for row in rows {
      let column = (from: row[2].string?.lowercased() ?? "", to: row[3].string?.lowercased())
      if let last = found.indices.last, found[last].id == row[0] {
        found[last].columns.append(column)
      } else {
        found.append((row[0], row[1].string?.lowercased() ?? "", [column]))
      }
    }
    return found.map { ($0.table, $0.columns) }
  }

  /// The highest number below a bound that a table has, or has given.
  func highest(_ link: TableLink, below bound: Int64) throws(SQLiteError) -> Int64 {
    let column = quoted(link.columns[link.key[0]].name)
    let standing = try connection.scalar(
      "SELECT max(\(column)) FROM main.\(quoted(link.site.name)) WHERE \(column) < ?",
      [.integer(bound)])
    let hasSequence = try connection.scalar(
      "SELECT EXISTS(SELECT 1 FROM main.sqlite_schema WHERE name = 'sqlite_sequence')")
    var given = Value.null
    if hasSequence.integer == 1 {
      given = try connection.scalar(
        "SELECT max(seq) FROM main.sqlite_sequence WHERE name = ? AND seq < ?",
        [.string(link.site.name), .integer(bound)])
    }
    return max(standing.integer ?? 0, given.integer ?? 0, 0)
  }
}

extension ColumnForm {
  /// Whether whole numbers stand there on both sides.
  var isNumber: Bool {
    if case .integer = kind { return affinity == .integer }
    return false
  }

  /// The largest that the server takes.
  var mostNumber: Int64 {
    if case .integer(_, let most) = kind { return Int64(clamping: most) }
    return 0
  }
}
