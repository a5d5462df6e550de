import Replication
import SQLite

/// Opening a file, and making it a replica.
extension ReplicaFile {
  /// Who a new replica is.
  package struct Identities: Sendable {
    package var site: Identity
    package var siteName: String
    package var node: Identity
    package var nodeName: String
    package var origin: Origin
    /// From which the origin follows.
    package var life: UInt64
    /// The public key of the site's root; none in a site without keys.
    package var rootKey: [UInt8]
    /// What was signed about the members, as it is stored.
    package var statements: [SignedStatement]

    package init(
      site: Identity, siteName: String, node: Identity, nodeName: String, origin: Origin,
      life: UInt64 = 0, rootKey: [UInt8] = [], statements: [SignedStatement] = []
    ) {
      self.site = site
      self.siteName = siteName
      self.node = node
      self.nodeName = nodeName
      self.origin = origin
      self.life = life
      self.rootKey = rootKey
      self.statements = statements
    }
  }

  /// How long a call waits for another program's lock.
  package static let busyTimeout = 5_000
  /// Pages of the file that are kept in memory, in KiB.
  private static let cacheKiB = 8 << 10
  /// The file of the write-ahead log keeps no more bytes than this when it is begun anew.
  private static let logLimit = 16 << 20

  /// Opens the connection that folds and applies.
  static func connect(
    _ path: String, vfs: String? = nil
  ) throws(StoreError) -> Connection {
    try reporting { () throws(SQLiteError) in
      let connection = try Connection(path: path, vfs: vfs)
      connection.setBusyTimeout(milliseconds: busyTimeout)
      // What the application's triggers did at the author's replica arrives as rows of its own,
      // and our own triggers must not note what we apply.
      try connection.set(.triggers, to: false)
      try connection.set(.foreignKeys, to: false)
      try connection.set(.defensive, to: true)
      // Where it is off, SQLite 3.40 calls the functions for JSON unsafe in a CHECK, an index or a
      // generated column, and with one of these the whole file "malformed". It is there against
      // functions that a program adds, and this one adds none; virtual tables in triggers need it.
      try connection.set(.trustedSchema, to: true)
      try connection.set(.doubleQuotedStrings, to: false)
      // A version is on disk before it is exported: with NORMAL a power cut could take back a
      // seq that a peer holds.
      try connection.execute("PRAGMA synchronous = FULL")
      try connection.execute("PRAGMA cell_size_check = ON")
      // Folds and merges go in the order of keys, but the rows of a table with a rowid may lie in
      // any order: with the 2 MB that SQLite takes by itself most pages of these are read again.
      try connection.execute("PRAGMA cache_size = -\(cacheKiB)")
      // Each time "a WAL file resets", one that is larger "is truncated to the limit"
      // (sqlite.org/pragma.html#pragma_journal_size_limit), if this connection begins it anew.
      try connection.execute("PRAGMA journal_size_limit = \(logLimit)")
      return connection
    }
  }

  /// Brings the tables of an older version to the present format, in one transaction.
  static func upgrade(_ connection: Connection, _ meta: Meta) throws(SQLiteError) {
    let format = try meta.integer(.format) ?? Layout.format
    guard format < Layout.format else { return try Layout.complete(connection) }
    try connection.transaction { () throws(SQLiteError) in
      try Layout.upgrade(from: format, on: connection)
    }
  }

  package static func isInitialised(_ connection: Connection) throws(SQLiteError) -> Bool {
    try Layout.hasTable("_flotilla_meta", on: connection)
  }

  /// Makes the file a replica; the file must exist and must not be one.
  ///
  /// `objects` are created in the same commit: a replica that is cut off right after it has joined
  /// has the tables that its rows are for, and knows that they are not all there. Gives a remark
  /// for each that cannot be made.
  @discardableResult
  package static func initialise(
    path: String, as who: Identities, creating objects: [SchemaObject] = [],
    copying: FirstCopy? = nil, vfs: String? = nil
  ) throws(StoreError) -> [String] {
    let connection = try connect(path, vfs: vfs)
    return try reporting { () throws(SQLiteError) in
      let journalMode = try connection.scalar("PRAGMA journal_mode").string ?? "delete"
      try switchToWAL(connection)
      do throws(SQLiteError) {
        return try connection.transaction { () throws(SQLiteError) in
          try lay(who, journalMode: journalMode, path: path, on: connection)
          try copying?.begin(on: connection)
          return try SchemaCopy.create(objects, on: connection)
        }
      } catch {
        _ = try? connection.rows("PRAGMA journal_mode = \(journalMode)")
        throw error
      }
    }
  }

  /// Makes Flotilla's tables and fills in who this replica is, in the open transaction.
  private static func lay(
    _ who: Identities, journalMode: String, path: String, on connection: Connection
  ) throws(SQLiteError) {
    try connection.execute(Layout.statements)
    try Layout.add(to: connection)
    try Journal.create(on: connection)
    let raw = Int64(bitPattern: who.origin.rawValue)
    try connection.run("INSERT INTO _flotilla_origin(origin, seq) VALUES (?, 0)", [.integer(raw)])
    let meta = Meta(connection: connection)
    try meta.set(.origin, .integer(connection.lastInsertRowID))
    try meta.set(.format, .integer(Layout.format))
    try meta.set(.site, .string(who.site.description))
    try meta.set(.siteName, .string(who.siteName))
    try meta.set(.node, .string(who.node.description))
    try meta.set(.nodeName, .string(who.nodeName))
    try meta.set(.life, .integer(Int64(bitPattern: who.life)))
    try meta.set(.rootKey, .blob(who.rootKey))
    try MemberTables.note(
      KnownAuthor(origin: who.origin, node: who.node, name: who.nodeName, life: who.life),
      on: connection)
    try MemberTables.insert(who.statements, on: connection)
    try meta.set(.journalMode, .string(journalMode))
    try meta.set(.path, .string(path))
    try Layout.nameSettings(on: connection)
  }

  /// Who the replica in a file is; throws `.notInitialised` if there is none.
  static func identity(
    _ meta: Meta, _ connection: Connection, path: String
  ) throws(StoreError) -> (
    site: Identity, siteName: String, node: Identity, nodeName: String, origin: Int64
  ) {
    guard try reporting({ () throws(SQLiteError) in try isInitialised(connection) }) else {
      throw StoreError(
        .notInitialised, "\(path) is not a replica yet", remedy: "flotilla init \(path)")
    }
    let found = try reporting { () throws(SQLiteError) in
      (
        format: try meta.integer(.format), site: try meta.text(.site),
        siteName: try meta.text(.siteName), node: try meta.text(.node),
        nodeName: try meta.text(.nodeName), origin: try meta.integer(.origin)
      )
    }
    if let format = found.format, format > Layout.format {
      throw StoreError(
        .newerFormat, "\(path) was set up by a newer Flotilla (format \(format))",
        remedy: "Update Flotilla on this machine; the file was not touched.")
    }
    guard let site = found.site.flatMap(Identity.init), let siteName = found.siteName,
      let node = found.node.flatMap(Identity.init), let nodeName = found.nodeName,
      let origin = found.origin
    else {
      throw StoreError(
        .notInitialised, "\(path) has a damaged set-up of Flotilla",
        remedy: "flotilla leave \(path) --force removes it; the data stays.")
    }
    return (site, siteName, node, nodeName, origin)
  }
}
