import Glibc
import Replication
import SQLite

/// A snapshot of a replica from which the file of a copy by pages is made.
///
/// It is opened where the replica is worked on, and given to whoever makes a file of it on another
/// thread: the replica keeps nothing of it, and goes on with its work.
package final class PageSource {
  /// What one file of a copy is.
  package struct Made: Sendable, Equatable {
    /// The version of Flotilla's tables in it.
    package var format: Int64
    package var bytes: Int
  }

  /// The name under which the file that is made is attached.
  private static let copy = "copy"
  static let pageSize = 4_096
  /// Steps of SQLite's machine between two questions whether to go on: some ten thousand rows.
  private static let watchedSteps = 100_000

  /// What was folded before it was opened.
  package let fold: FoldResult
  private let connection: Connection
  private let tables: [ReplicaTable]
  private let isWhole: Bool
  /// This node's signature for what it has written: it is in no table.
  private let reach: Reach?

  init(
    _ connection: Connection, tables: [ReplicaTable], isWhole: Bool, reach: Reach?,
    after fold: FoldResult
  ) {
    self.reach = reach
    self.connection = connection
    self.tables = tables
    self.isWhole = isWhole
    self.fold = fold
  }

  /// Fills the file that is attached; throws `.rowsOnly` if what is here goes by rows alone.
  /// `goesOn` is asked every few milliseconds; the answer false ends it.
  package func make(
    while goesOn: @escaping () -> Bool = { true }
  ) throws(StoreError) -> Made {
    connection.setWatch(every: Self.watchedSteps, goesOn)
    defer {
      connection.setWatch(every: 0, nil)
      connection.rollBack()
    }
    return try orRows { () throws(SQLiteError) in
      let layout = try CopiedTables.layout()
      try requirePlain(layout)
      let own = try CopiedTables.objects(of: "main", on: connection)
      let tracked = tables.filter { $0.isTracked && !$0.isSettings }.map { folded($0.nameHere) }
      let site = own.filter { tracked.contains(folded($0.table)) && $0.type != "trigger" }
      for table in layout + site where table.isTable {
        try fill(table, with: (layout + site).filter { $0.table == table.name })
      }
      try fillValues()
      if let reach { try ReachTable.write(reach, to: Self.copy, on: connection) }
      try connection.run("COMMIT")
      let pages = try connection.scalar("PRAGMA \(Self.copy).page_count").integer ?? 0
      try connection.execute("DETACH \(Self.copy)")
      return Made(format: Layout.format, bytes: Int(pages) * Self.pageSize)
    }
  }

  /// Makes one table with its indexes and copies its rows, records as they are.
  private func fill(
    _ table: CopiedTables.Object, with objects: [CopiedTables.Object]
  ) throws(SQLiteError) {
    for object in objects.filter(\.isTable) + objects.filter({ !$0.isTable }) {
      guard let sql = object.statement(in: Self.copy) else {
        throw .rows("\(object.name) is defined in a way that is not known")
      }
      try connection.asStored { () throws(SQLiteError) in try connection.execute(sql) }
    }
    // Without columns that SQLite works out, which nobody may write.
    let columns = try connection.rows(
      "SELECT name, hidden FROM pragma_table_xinfo(?, 'main')", [.string(table.name)])
    let own = columns.filter { $0[1].integer == 0 }.compactMap { $0[0].string.map(quoted) }
    let names = own.count == columns.count ? "" : "(\(own.joined(separator: ", ")))"
    let list = names.isEmpty ? "*" : own.joined(separator: ", ")
    try connection.execute(
      """
      INSERT INTO \(Self.copy).\(quoted(table.name))\(names)
      SELECT \(list) FROM main.\(quoted(table.name))
      """)
  }

  private func fillValues() throws(SQLiteError) {
    // Which numbers AUTOINCREMENT has given here is nobody else's affair.
    let sequence = try connection.row(
      "SELECT 1 FROM \(Self.copy).sqlite_schema WHERE name = 'sqlite_sequence'")
    if sequence != nil { try connection.execute("DELETE FROM \(Self.copy).sqlite_sequence") }
    let columns = "name TEXT PRIMARY KEY NOT NULL, value"
    try connection.execute("CREATE TABLE \(Self.copy)._flotilla_meta(\(columns)) WITHOUT ROWID")
    for name in CopiedTables.sharedValues {
      try connection.run(
        """
        INSERT INTO \(Self.copy)._flotilla_meta SELECT name, value FROM main._flotilla_meta
        WHERE name = ?
        """, [.string(name.rawValue)])
    }
  }

  /// Throws unless every row of the site is where its version says, and nothing else is there.
  private func requirePlain(_ layout: [CopiedTables.Object]) throws(SQLiteError) {
    guard isWhole else { throw .rows("this node does not hold everything") }
    guard try connection.scalar("PRAGMA main.encoding").string == "UTF-8" else {
      throw .rows("the file is not in UTF-8")
    }
    for name in CopiedTables.unfinished
    where try connection.row("SELECT 1 FROM main.\(name) LIMIT 1") != nil {
      throw .rows("\(name) is not empty")
    }
    // What was tracked once is remembered for this file alone.
    let lost = "SELECT 1 FROM main._flotilla_lost WHERE why <> 1 LIMIT 1"
    guard try connection.row(lost) == nil else { throw .rows("rows were lost with their tables") }
    try requirePresent()
    try requireNoOthers()
    try requireColumns(layout)
    let schema = try CopiedTables.objects(of: "main", on: connection)
    try Self.requireNothingDerived(schema, tracked: tables.filter(\.isTracked).map(\.nameHere))
  }

  private func requirePresent() throws(SQLiteError) {
    for table in tables where table.isTracked || table.isHeld {
      guard !table.isHeld, let schema = table.schema else {
        throw .rows("\(table.name) is not here as the site has it")
      }
      let isCaptured = try Capture.isIntact(schema, id: table.id, on: connection)
      guard table.isSettings || isCaptured else { throw .rows("\(table.name) is not captured") }
      let comparing = try connection.scalar(
        "SELECT comparing FROM main._flotilla_local WHERE id = ?", [.integer(table.id)])
      guard comparing.isNull else { throw .rows("\(table.name) is being looked through") }
      for column in schema.key.map({ schema.columns[$0] }) where !column.isNotNull {
        let name = quoted(schema.name)
        let nameless = try connection.row(
          "SELECT 1 FROM main.\(name) WHERE \(quoted(column.name)) IS NULL LIMIT 1")
        // Rows without a key are not the site's.
        guard nameless == nil else { throw .rows("\(table.name) has rows without a key") }
      }
    }
  }

  /// What is known of tables that the site does not track, or no more, stays here.
  private func requireNoOthers() throws(SQLiteError) {
    let known = Set(tables.filter(\.isTracked).map(\.id))
    for name in ["version", "shelf", "pending", "ruling", "former"] {
      var last = Int64.min
      while let next = try connection.scalar(
        "SELECT min(tbl) FROM main._flotilla_\(name) WHERE tbl > ?", [.integer(last)]
      ).integer {
        guard known.contains(next) else { throw .rows("rows wait for a table that is not here") }
        last = next
      }
    }
  }

  /// A file that was made by an older version may have them in another order.
  private func requireColumns(_ layout: [CopiedTables.Object]) throws(SQLiteError) {
    let scratch = try Connection(path: ":memory:", mode: .create)
    for table in layout where table.isTable {
      try scratch.execute(table.sql)
      let sql = "SELECT name FROM pragma_table_info(?)"
      let wanted = try scratch.rows(sql, [.string(table.name)])
      guard try connection.rows(sql, [.string(table.name)]) == wanted else {
        throw .rows("\(table.name) was made by another version")
      }
    }
  }

  /// What a trigger keeps up to date for each row that comes, pages do not bring.
  static func requireNothingDerived(
    _ objects: [CopiedTables.Object], tracked: [String]
  ) throws(SQLiteError) {
    for object in objects where !TableSchema.isReserved(object.name) {
      if object.isTable, object.sql.uppercased().hasPrefix("CREATE VIRTUAL") {
        throw .rows("the file has a virtual table (\(object.name))")
      }
      guard object.type == "trigger" else { continue }
      let isTracked = { (name: String) in tracked.contains { isSameName($0, name) } }
      if isTracked(object.table), DerivedTrigger(sql: object.sql, isTracked: isTracked) != nil {
        throw .rows("the trigger \(object.name) keeps something else up to date")
      }
    }
  }
}

extension SQLiteError {
  /// Why a copy goes by rows alone: nothing has failed.
  static func rows(_ reason: String) -> SQLiteError {
    SQLiteError(code: 0, message: reason)
  }
}

extension Store {
  /// Opens a snapshot in which every row has the content of its version, beside an empty file at
  /// `target` that is to be filled from it.
  package func openPages(to target: String, at now: Instant) throws(StoreError) -> PageSource {
    try requireTime(at: now)
    let file = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw StoreError(.rowsOnly, "cannot make \(target): \(String(cString: strerror(errno)))")
    }
    close(file)
    let reader = try exports.newReader()
    try orRows { () throws(SQLiteError) in
      // "Safety level may not be changed inside a transaction": all is set before the snapshot.
      try reader.run("ATTACH ? AS copy", [.string(target)])
      try reader.execute(
        """
        PRAGMA copy.page_size = \(PageSource.pageSize); PRAGMA copy.auto_vacuum = 0;
        PRAGMA copy.journal_mode = OFF; PRAGMA copy.synchronous = OFF;
        PRAGMA copy.cache_size = -512; PRAGMA main.cache_size = -512;
        PRAGMA copy.secure_delete = ON; PRAGMA foreign_keys = OFF;
        """)
    }
    exports.giveBack(reader)
    let opened: OpenedExport
    do {
      opened = try openExport(.rows([]), at: now)
    } catch {
      // No other export may get a connection to which that file is attached.
      exports.dropReader()
      throw error
    }
    guard let export = exports.take(opened.id) else {
      throw StoreError(.closed, "no snapshot")
    }
    let standing = stability.standing
    let isJoining = try firstCopy() != nil
    return PageSource(
      export.connection, tables: Array(export.tables.values),
      isWhole: rights.isWhole && !standing.isBehind && ownRights.regained.isEmpty && !isJoining,
      reach: lives.known[own], after: opened.fold)
  }
}
