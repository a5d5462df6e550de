import Glibc
import Replication
import SQLite

/// Makes a replica of a file that came as pages, and puts it in the place of an empty one.
///
/// The empty replica says who this node is, and has the schema; it stays locked meanwhile. A
/// program that opens it must not write into a file that is about to go: so nobody else may have it
/// open, and whoever comes while it goes finds no database under its handle and opens it again.
package final class PageGraft {
  private let replica: Connection
  private let path: String
  private let pages: ReceivedPages

  /// Takes the lock; throws `.rowsOnly` if another program uses the file.
  package init(_ pages: ReceivedPages, into replica: String) throws(StoreError) {
    (self.pages, path) = (pages, replica)
    self.replica = try orRows { () throws(SQLiteError) in
      let connection = try Connection(path: replica, followsLinks: false)
      try connection.set(.triggers, to: false)
      try connection.set(.foreignKeys, to: false)
      try connection.set(.trustedSchema, to: true)
      // "Fails while another program has the file open": that is what is asked here.
      let mode = try connection.scalar("PRAGMA main.journal_mode = DELETE").string
      guard mode == "delete" else { throw .rows("another program has \(replica) open") }
      try connection.execute("PRAGMA main.locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT")
      return connection
    }
  }

  /// Takes over what is not the site's: who this node is, the tables of the application that are
  /// not replicated, views and triggers.
  ///
  /// `hear` takes in what came as signed about members; gives all that is known of them then, and
  /// what checks their signatures. Gives which edits count by that.
  package func takeOver(
    at moment: Int64,
    hearing hear: ([SignedStatement]) -> (all: [SignedStatement], surety: Surety)
  ) throws(StoreError) -> Sealed {
    try orRows { () throws(SQLiteError) in
      let objects = try CopiedTables.objects(of: "main", on: replica)
      try attach()
      // One that is here, or one too many.
      let came = try CopiedTables.objects(of: "copy", on: replica, limit: objects.count + 1)
      try requireSameObjects(objects, came)
      try requireSoundTables()
      try requireSameTables(objects, came)
      let sealed = try replica.transaction { () throws(SQLiteError) in
        let values = try takeValues()
        for object in objects where !came.contains(object) || object.name == "_flotilla_meta" {
          try copy(object)
        }
        for (name, value) in values {
          try replica.run(
            "INSERT OR REPLACE INTO copy._flotilla_meta(name, value) VALUES (?, ?)", [name, value])
        }
        let surety = try takeStatements(hear)
        let sealed = try limitFrontier(by: surety)
        try limitStability(by: surety, at: moment)
        try limitJudged(by: sealed)
        try takeOrigin()
        try replica.run(
          "DELETE FROM copy._flotilla_meta WHERE name = ?",
          [.string(Meta.Name.joiningByPages.rawValue)])
        return sealed
      }
      try replica.execute("DETACH copy")
      return sealed
    }
  }

  /// A schema of more steps of SQLite's machine is none that a site can have.
  private static let schemaSteps = 20_000_000

  /// Opens the copy beside the replica. Its schema is read here, before its pages are looked at.
  private func attach() throws(SQLiteError) {
    replica.setWatch(every: Self.schemaSteps) { false }
    defer { replica.setWatch(every: 0, nil) }
    try replica.run("ATTACH ? AS copy", [.string(pages.path)])
    try replica.execute(
      """
      PRAGMA copy.journal_mode = OFF; PRAGMA copy.synchronous = OFF;
      PRAGMA copy.cell_size_check = ON; PRAGMA copy.cache_size = -512
      """)
    try ReceivedPages.requireIntegrity(of: "sqlite_schema", in: "copy", on: replica)
  }

  /// Has SQLite look through Flotilla's tables beside the versions: they are read here, and more
  /// rows than there are pages for would have no end.
  private func requireSoundTables() throws(SQLiteError) {
    let sequence = "SELECT 1 FROM copy.sqlite_schema WHERE name = 'sqlite_sequence'"
    let others = try replica.row(sequence) == nil ? [] : ["sqlite_sequence"]
    let names = ["_flotilla_meta"] + CopiedTables.shared + others
    for name in names where name != "_flotilla_version" {
      try ReceivedPages.requireIntegrity(of: name, in: "copy", on: replica)
    }
  }

  /// Throws unless what came is just what was announced: tables and indexes as they are here.
  private func requireSameObjects(
    _ own: [CopiedTables.Object], _ came: [CopiedTables.Object]
  ) throws(SQLiteError) {
    guard try replica.scalar("PRAGMA copy.page_size").integer == Int64(PageSource.pageSize),
      try replica.scalar("PRAGMA copy.auto_vacuum").integer == 0
    else { throw .rows("its pages are of another kind") }
    try requireNoneOfSQLite()
    guard Set(came).count == came.count, Set(came).isSubset(of: own) else {
      throw .rows("its schema is another one than that of the site when this node joined")
    }
    let tables = Set(came.filter(\.isTable).map(\.name))
    guard Set(CopiedTables.shared).isSubset(of: tables), tables.contains("_flotilla_meta") else {
      throw .rows("tables are missing")
    }
  }

  /// Throws unless the tables that came are those of the site, with all that belongs to them, and
  /// empty here.
  private func requireSameTables(
    _ own: [CopiedTables.Object], _ came: [CopiedTables.Object]
  ) throws(SQLiteError) {
    let tables = Set(came.filter(\.isTable).map(\.name))
    try requireTracked(in: Set(tables.map(folded)))
    for object in own where tables.contains(object.table) && !came.contains(object) {
      guard ["trigger", "view"].contains(object.type) else {
        throw .rows("\(object.name) is not in the copy")
      }
    }
    for table in tables where !CopiedTables.shared.contains(table) && table != "_flotilla_meta" {
      guard !TableSchema.isReserved(table) else { throw .rows("\(table) does not belong there") }
      guard try replica.row("SELECT 1 FROM main.\(quoted(table)) LIMIT 1") == nil else {
        throw .rows("\(table) has rows here")
      }
    }
    let looked = "SELECT name FROM copy._flotilla_local WHERE comparing IS NOT NULL LIMIT 1"
    guard try replica.row(looked) == nil else { throw .rows("a table is being looked through") }
    try PageSource.requireNothingDerived(own, tracked: Array(tables))
  }

  /// Throws unless each table of the site has come, under its first name or a later one.
  private func requireTracked(in tables: Set<String>) throws(SQLiteError) {
    let renamed = "_flotilla_column WHERE tbl = '\(TableNames.owner)'"
    try requireFew(renamed, Limits.schemaObjects)
    try requireFew("_flotilla_table", Limits.schemaObjects)
    var names: [String: [String]] = [:]
    for row in try replica.rows("SELECT first, name FROM copy.\(renamed)") {
      guard let first = row[0].string, let name = row[1].string else { continue }
      names[folded(first), default: []].append(folded(name))
    }
    for row in try replica.rows("SELECT name FROM copy._flotilla_table") {
      guard let name = row[0].string, name != Tables.takesNew else { continue }
      let others = names[folded(name)] ?? []
      guard ([folded(name)] + others).contains(where: tables.contains) else {
        throw .rows("\(name) is not in the copy")
      }
    }
  }

  /// Throws if there are more rows than a site can have, before they are read into memory.
  private func requireFew(_ table: String, _ most: Int) throws(SQLiteError) {
    guard try replica.row("SELECT 1 FROM copy.\(table) LIMIT 1 OFFSET \(most)") == nil else {
      throw .rows("it says too much beside its rows")
    }
  }

  /// From a file SQLite takes objects whose names begin with `sqlite_` as any others, triggers too.
  /// They are not compared with those of this machine, so none may come but what it makes itself.
  private func requireNoneOfSQLite() throws(SQLiteError) {
    let found = try replica.row(
      """
      SELECT name FROM copy.sqlite_schema
      WHERE sql IS NOT NULL AND name LIKE 'sqlite\\_%' ESCAPE '\\'
        AND (type, name, sql)
          <> ('table', 'sqlite_sequence', 'CREATE TABLE sqlite_sequence(name,seq)')
      """)
    if let name = found?[0].string { throw .rows("\(name) does not belong there") }
  }

  /// The single values that go along; the table of them is emptied, for its others are own ones.
  private func takeValues() throws(SQLiteError) -> [(SQLite.Value, SQLite.Value)] {
    var values: [(SQLite.Value, SQLite.Value)] = []
    for name in CopiedTables.sharedValues {
      let row = try replica.row(
        "SELECT name, value FROM copy._flotilla_meta WHERE name = ?", [.string(name.rawValue)])
      if let row { values.append((row[0], row[1])) }
    }
    try replica.execute("DELETE FROM copy._flotilla_meta")
    // By what the inviter said when this node was let in migrations go, not by its file.
    for name in SchemaCopy.numbers {
      let number = try replica.scalar("PRAGMA main.\(name)").integer ?? 0
      try replica.execute("PRAGMA copy.\(name) = \(number)")
    }
    let sequence = "SELECT 1 FROM copy.sqlite_schema WHERE name = 'sqlite_sequence'"
    if try replica.row(sequence) != nil { try replica.execute("DELETE FROM copy.sqlite_sequence") }
    return values
  }

  private func copy(_ object: CopiedTables.Object) throws(SQLiteError) {
    let name = quoted(object.name)
    let exists = try replica.row(
      "SELECT 1 FROM copy.sqlite_schema WHERE name = ? COLLATE NOCASE", [.string(object.name)])
    if exists == nil {
      guard let sql = object.statement(in: "copy") else {
        throw .rows("\(object.name) is defined in a way that is not known")
      }
      try replica.asStored { () throws(SQLiteError) in try replica.execute(sql) }
    }
    guard object.isTable, try replica.row("SELECT 1 FROM main.\(name) LIMIT 1") != nil else {
      return
    }
    try replica.execute("INSERT INTO copy.\(name) SELECT * FROM main.\(name)")
  }

  /// Statements that nobody signed are left out; of the others there may be any number.
  private func takeStatements(
    _ hear: ([SignedStatement]) -> (all: [SignedStatement], surety: Surety)
  ) throws(SQLiteError) -> Surety {
    let came = try replica.rows(
      "SELECT bytes FROM copy._flotilla_statement WHERE length(bytes) <= ? ORDER BY id LIMIT ?",
      [.integer(Int64(Self.longestStatement)), .integer(Int64(Self.mostStatements))]
    ).compactMap { try? SignedStatement($0[0].blob ?? []) }
    let (all, surety) = hear(came)
    try replica.execute("DELETE FROM copy._flotilla_statement")
    for statement in all {
      try replica.run(
        "INSERT INTO copy._flotilla_statement(bytes) VALUES (?)", [.blob(statement.bytes)])
    }
    return surety
  }

  private static let longestStatement = 4 << 10
  private static let mostStatements = 16_384

  /// Of each origin counts what its owner has signed for, or what is exempt, as of any other claim.
  /// The rest comes again.
  private func limitFrontier(by surety: Surety) throws(SQLiteError) -> Sealed {
    try requireFew("_flotilla_origin", Limits.frontierEntries)
    try requireFew("_flotilla_reach", Limits.frontierEntries * (1 + ReachBook.mostEarlier))
    for reach in try ReachTable.reaches(of: "copy", on: replica)
    where surety.isSigned(reach) != true {
      try ReachTable.remove(reach, from: "copy", on: replica)
    }
    let book = ReachBook(try ReachTable.reaches(of: "copy", on: replica))
    var sealed = Sealed(
      book.furthest, own: Origin(rawValue: 0), last: 0, held: Frontier(), exempt: surety.exempt())
    sealed.appointees = surety.appointees()
    for row in try replica.rows("SELECT origin, seq FROM copy._flotilla_origin") {
      guard let origin = row[0].integer, let seq = row[1].integer, seq > 0,
        let most = sealed.most(of: Origin(rawValue: UInt64(bitPattern: origin))), most < seq
      else { continue }
      try replica.run(
        "UPDATE copy._flotilla_origin SET seq = ? WHERE origin = ?",
        [.integer(Int64(most)), .integer(origin)])
    }
    return sealed
  }

  /// Who holds a cut has signed for it; and what the giver has missed this node has not.
  private func limitStability(by surety: Surety, at moment: Int64) throws(SQLiteError) {
    let name: SQLite.Value = .string(Meta.Name.stability.rawValue)
    let row = try replica.row("SELECT value FROM copy._flotilla_meta WHERE name = ?", [name])
    guard let bytes = row?[0].blob else { return }
    guard let taken = (try? Stability(bytes))?.handedOn(by: surety, at: moment) else {
      throw .rows("its cuts cannot be")
    }
    try replica.run(
      "UPDATE copy._flotilla_meta SET value = ? WHERE name = ?", [.blob(taken.bytes), name])
  }

  /// Verdicts count of a term for which somebody was appointed.
  private func limitJudged(by sealed: Sealed) throws(SQLiteError) {
    let name: SQLite.Value = .string(Meta.Name.judged.rawValue)
    let row = try replica.row("SELECT value FROM copy._flotilla_meta WHERE name = ?", [name])
    guard let row else { return }
    guard let judged = row[0].blob.flatMap({ try? Judged($0) }),
      sealed.appointees?.knows(judged.term) != false
    else { throw .rows("it says of the anchor what cannot be") }
  }

  /// This node writes under its own origin, which nobody can have written under yet.
  private func takeOrigin() throws(SQLiteError) {
    let meta = "(SELECT value FROM main._flotilla_meta WHERE name = 'origin')"
    try replica.execute(
      """
      INSERT INTO copy._flotilla_origin(origin, seq)
      SELECT origin, seq FROM main._flotilla_origin WHERE id = \(meta)
      """)
    try replica.run(
      "UPDATE copy._flotilla_meta SET value = ? WHERE name = 'origin'",
      [.integer(replica.lastInsertRowID)])
  }

  /// Gives the checked file its triggers and views, and puts it in place.
  package func finish(_ versions: ReceivedPages.Versions) throws(StoreError) {
    let connection = try orRows { () throws(SQLiteError) in
      let connection = try pages.open()
      try connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
      return connection
    }
    let tables = try Tables(connection, SchemaCache())
    let names = try TableSchema.all(on: connection)
    try orRows { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        try VersionFigures.write(
          live: versions.live, newest: versions.newest, on: connection)
        for table in tables.tracked {
          guard let schema = table.schema else { throw .rows("\(table.name) is not in the copy") }
          try Capture.install(schema, id: table.id, on: connection)
          try RowsView.renew(schema, id: table.id, on: connection)
        }
        guard try Meta(connection: connection).integer(.takesNewTables) != nil else { return }
        let tracked = Set(tables.tracked.map { folded($0.nameHere) })
        for name in names where !tracked.contains(folded(name)) {
          try tables.choices.set(.apart, for: name)
        }
      }
      connection.clearStatements()
      try ReplicaFile.switchToWAL(connection)
    }
    try replace()
  }

  /// Puts the new file in the place of the empty one: complete and on disk, or not at all.
  ///
  /// The owner of their folders may exchange either for a link to a file of root, who joins for
  /// him: so both are opened in folders that were opened before, and only if they are files.
  private func replace() throws(StoreError) {
    let (old, new) = (Self.parts(of: path), Self.parts(of: pages.path))
    guard let folder = OpenFolder(named: old.folder), let source = OpenFolder(new.folder) else {
      throw Self.failure("open the folder of", path)
    }
    let former = try Self.open(old.name, in: folder, path)
    var isClosed = false
    defer { if !isClosed { close(former.descriptor) } }
    let copy = try Self.open(new.name, in: source, pages.path)
    defer { close(copy.descriptor) }
    // Only root may give a file away; anybody else owns both.
    _ = fchown(copy.descriptor, former.status.st_uid, former.status.st_gid)
    guard fchmod(copy.descriptor, former.status.st_mode & 0o777) == 0, fsync(copy.descriptor) == 0
    else { throw Self.failure("write", pages.path) }
    guard source.move(new.name, to: folder, as: old.name) else {
      throw Self.failure("replace", path)
    }
    // A power cut from here on finds the new file: never the old one with what is written into it.
    let isOnDisk = folder.sync()
    // Whoever has come to the old file waits for its lock, and must not go on in it. Its locks go
    // with the first of its descriptors that is closed: so this comes before.
    let notice = Array("Another file has taken the place of this one; open it again.\n".utf8)
    let poison = notice + [UInt8](repeating: 0x20, count: 100 - notice.count)
    let isPoisoned = pwrite(former.descriptor, poison, poison.count, 0) == poison.count
    close(former.descriptor)
    isClosed = true
    guard isPoisoned else { throw Self.failure("close", path) }
    guard isOnDisk else { throw Self.failure("write the folder of", path) }
  }

  /// Opens a file that has no other name, which could be one that its folder's owner may not touch.
  private static func open(
    _ name: String, in folder: borrowing OpenFolder, _ path: String
  ) throws(StoreError) -> (descriptor: Int32, status: stat) {
    let descriptor = folder.existing(name, O_RDWR)
    guard descriptor >= 0 else { throw failure("open", path) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_nlink == 1 else {
      close(descriptor)
      errno = EMLINK
      throw failure("open", path)
    }
    return (descriptor, status)
  }

  private static func parts(of path: String) -> (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = path[..<slash]
    return (folder.isEmpty ? "/" : String(folder), String(path[path.index(after: slash)...]))
  }

  private static func failure(_ what: String, _ path: String) -> StoreError {
    StoreError(.rowsOnly, "cannot \(what) \(path): \(String(cString: strerror(errno)))")
  }
}
