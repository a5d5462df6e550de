import SQLite

/// The tables and views that a client may read, empty and in memory.
///
/// A statement of who may not read all is taken apart here first. What is hidden is not there, so
/// no message can tell of it: SQLite reads names before it asks whether they may be read.
struct VisibleSchema {
  private let connection: Connection
  /// Whether all that may be read is there. A table that a program has made with functions of its
  /// own cannot be made here.
  let isWhole: Bool
  private let access: QueryAccess

  init(
    of file: Connection, _ allowed: QueryAccess, until end: ContinuousClock.Instant
  ) throws(SQLiteError) {
    connection = try Connection(path: ":memory:", mode: .create)
    let objects = try file.rows(
      """
      SELECT type, name, tbl_name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL
      AND type IN ('table', 'index', 'view')
      ORDER BY CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 ELSE 2 END
      """)
    var (isWhole, views) = (true, Set<String>())
    for object in objects {
      let (type, name) = (object[0].string, (object[1].string ?? "").asciiLowercased)
      let isView = type == "view"
      let table = (object[2].string ?? "").asciiLowercased
      guard (isView ? allowed.views : allowed.readable).contains(isView ? name : table) else {
        continue
      }
      do throws(SQLiteError) {
        try connection.execute(object[3].string ?? "")
        if isView { views.insert(name) }
      } catch {
        // An index is only missed by who names it, and a view as a table is.
        if type == "table" { isWhole = false }
      }
    }
    self.isWhole = isWhole
    try QueryBounds.set(on: connection)
    views = try Self.working(views, allowed.readable, connection, until: end)
    access = QueryAccess(readable: allowed.readable, views: views, until: end)
  }

  /// Takes away views that read what is not here, and those that read such views.
  private static func working(
    _ views: Set<String>, _ readable: Set<String>, _ connection: Connection,
    until end: ContinuousClock.Instant
  ) throws(SQLiteError) -> Set<String> {
    var views = views
    while true {
      let access = QueryAccess(readable: readable, views: views, until: end)
      connection.setAuthorizer { access.allows($0, within: $1) }
      let broken = views.filter {
        (try? connection.prepare("SELECT * FROM \(quoted($0))")) == nil
      }
      connection.setAuthorizer(nil)
      if broken.isEmpty { return views }
      for view in broken { try connection.execute("DROP VIEW \(quoted(view))") }
      views.subtract(broken)
    }
  }

  /// Takes a statement apart; throws what is wrong with it, as if nothing was hidden.
  func check(_ text: String) throws(Problem) {
    connection.setAuthorizer { access.allows($0, within: $1) }
    defer { connection.setAuthorizer(nil) }
    do throws(SQLiteError) {
      _ = try connection.prepare(text)
    } catch {
      throw QueryCall.problem(error, access)
    }
  }
}
