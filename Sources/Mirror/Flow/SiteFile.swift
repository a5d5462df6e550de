import Flotilla
import FoundationEssentials
import Glibc
import SQLite

/// The replica's file, read and written with plain SQL as any program would.
final class SiteFile {
  let connection: Connection
  private let identity: [UInt64]
  private let path: String
  /// The statements that read one row, by the number of the table.
  private var texts: [Int: String] = [:]
  private var schema = Schema()

  /// What was read of one version of the schema, by the names of tables in small letters.
  private struct Schema {
    var version: Int64?
    /// What hangs under a table.
    var hanging: [String: [Hanging]] = [:]
    var exchangeable: [String: Set<String>?] = [:]
  }

  init(_ replica: Replica) throws(SQLiteError) {
    path = replica.file
    identity = Self.identity(path)
    connection = try Connection(path: path)
    connection.setBusyTimeout(milliseconds: 10_000)
    // What is committed here is deleted from the server's journals.
    try connection.execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL")
  }

  /// Whether another file has taken its place, as a restore does.
  var isReplaced: Bool { Self.identity(path) != identity }

  private static func identity(_ path: String) -> [UInt64] {
    var status = stat()
    guard stat(path, &status) == 0 else { return [] }
    return [UInt64(status.st_dev), UInt64(status.st_ino)]
  }

  private static func condition(_ link: TableLink) -> String {
    link.key.map { "\(quoted(link.columns[$0].name)) = ?" }.joined(separator: " AND ")
  }

  private static func table(_ link: TableLink) -> String { "main.\(quoted(link.site.name))" }

  private static func columns(_ link: TableLink) -> String {
    link.columns.map { quoted($0.name) }.joined(separator: ", ")
  }

  /// The statement that reads one row by its key.
  func text(of link: TableLink) -> String {
    if let known = texts[link.number] { return known }
    let sql = "SELECT \(Self.columns(link)) FROM \(Self.table(link)) WHERE \(Self.condition(link))"
    texts[link.number] = sql
    return sql
  }

  /// The statement that reads the rows whose key, one integer, lies between two.
  func scan(of link: TableLink) -> String {
    let key = quoted(link.columns[link.key[0]].name)
    return "SELECT \(Self.columns(link)) FROM \(Self.table(link)) "
      + "WHERE \(key) BETWEEN ? AND ? ORDER BY \(key)"
  }

  /// The row with a key, in the order of the link's columns.
  func row(_ link: TableLink, _ key: [Value]) throws(SQLiteError) -> [Value]? {
    try connection.row(text(of: link), key)
  }

  /// The rows after a key, in the order of the key; the first ones if it is nil.
  func rows(
    _ link: TableLink, after key: [Value]?, limit: Int
  ) throws(SQLiteError) -> [[Value]] {
    let names = link.key.map { quoted(link.columns[$0].name) }.joined(separator: ", ")
    let marks = link.key.map { _ in "?" }.joined(separator: ", ")
    // No row of the server has such a key, and nothing comes behind one in this order.
    let whole = link.key.map { "\(quoted(link.columns[$0].name)) IS NOT NULL" }
    let isBehind = key == nil ? "" : " AND (\(names)) > (\(marks))"
    let condition = "WHERE \(whole.joined(separator: " AND "))\(isBehind)"
    return try connection.rows(
      "SELECT \(Self.columns(link)) FROM \(Self.table(link)) \(condition) "
        + "ORDER BY \(names) LIMIT \(limit)", key ?? [])
  }

  /// Tables in an order in which those that others refer to come first, where there is one.
  func parentsFirst(_ links: [TableLink]) throws(SQLiteError) -> [TableLink] {
    var parents: [Int: Set<String>] = [:]
    for link in links {
      let rows = try connection.rows(
        #"SELECT "table" FROM pragma_foreign_key_list(?, 'main')"#, [.string(link.site.name)])
      parents[link.number] = Set(rows.compactMap { $0[0].string?.lowercased() })
    }
    var (rest, sorted): ([TableLink], [TableLink]) = (links, [])
    while !rest.isEmpty {
      let free = rest.filter { link in
        !rest.contains {
          $0.number != link.number
            && parents[link.number]?.contains($0.site.name.lowercased()) == true
        }
      }
      guard !free.isEmpty else { return sorted + rest }
      sorted += free
      rest.removeAll { link in free.contains { $0.number == link.number } }
    }
    return sorted
  }

  /// What hangs under a table, as the schema is now.
  func hanging(
    under parent: TableLink, _ links: [String: TableLink]
  ) throws(SQLiteError) -> [Hanging] {
    try lookAtSchema()
    let name = parent.site.name.lowercased()
    if let known = schema.hanging[name] { return known }
    let read = try readHanging(under: parent, links)
    schema.hanging[name] = read
    return read
  }

  /// The columns of a table under its unique indexes, in small letters, as the schema is now; nil
  /// if no row may have other values for a moment.
  func exchangeable(_ link: TableLink) throws(SQLiteError) -> Set<String>? {
    try lookAtSchema()
    let name = link.site.name.lowercased()
    if let known = schema.exchangeable[name] { return known }
    let read = try readExchangeable(link)
    schema.exchangeable[name] = .some(read)
    return read
  }

  /// What was read of another schema is forgotten.
  private func lookAtSchema() throws(SQLiteError) {
    let version = try connection.schemaVersion()
    if schema.version != version { schema = Schema(version: version) }
  }

  /// Makes the row what it is to be. What stands alike is left alone, so that no edit is made.
  func write(_ row: MirroredRow, over standing: [Value]?) throws(SQLiteError) {
    let link = row.link
    guard let values = row.row else {
      if standing != nil {
        try connection.run(
          "DELETE FROM \(Self.table(link)) WHERE \(Self.condition(link))", row.key)
      }
      return
    }
    guard let standing else {
      let marks = values.map { _ in "?" }.joined(separator: ", ")
      try connection.run(
        "INSERT \(link.site.resolution)INTO \(Self.table(link))(\(Self.columns(link))) "
          + "VALUES (\(marks))", values)
      return
    }
    // Only what differs: the merge of columns and triggers of the file see what was meant.
    let changed = values.indices.filter { values[$0] != standing[$0] && !link.key.contains($0) }
    guard !changed.isEmpty else { return }
    let settings = changed.map { "\(quoted(link.columns[$0].name)) = ?" }
      .joined(separator: ", ")
    try connection.run(
      "UPDATE \(link.site.resolution)\(Self.table(link)) SET \(settings) "
        + "WHERE \(Self.condition(link))",
      changed.map { values[$0] } + row.key)
  }

  /// What was taken from the server's journals in the last transaction that did so.
  struct Taken: Codable {
    /// The number of the server's last transaction before it: after the next one the entries are
    /// gone, and their numbers may be those of others.
    var number: Int64
    var entries: [Int: [Int64]]
  }

  /// It is in the file with the rows, so that nothing is taken twice.
  func taken(by holder: String) throws(SQLiteError) -> Taken? {
    let body = try connection.scalar(
      "SELECT body FROM main._flotilla_answer WHERE token = ? AND key = 'taken'",
      [.string("mirror \(holder)")])
    return body.blob.flatMap { try? JSONDecoder().decode(Taken.self, from: Data($0)) }
  }

  func note(_ taken: Taken, by holder: String) throws(SQLiteError) {
    let data = (try? JSONEncoder().encode(taken)) ?? Data()
    try note("taken", request: [], status: 200, body: Array(data), by: holder)
  }

  /// The content of a row that was taken in, until the feed has told of it.
  func note(known row: MirroredRow, by holder: String) throws(SQLiteError) {
    try note(
      Self.place(of: row.name), request: row.name.bytes, status: Int64(row.link.number),
      body: Array(row.print.utf8), by: holder)
  }

  private static func place(of row: RowKey) -> String {
    "known \(row.number) \(Replica.fingerprint(row.bytes))"
  }

  private func note(
    _ key: String, request: [UInt8], status: Int64, body: [UInt8], by holder: String
  ) throws(SQLiteError) {
    // Its time is far ahead: those who tidy up after a day leave it.
    try connection.run(
      """
      INSERT OR REPLACE INTO main._flotilla_answer(
        token, key, request, status, headers, body, at) VALUES (?, ?, ?, ?, '[]', ?, ?)
      """,
      [
        .string("mirror \(holder)"), .string(key), .blob(request), .integer(status),
        .blob(body), .integer(1 << 60),
      ])
  }

  func known(by holder: String) throws(SQLiteError) -> [RowKey: MirrorSession.Known] {
    let rows = try connection.rows(
      """
      SELECT request, status, body FROM main._flotilla_answer
      WHERE token = ? AND key >= 'known ' AND key < 'known!'
      """, [.string("mirror \(holder)")])
    var known: [RowKey: MirrorSession.Known] = [:]
    for row in rows {
      guard let number = row[1].integer.flatMap({ Int(exactly: $0) }) else { continue }
      known[RowKey(number, bytes: row[0].blob ?? [])] = MirrorSession.Known(
        print: String(decoding: row[2].blob ?? [], as: UTF8.self), turn: 0, isThere: false,
        isNoted: true)
    }
    return known
  }

  func forget(known rows: [RowKey], by holder: String) throws(SQLiteError) {
    try forget(rows.map(Self.place), by: holder)
  }

  private func forget(_ keys: [String], by holder: String) throws(SQLiteError) {
    guard !keys.isEmpty else { return }
    try connection.transaction { () throws(SQLiteError) in
      for key in keys {
        try connection.run(
          "DELETE FROM main._flotilla_answer WHERE token = ? AND key = ?",
          [.string("mirror \(holder)"), .string(key)])
      }
    }
  }

  private static func debt(_ row: RowKey) -> String {
    "owed \(row.number) \(Replica.fingerprint(row.bytes))"
  }

  /// A row that the server is to have though the feed is read past it.
  func note(owed row: MirroredRow, by holder: String) throws(SQLiteError) {
    try note(
      Self.debt(row.name), request: RowKey.bytes(of: row.key), status: Int64(row.link.number),
      body: [], by: holder)
  }

  func owed(by holder: String) throws(SQLiteError) -> [(number: Int, key: [Value])] {
    try connection.rows(
      """
      SELECT status, request FROM main._flotilla_answer
      WHERE token = ? AND key >= 'owed ' AND key < 'owed!' LIMIT \(Debts.most)
      """, [.string("mirror \(holder)")]
    ).compactMap { row in
      guard let number = row[0].integer.flatMap({ Int(exactly: $0) }),
        let key = StoredKey.decode(row[1].blob ?? [])
      else { return nil }
      return (number, key)
    }
  }

  func forget(owed rows: [RowKey], by holder: String) throws(SQLiteError) {
    try forget(rows.map(Self.debt), by: holder)
  }

  func forget(_ holder: String) throws(SQLiteError) {
    try connection.run(
      "DELETE FROM main._flotilla_answer WHERE token = ?", [.string("mirror \(holder)")])
  }
}
