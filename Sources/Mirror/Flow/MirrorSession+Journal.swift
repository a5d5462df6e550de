import SQLite

/// What the server has under some keys, and what its programs have noted of them.
extension MirrorSession {
  /// So many entries of a journal are read as they are before it is asked for single keys.
  private static let mostLooked = 5_000

  func forget(_ ids: [Int64], in number: Int) throws(ServerError) {
    for start in stride(from: 0, to: ids.count, by: 500) {
      let part = ids[start..<min(start + 500, ids.count)]
      try server.execute(
        "DELETE FROM \(capture.journal(number)) WHERE id IN "
          + "(\(part.map(String.init).joined(separator: ",")))")
    }
  }

  /// The rows are locked by now: what programs of the server have committed of them is seen, and
  /// what they do from now on comes after us. What this transaction had others' triggers note is
  /// its own.
  func requireFree(
    _ rows: [MirroredRow], _ link: TableLink, _ ignored: Set<Int64>
  ) throws(ServerError) {
    let journal = capture.journal(link.number)
    let names = Capture.keyNames(link)
    let columns = names.joined(separator: ", ")
    let isOthers = "(own IS NULL OR own <> \(capture.turn))"
    var entries: [[Value]] = []
    try server.forEachRow(
      of: link.key.count + 1,
      "SELECT \(columns), id FROM \(journal) WHERE \(isOthers) LIMIT \(Self.mostLooked)"
    ) { entries.append($0) }
    if entries.count == Self.mostLooked {
      entries = []
      let selection = (names.map { "t.\($0)" } + ["t.id"]).joined(separator: ", ")
      try forEach(
        of: rows.map(\.key), link, in: (journal, names), link.key.count + 1, selection,
        " AND \(isOthers)"
      ) { entries.append($0) }
    }
    guard !entries.isEmpty else { return }
    let wanted = Set(rows.map(\.name))
    let ids = entries.compactMap { entry -> Int64? in
      guard let id = entry.last?.integer, !ignored.contains(id),
        let key = try? Self.decode(key: entry, link), wanted.contains(RowKey(link.number, key))
      else { return nil }
      return id
    }
    guard ids.isEmpty else {
      blocking[link.number] = ids
      throw Self.blocked
    }
  }

  static let blocked = ServerError.own("the journal holds one of these rows")

  /// The rows of these keys as the server has them; raw, and those that SQLite cannot hold, too.
  func standing(
    _ keys: [[Value]], _ link: TableLink
  ) throws(ServerError) -> [RowKey: [Value]] {
    var rows: [RowKey: [Value]] = [:]
    let selection = Self.selection(link, of: "t")
    try forEach(of: keys, link, link.columns.count, selection, "") { row in
      guard let key = try? Self.decode(key: link.key(of: row), link) else { return }
      rows[RowKey(link.number, key)] = row
    }
    return rows
  }

  /// So many keys are looked for in one go. "For […] IN predicates […] with many values" a server
  /// may make a table of 1,000 and more (mariadb.com, "Conversion of Big IN Predicates").
  private static let mostKeys = 512

  /// Has the server find rows by their keys, in the table or elsewhere. The last key stands there
  /// again until the number of them is a power of two: so there are few statements to prepare.
  func forEach(
    of keys: [[Value]], _ link: TableLink, in place: (table: String, key: [String])? = nil,
    _ width: Int, _ selection: String, _ ending: String, _ body: ([Value]) -> Void
  ) throws(ServerError) {
    let names = (place?.key ?? link.serverKey.map { serverName($0) }).map { "t.\($0)" }
      .joined(separator: ", ")
    let table = place?.table ?? link.server.sqlName
    let marks = "(\(link.key.map { _ in "?" }.joined(separator: ", ")))"
    let encoded = keys.compactMap { try? encodedKey(MirroredRow(link, key: $0, row: nil)) }
    for start in stride(from: 0, to: encoded.count, by: Self.mostKeys) {
      var part = Array(encoded[start..<min(start + Self.mostKeys, encoded.count)])
      while part.count & (part.count - 1) != 0 { part.append(part[part.count - 1]) }
      let list = Array(repeating: marks, count: part.count).joined(separator: ", ")
      try server.forEachRow(
        of: width,
        "SELECT \(selection) FROM \(table) t WHERE (\(names)) IN (\(list))\(ending)",
        part.flatMap { $0 }, body)
    }
  }
}
