import SQLite

/// What programs of the server have noted, and what the server has under some keys.
extension MirrorSession {
  /// A row that programs of the server have changed, as it is there now.
  struct News {
    let link: TableLink
    let key: [Value]
    /// Nil if it is gone. What SQLite cannot hold is a reason.
    var row: Result<[Value]?, ColumnForm.Objection>
    var ids: [Int64]
    /// When a program changed it last, by the server's clock in ms since 1970; nil if nobody knows,
    /// or what the mirror wrote has changed it.
    var at: Int64?
    /// Whether what is noted of it begins with a program that put it where no row was.
    var hasArrived = false
    /// Which number it had before the mirror gave it this one.
    var former: Int64?

    var name: RowKey { RowKey(link.number, key) }
  }

  /// So many entries of a journal are read in one go, without the rows that they name.
  private static let mostEntries = 5_000
  /// So many rows are looked for in one go. "For […] IN predicates […] with many values" a server
  /// may make a table of 1,000 and more (mariadb.com, "Conversion of Big IN Predicates").
  private static let mostKeys = 512

  /// Whether a journal holds anything.
  func hasNews() throws(ServerError) -> Bool {
    let tables = byNumber.keys.sorted().map { "EXISTS(SELECT 1 FROM \(capture.journal($0)))" }
    guard !tables.isEmpty else { return false }
    return try server.rows(of: 1, "SELECT \(tables.joined(separator: " OR "))").first?[0].integer
      == 1
  }

  /// What the journals hold beside what waits, with the rows, in one snapshot, and whether that is
  /// all. It is a set: which number an entry has says nothing of when it was committed.
  func news() throws(ServerError) -> (news: [News], isAll: Bool) {
    try snapshot { () throws(ServerError) in
      var (news, isAll) = ([News](), true)
      var room = Room(rows: reach)
      for link in capture.links where isAll {
        let (named, isWhole) = try named(link, but: waiting[link.number] ?? [])
        let some = try read(named, link, within: &room)
        isAll = isWhole && some.count == named.count
        news += some
      }
      adapt(to: room.read, of: news.count)
      return (news, isAll)
    }
  }

  /// The same of some entries, as far as they are still there, and there is room.
  func news(of entries: [Int: [Int64]]) throws(ServerError) -> [News] {
    try snapshot { () throws(ServerError) in
      var news: [News] = []
      var room = Room(rows: Self.mostTaken)
      for link in capture.links {
        guard let ids = entries[link.number]?.sorted(), !ids.isEmpty else { continue }
        var naming = Naming(link)
        for start in stride(from: 0, to: ids.count, by: Self.mostKeys) {
          let part = Self.filled(Array(ids[start..<min(start + Self.mostKeys, ids.count)]))
          let marks = part.map { _ in "?" }.joined(separator: ", ")
          try self.entries(of: link, "WHERE id IN (\(marks)) ORDER BY id", part.map(Value.integer))
          {
            naming.add($0)
          }
        }
        news += try read(naming.rows, link, within: &room)
      }
      return news
    }
  }

  /// What a journal names in entries after another one that were made until a moment, in µs since
  /// 1970; and the last of them, nil if there is none.
  func news(
    _ link: TableLink, after last: Int64, until moment: Int64
  ) throws(ServerError) -> (news: [News], last: Int64?) {
    try snapshot { () throws(ServerError) in
      var naming = Naming(link)
      try entries(
        of: link, "WHERE id > ? AND \(Self.isOld) ORDER BY id LIMIT \(Self.mostTaken)",
        [.integer(last), .integer(moment)]
      ) { naming.add($0) }
      var room = Room(rows: Self.mostTaken)
      let news = try read(naming.rows, link, within: &room)
      // Of a row that had no room there is an entry behind those that are done.
      let open = naming.rows.dropFirst(news.count).compactMap { $0.ids.first }.min()
      let most = naming.last.map { min($0, (open ?? .max) - 1) }
      return (news, most.flatMap { $0 > last ? $0 : nil })
    }
  }

  static let isOld = "CAST(UNIX_TIMESTAMP(at) * 1000000 AS SIGNED) <= ?"

  private func snapshot<Result>(
    _ body: () throws(ServerError) -> Result
  ) throws(ServerError) -> Result {
    try server.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    return try server.transaction(
      "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", body)
  }

  /// How many rows more are read, and how many bytes of them.
  private struct Room {
    var rows: Int
    var read = 0
    var isLeft: Bool { rows > 0 && read <= MirrorSession.mostBytes }
  }

  /// Entries of a journal by the rows that they name: each row once, however many name it.
  private struct Naming {
    let link: TableLink
    private(set) var rows: [News] = []
    private(set) var last: Int64?
    private var places: [RowKey: Int] = [:]
    /// Of rows that wait: what their first entry says.
    private var arrivals: [RowKey: Bool] = [:]

    init(_ link: TableLink) { self.link = link }

    private func name(_ entry: [Value]) -> (key: [Value], name: RowKey) {
      let raw = Array(entry[4...])
      let key = (try? MirrorSession.decode(key: raw, link)) ?? raw
      return (key, RowKey(link.number, key))
    }

    mutating func add(_ entry: [Value]) {
      let (id, at) = (entry[0].integer ?? 0, entry[1].integer)
      last = max(last ?? id, id)
      let (key, name) = name(entry)
      if places[name] == nil {
        places[name] = rows.count
        rows.append(News(link: link, key: key, row: .success(nil), ids: [], at: nil))
        rows[rows.count - 1].hasArrived = arrivals[name] ?? (entry[2].integer == 1)
      }
      guard let place = places[name] else { return }
      rows[place].ids.append(id)
      rows[place].at = [rows[place].at, at].compactMap { $0 }.max()
      rows[place].former = entry[3].integer ?? rows[place].former
    }

    /// An entry that waits says no more than whether its row is new there.
    mutating func passOver(_ entry: [Value]) {
      let name = name(entry).name
      arrivals[name] = arrivals[name] ?? (entry[2].integer == 1)
    }
  }

  private func entries(
    of link: TableLink, _ ending: String, _ values: [Value], _ body: ([Value]) -> Void
  ) throws(ServerError) {
    let names = Capture.keyNames(link)
    try server.forEachRow(
      of: 4 + names.count,
      """
      SELECT id, IF(own IS NULL, CAST(UNIX_TIMESTAMP(at) * 1000 AS SIGNED), NULL), \
      IF(\(Capture.isArrival), 1, 0), former, \
      \(names.joined(separator: ", ")) FROM \(capture.journal(link.number)) \(ending)
      """, values, within: ServerConnection.mostHeld, body)
  }

  /// What a journal names beside some entries, without the rows, and whether that is all.
  private func named(
    _ link: TableLink, but others: Set<Int64>
  ) throws(ServerError) -> (rows: [News], isWhole: Bool) {
    var naming = Naming(link)
    var (last, found) = (Int64.min, 0)
    while found < Self.mostEntries {
      var (count, most) = (0, last)
      try entries(
        of: link, "WHERE id > ? ORDER BY id LIMIT \(Self.mostEntries)", [.integer(last)]
      ) { entry in
        let id = entry[0].integer ?? 0
        (count, most) = (count + 1, max(most, id))
        guard !others.contains(id) else { return naming.passOver(entry) }
        found += 1
        naming.add(entry)
      }
      guard count >= Self.mostEntries, most > last else { return (naming.rows, true) }
      last = most
    }
    return (naming.rows, false)
  }

  /// The first of the rows, as the server has them, as far as there is room. Each is found by one
  /// of its entries: the server compares the keys.
  private func read(
    _ named: [News], _ link: TableLink, within room: inout Room
  ) throws(ServerError) -> [News] {
    let meets = zip(Capture.keyNames(link), link.serverKey).map {
      "t.\(serverName($1)) = j.\($0)"
    }.joined(separator: " AND ")
    var news: [News] = []
    while room.isLeft, news.count < named.count {
      let part = named[news.count..<min(news.count + min(Self.mostKeys, room.rows), named.count)]
      let ids = Self.filled(part.map { $0.ids[0] })
      let marks = ids.map { _ in "?" }.joined(separator: ", ")
      var (found, size): ([Int64: [Value]?], Int) = ([:], room.read)
      try server.forEachRow(
        of: 2 + link.columns.count,
        """
        SELECT j.id, t.\(serverName(link.serverKey[0])) IS NULL, \(Self.selection(link, of: "t"))
        FROM \(capture.journal(link.number)) j LEFT JOIN \(link.server.sqlName) t ON \(meets)
        WHERE j.id IN (\(marks)) ORDER BY j.id
        """, ids.map(Value.integer), as: link.shapes
      ) { row in
        guard size <= Self.mostBytes, let id = row[0].integer else { return }
        size += row.reduce(64) { $0 + $1.byteCount + 16 }
        found[id] = .some(row[1].integer == 1 ? nil : Array(row[2...]))
      }
      room.read = size
      for var one in part {
        // Those that come after one without room wait as well: they are in the order of entries.
        guard let row = found[one.ids[0]] else { return news }
        one.row = row.map { Self.result($0, link) } ?? .success(nil)
        news.append(one)
        room.rows -= 1
      }
    }
    return news
  }

  static func result(
    _ values: [Value], _ link: TableLink
  ) -> Result<[Value]?, ColumnForm.Objection> {
    do throws(ColumnForm.Objection) {
      return .success(try decode(values, link))
    } catch {
      return .failure(error)
    }
  }

  func forget(_ ids: [Int64], in number: Int) throws(ServerError) {
    for start in stride(from: 0, to: ids.count, by: 500) {
      let part = ids[start..<min(start + 500, ids.count)]
      try server.execute(
        "DELETE FROM \(capture.journal(number)) WHERE id IN "
          + "(\(part.map(String.init).joined(separator: ",")))")
    }
  }

  /// Which of the rows programs of the server have changed, and that was not taken in. What this
  /// transaction had others' triggers note is its own.
  func changedThere(_ rows: [MirroredRow], _ link: TableLink) throws(ServerError) -> Set<RowKey> {
    try changedThere(rows.map(\.key), link)
  }

  /// The same of rows by their keys.
  func changedThere(_ rows: [[Value]], _ link: TableLink) throws(ServerError) -> Set<RowKey> {
    guard !rows.isEmpty else { return [] }
    let journal = capture.journal(link.number)
    let names = Capture.keyNames(link)
    let isOthers = "(own IS NULL OR own <> \(capture.turn) OR \(capture.turn) IS NULL)"
    var keys: [[Value]] = []
    try server.forEachRow(
      of: names.count,
      "SELECT \(names.joined(separator: ", ")) FROM \(journal) WHERE \(isOthers) "
        + "LIMIT \(Self.mostEntries)", within: ServerConnection.mostHeld
    ) { keys.append($0) }
    if keys.count == Self.mostEntries {
      keys = []
      let selection = names.map { "t.\($0)" }.joined(separator: ", ")
      try forEach(
        of: rows, link, in: (journal, names), names.count, "DISTINCT " + selection,
        " AND \(isOthers)"
      ) { keys.append($0) }
    }
    guard !keys.isEmpty else { return [] }
    let wanted = Set(rows.map { RowKey(link.number, $0) })
    let changed = keys.compactMap { key in
      (try? Self.decode(key: key, link)).map { RowKey(link.number, $0) }
    }
    return wanted.intersection(changed)
  }

  /// The rows of these keys as the server has them; raw, and those that SQLite cannot hold, too.
  func standing(
    _ keys: [[Value]], _ link: TableLink
  ) throws(ServerError) -> [RowKey: [Value]] {
    var rows: [RowKey: [Value]] = [:]
    let selection = Self.selection(link, of: "t")
    try forEach(of: keys, link, link.columns.count, selection, "", as: link.shapes) { row in
      guard let key = try? Self.decode(key: link.key(of: row), link) else { return }
      rows[RowKey(link.number, key)] = row
    }
    return rows
  }

  /// The last one stands there again until the number of them is a power of two: so there are few
  /// statements to prepare.
  static func filled<Element>(_ part: [Element]) -> [Element] {
    var part = part
    while part.count & (part.count - 1) != 0 { part.append(part[part.count - 1]) }
    return part
  }

  /// Has the server find rows by their keys, in the table or elsewhere.
  func forEach(
    of keys: [[Value]], _ link: TableLink, in place: (table: String, key: [String])? = nil,
    _ width: Int, _ selection: String, _ ending: String,
    as shapes: [ServerStatement.Shape] = [], _ body: ([Value]) -> Void
  ) throws(ServerError) {
    let names = (place?.key ?? link.serverKey.map { serverName($0) }).map { "t.\($0)" }
      .joined(separator: ", ")
    let table = place?.table ?? link.server.sqlName
    let marks = "(\(link.keyMarks.joined(separator: ", ")))"
    let encoded = keys.compactMap { try? Self.encoded(key: $0, link) }
    for start in stride(from: 0, to: encoded.count, by: Self.mostKeys) {
      let part = Self.filled(Array(encoded[start..<min(start + Self.mostKeys, encoded.count)]))
      let list = Array(repeating: marks, count: part.count).joined(separator: ", ")
      try server.forEachRow(
        of: width,
        "SELECT \(selection) FROM \(table) t WHERE (\(names)) IN (\(list))\(ending)",
        part.flatMap { $0 }, as: shapes, body)
    }
  }
}
