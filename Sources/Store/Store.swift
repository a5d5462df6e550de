import Replication
import SQLite

/// One replica: the database file with Flotilla's tables in it.
///
/// It captures, folds, merges and exports. It is not `Sendable`: one actor owns it, and only one
/// process at a time writes Flotilla's tables.
package final class Store {
  package let path: String
  /// How much is done in one commit: whoever shares the file with programs may change it.
  package var pace: Pace
  /// The connection that folds and applies: triggers and foreign keys off, on disk at commit.
  let connection: Connection
  /// Sees the application's triggers; for the tables that the site's settings live in.
  let meta: Meta
  let versions: VersionTable
  let origins: Origins
  let reaches: ReachTable
  /// Signs for what is written here, and what it has signed last.
  var signer: ((any Signable) -> [UInt8])?
  var ownReach: Reach?
  let digests: DigestTable
  let versionFigures: VersionFigures
  let changeLog: ChangeLog
  /// What is kept so that a member's edits can be undone.
  package let undo: UndoBook
  let lost: LostVersions
  let shelf: Shelf
  let conflicts: ConflictLog
  let rulings: RulingTable
  let overruledEdits: OverruledTable
  let pending: PendingTable
  let kinship: Kinship
  /// Who judges, and what was judged.
  var officeRecord = OfficeRecord() { didSet { viewpoint.office = officeRecord.office } }
  /// From where each version is looked at: who this replica is, who has gone, what was judged.
  var viewpoint: Viewpoint
  var savedOffice: [UInt8] = []
  /// What this anchor has put off to judge last.
  var deferral = Deferral()
  /// The foreign keys, as the schema and the rights are now.
  var knownReferences: (references: References, age: Int)?
  /// The session with the anchor in which programs write now; 0 if there is none.
  var onlineSession: UInt64 = 0
  /// The own edit that is being made again: what it has seen its repetition has seen.
  var repeating: Version?
  /// The sessions of this anchor, and whose edits come in them.
  var liveSessions: [UInt64: Origin] = [:]
  let tables: Tables
  /// What programs have written, on its way into versions.
  package let journal: JournalReader
  var recent: RecentVersions
  /// Snapshots that are open, and the connections on which they are read.
  let exports: OpenExports
  /// Audits and accounts that are open.
  package let verification = Verification()
  var schemaVersion: Int64
  var derivation = Derivation()
  /// A transaction was rolled back, and what is in memory may be of it.
  private(set) var isStale = false
  /// Whether `synchronous` is FULL at present, as `connect` sets it.
  private var commitsAreDurable = true
  /// For how long the write lock was held, all transactions together.
  package private(set) var lockHeld = Duration.zero
  /// Commits of this process, to tell older positions from newer ones.
  private var commits: UInt64 = 1

  package let site: Identity
  package let siteName: String
  package let node: Identity
  package let nodeName: String
  /// Who may change merge rules; everybody, as long as nobody has said.
  package var ruleSetters: RuleSetters?
  /// The rules by which an edit can be judged here.
  package var rules = MergeRules.all
  /// How far which life has written: settled verdicts are asked for by it.
  var runs = RunLog()
  /// The state of the file, as SQLite counts it, that was seen to follow what is in memory.
  var seenVersion: Int64 = -1
  /// Told of own edits before they can be sent.
  package var ledger: (any Ledger)?
  /// What is known of what everybody holds.
  package internal(set) var stability = Stability()
  /// How often a repair has changed rows, since the file was opened.
  var repairs: UInt64 = 0
  var search = DeletionSearch()
  /// What this replica may do; edits that it may not make are put back.
  package internal(set) var rights = Rights.all {
    didSet { knownReferences = nil }
  }
  /// Tables that may be read again since a moment ago, and are being compared.
  var regained: Set<Int64> = []
  let putBacks: PutBackTable
  /// What has changed since it was decided which rows stand.
  var parking = Parking()
  /// Rows that came in the open transaction with a content which does not give their hash.
  var unmatched = UnmatchedContent()

  /// Opens a replica; throws `.notInitialised` if the file is none.
  /// With `inspects` off nothing is written, not even missing triggers. `vfs` names another file
  /// system than the machine's, as SQLite knows it.
  package init(
    path: String, inspects: Bool = true, pace: Pace = Pace(), vfs: String? = nil,
    schemas: SchemaCache = SchemaCache()
  ) throws(StoreError) {
    let connection = try Self.connect(path, vfs: vfs)
    let meta = Meta(connection: connection)
    do throws(SQLiteError) {
      guard try Self.isInitialised(connection) else { throw SQLiteError(code: 0, message: "") }
    } catch  where error.code == 0 {
      throw StoreError(
        .notInitialised, "\(path) is not a replica yet", remedy: "flotilla init \(path)")
    } catch {
      throw StoreError(error)
    }
    let identity = try Self.identity(meta, path: path)
    (self.path, self.pace) = (path, pace)
    (self.connection, self.meta) = (connection, meta)
    (self.site, self.siteName, self.node, self.nodeName) = (
      identity.site, identity.siteName, identity.node, identity.nodeName
    )
    let (origins, digests, figures, changes, reaches) = try reporting { () throws(SQLiteError) in
      if inspects { try Self.upgrade(connection, meta) }
      return (
        try Origins(connection), try DigestTable(connection), try VersionFigures(connection, meta),
        try ChangeLog(connection, meta), try ReachTable(connection)
      )
    }
    (self.origins, self.digests, self.reaches) = (origins, digests, reaches)
    (self.versionFigures, self.changeLog) = (figures, changes)
    let terms = try reporting { () throws(SQLiteError) in try Terms(connection) }
    let versions = VersionTable(connection: connection, origins: origins, terms: terms)
    self.versions = versions
    self.lost = try reporting { () throws(SQLiteError) in
      try LostVersions(connection, origins: origins, versions: versions)
    }
    (self.undo, self.shelf) = (UndoBook(connection), Shelf(connection: connection))
    (conflicts, putBacks) = (ConflictLog(connection: connection), PutBackTable(connection))
    self.rulings = RulingTable(versions: versions, limit: pace.rulings)
    self.overruledEdits = OverruledTable(origins: origins, limit: pace.rulings)
    (self.pending, self.kinship) = try reporting { () throws(SQLiteError) in
      (try PendingTable(connection, versions: versions), try Kinship(connection, versions))
    }
    self.exports = OpenExports(path: path, vfs: vfs, versions, rulings, pending)
    let readVersion = try reporting { () throws(SQLiteError) in try connection.schemaVersion() }
    self.tables = try Tables(connection, schemas)
    self.journal = JournalReader(connection, tables, kinship)
    self.recent = RecentVersions(base: origins.frontier, limit: pace.recentRows)
    guard let own = origins.origin(of: identity.origin) else {
      throw StoreError(.sqlite, "\(path) has lost the origin under which it writes")
    }
    self.viewpoint = Viewpoint(own: own, office: officeRecord.office, judged: Judged())
    self.schemaVersion = -1
    try reporting { () throws(SQLiteError) in
      if let bytes = try meta.blob(.rights) { rights = Rights(bytes: bytes) }
      try reloadOffice()
      try reloadLives()
      try reloadStability()
      try parking.reload(meta, freed: try parkedTables())
    }
    self.regained = try reporting { () throws(SQLiteError) in try Self.regained(meta) }
    guard inspects else { return }
    try reporting { () throws(SQLiteError) in
      try rulings.trim()
      try putBacks.reload()
    }
    // A program may have taken the file out of WAL mode while no node ran; then an export's
    // snapshot would keep every commit waiting. If it cannot be now, the node tries again.
    _ = try? ensureWAL()
    try beginWithSchema(read: readVersion)
  }

  package internal(set) var own: Origin {
    get { viewpoint.own }
    set { viewpoint.own = newValue }
  }

  /// Under which this node wrote in earlier lives.
  var earlier: Set<Origin> {
    get { viewpoint.earlier }
    set { viewpoint.earlier = newValue }
  }

  /// Origins whose authors are gone, so that others keep what is lost of their edits.
  package var departed: Set<Origin> {
    get { viewpoint.departed }
    set { viewpoint.departed = newValue }
  }

  var judged: Judged {
    get { viewpoint.judged }
    set { viewpoint.judged = newValue }
  }

  /// What this replica holds now.
  package var position: Position {
    var position = Position(
      frontier: origins.frontier, digest: digests.digest, own: own, age: commits,
      lost: lost.count, wanted: putBacks.mark)
    position.stability = stability
    position.repairs = repairs
    if digests.here != digests.digest { position.digestHere = digests.here }
    position.keys = tables.changedKeys
    position.reaches = knownReaches
    return position
  }

  /// A hash over the tracked tables and their columns.
  package var schemaHash: UInt64 { tables.schemaHash }

  /// Runs `body` in one write transaction; what it noted counts only if it commits.
  ///
  /// A durable commit is on disk when this returns; another one is only sure to be whole.
  func transaction<Result>(
    isDurable: Bool = true, _ body: () throws -> Result
  ) throws(StoreError) -> Result {
    recent.begin()
    kinship.begin()
    rulings.begin()
    parking.room = pace.parkedRows
    versions.forgetAhead()
    let before = origins.frontier
    defer { shelf.end() }
    // A program may have the lock: then nothing has changed, and what is known is still so.
    try reporting { () throws(SQLiteError) in
      if isDurable != commitsAreDurable {
        try connection.execute("PRAGMA synchronous = \(isDurable ? "FULL" : "NORMAL")")
        commitsAreDurable = isDurable
      }
      try connection.run("BEGIN IMMEDIATE")
    }
    connection.isBound = true
    let start = ContinuousClock.now
    defer { lockHeld += start.duration(to: .now) }
    do {
      try requireSameFile()
      try shelf.begin()
      try resumeDerived()
      let result = try body()
      try saveDerivedTroubles()
      try digests.save()
      try versionFigures.save()
      try changeLog.save(
        look: look, limit: max(pace.changes, versionFigures.live(besides: []) ?? 0))
      try connection.run(Connection.commit)
      connection.isBound = false
      if origins.frontier[own] != before[own] { ledger?.note(lifeMark) }
      recent.commit(before: before)
      commits += 1
      if recent.isWaiting { recent.restart(at: origins.frontier) }
      return result
    } catch {
      connection.isBound = false
      connection.rollBack()
      recent.begin()
      versions.forgetAhead()
      parking.obstacles = [:]
      journal.forget()
      undo.forgetCount()
      // Triggers that were made on the way are gone again: look at the schema anew.
      schemaVersion = -1
      search = DeletionSearch()
      let cause = StoreError.wrapping(error)
      isStale = true
      // If the file cannot be read now, the next transaction tries again; the first error says why.
      try? recover()
      throw cause
    }
  }

  /// Reads again what is kept in memory, if a transaction was rolled back since.
  func recover() throws(StoreError) {
    guard isStale else { return }
    try reporting { () throws(SQLiteError) in
      try origins.reload()
      try reaches.reload()
      try digests.reload()
      try versionFigures.reload()
      try changeLog.reload()
      try versions.terms.reload()
      try lost.reload()
      try pending.reload()
      try kinship.reload()
      try reloadOffice()
      try reloadLives()
      try reloadStability()
      regained = try Self.regained(meta)
      try parking.reload(meta, freed: try parkedTables())
      try putBacks.reload()
    }
    try tables.reload()
    isStale = false
  }
}

extension StoreError {
  /// Any error of the store's own parts as one of the store.
  static func wrapping(_ error: any Error) -> StoreError {
    switch error {
    case let error as StoreError: error
    case let error as SQLiteError: StoreError(error)
    case let error as WireError: StoreError(.wire, error.description)
    default: StoreError(.sqlite, "\(error)")
    }
  }
}

extension StoreError.Code {
  /// What a peer sent cannot be right; nothing was changed.
  package static let wire = StoreError.Code("wire")
  /// Somebody has put the file back to an earlier state while it was open.
  package static let putBack = StoreError.Code("put-back")
  /// A push does not follow what is held; nothing was changed.
  package static let gap = StoreError.Code("gap")
}
