import Replication
import SQLite

/// One replica: the database file with Flotilla's tables in it.
///
/// It captures, folds, merges and exports. It is not `Sendable`: one actor owns it, and only one
/// process at a time writes Flotilla's tables.
package final class Store {
  /// The file: its transactions tell the parts below what becomes of what they hold.
  package let file: ReplicaFile
  package var path: String { file.path }
  /// How much is done in one commit: whoever shares the file with programs may change it.
  package var pace: Pace {
    didSet {
      (feed.kept, parking.limit) = (pace.changes, pace.parkedRows)
      settlement.rowsTogether = pace.rowsTogether
    }
  }
  /// The connection of the file.
  let connection: Connection
  let meta: Meta
  let versions: VersionTable
  let origins: Origins
  let digests: DigestTable
  let versionFigures: VersionFigures
  let changeLog: ChangeLog
  /// The changes, for those who follow them.
  package let feed: ChangeFeed
  /// What is kept so that a member's edits can be undone.
  package let undo: UndoBook
  let lost: LostVersions
  let shelf: Shelf
  let conflicts: ConflictLog
  let rulings: RulingTable
  let pending: PendingTable
  /// What of that an anchor judges next.
  let due: DueEdits
  let kinship: Kinship
  /// Who judges, and how far this replica has come with that.
  let anchor: AnchorOffice
  /// What became of own edits.
  package let verdicts: Verdicts
  /// From where each version is looked at.
  let present: PresentViewpoint
  /// Under which origins this replica writes and has written, and what is signed of that.
  package let lives: Lives
  package let progress: ProgressTable
  /// The members of the site, as this file knows them.
  package let members: MemberTables
  /// Deleted versions on their way out.
  package let deletions: DeletedVersions
  /// The own edit that is being made again: what it has seen its repetition has seen.
  var repeating: Version?
  package let tables: Tables
  /// What programs have written, on its way into versions.
  package let journal: JournalReader
  let recent: RecentVersions
  /// Snapshots that are open, and the connections on which they are read.
  let exports: OpenExports
  /// Audits and accounts that are open.
  package let verification = Verification()
  let derived: DerivedTriggers

  package let site: Identity
  package let siteName: String
  package let node: Identity
  package let nodeName: String
  /// Who may change merge rules; everybody, as long as nobody has said.
  package var ruleSetters: RuleSetters?
  /// The rules by which an edit can be judged here.
  package var rules: [any MergeRule.Type] {
    get { anchor.rules }
    set { anchor.rules = newValue }
  }
  /// How often a repair has changed rows, since the file was opened.
  var repairs: UInt64 = 0
  let ownRights: OwnRights
  let putBacks: PutBackTable
  /// What has changed since it was decided which rows stand.
  let parking: Parking
  /// Which of the rows stand.
  let settlement: Settlement
  let rowVersions: RowVersions
  /// Edits that this replica may not make.
  let refusals: Refusals
  /// What the tables of the application show.
  let contents: TableContents

  /// Opens a replica; throws `.notInitialised` if the file is none.
  /// With `inspects` off nothing is written, not even missing triggers. `vfs` names another file
  /// system than the machine's, as SQLite knows it.
  package init(
    path: String, inspects: Bool = true, pace: Pace = Pace(), vfs: String? = nil,
    schemas: SchemaCache = SchemaCache()
  ) throws(StoreError) {
    let connection = try ReplicaFile.connect(path, vfs: vfs)
    let meta = Meta(connection: connection)
    let who = try ReplicaFile.identity(meta, connection, path: path)
    let (file, pace) = (ReplicaFile(connection, path: path), pace)
    (self.file, self.pace, self.connection, self.meta) = (file, pace, connection, meta)
    (site, siteName, node, nodeName) = (who.site, who.siteName, who.node, who.nodeName)
    let (origins, reaches) = try reporting { () throws(SQLiteError) in
      if inspects { try ReplicaFile.upgrade(connection, meta) }
      return (try Origins(connection), try ReachTable(connection))
    }
    self.origins = origins
    let (digests, figures, changeLog) = try reporting { () throws(SQLiteError) in
      (
        try DigestTable(connection), try VersionFigures(connection, meta),
        try ChangeLog(connection, meta)
      )
    }
    (self.digests, versionFigures, self.changeLog) = (digests, figures, changeLog)
    let terms = try reporting { () throws(SQLiteError) in try Terms(connection) }
    let versions = VersionTable(connection: connection, origins: origins, terms: terms)
    self.versions = versions
    (lost, pending, kinship) = try reporting { () throws(SQLiteError) in
      (
        try LostVersions(connection, origins: origins, versions: versions),
        try PendingTable(connection, versions: versions), try Kinship(connection, versions)
      )
    }
    (due, undo) = (DueEdits(connection, versions, pending), UndoBook(connection))
    (shelf, conflicts) = (Shelf(connection: connection), ConflictLog(connection: connection))
    rulings = RulingTable(versions: versions, limit: pace.rulings)
    (progress, members) = (ProgressTable(connection), MemberTables(connection, meta))
    exports = OpenExports(path: path, vfs: vfs, versions, rulings, pending)
    let readVersion = try reporting { () throws(SQLiteError) in try connection.schemaVersion() }
    tables = try Tables(connection, schemas)
    journal = JournalReader(connection, tables, kinship)
    (putBacks, recent) = (PutBackTable(connection), RecentVersions(origins, limit: pace.recentRows))
    guard let own = origins.origin(of: who.origin) else {
      throw StoreError(.sqlite, "\(path) has lost the origin under which it writes")
    }
    present = PresentViewpoint(own: own)
    ownRights = try reporting { () throws(SQLiteError) in try OwnRights(meta) }
    anchor = AnchorOffice(
      connection, meta, present, OverruledTable(origins: origins, limit: pace.rulings))
    lives = Lives(file, meta, origins, reaches, of: node, present)
    verdicts = Verdicts(
      connection, meta, lives, rulings, conflicts, tables, versions, anchor, present, ownRights)
    deletions = DeletedVersions(file, meta, versions, tables, lives, present)
    feed = ChangeFeed(
      file, changeLog, tables, ownRights, versions, figures, lives, nodeName: nodeName,
      kept: pace.changes)
    parking = Parking(meta, shelf, limit: pace.parkedRows)
    derived = DerivedTriggers(connection, meta, tables)
    contents = TableContents(
      connection, tables, versions, shelf, derived, changeLog, lost, conflicts, present)
    settlement = Settlement(
      connection, tables, versions, shelf, contents, derived, changeLog, parking, kinship,
      ownRights, rowsTogether: pace.rowsTogether)
    rowVersions = RowVersions(
      connection, tables, versions, lost, digests, figures, changeLog, recent, settlement)
    refusals = Refusals(
      connection, tables, versions, shelf, origins, contents, settlement, rowVersions, ownRights,
      putBacks, conflicts, present)
    joinParts()
    try reporting { () throws(SQLiteError) in try readParts() }
    if inspects { try begin(read: readVersion) }
  }

  /// Looks after what may have changed while nobody had the file open.
  private func begin(read: Int64) throws(StoreError) {
    try reporting { () throws(SQLiteError) in try rulings.trim() }
    // A program may have taken the file out of WAL mode while no node ran; then an export's
    // snapshot would keep every commit waiting. If it cannot be now, the node tries again.
    _ = try? file.ensureWAL()
    try beginWithSchema(read: read)
  }

  /// What one part reads another one explains: the numbers of origins come first, for versions have
  /// them; the tables last, which may have changed. `lives` sees that the file is the same one
  /// before anything else is done in a transaction.
  private func joinParts() {
    file.join(
      origins, lives.reaches, digests, versionFigures, feed, versions, lost, pending, kinship)
    file.join(anchor, lives, deletions, ownRights, parking, putBacks, tables)
    file.join(shelf, derived, recent, rulings, due, journal, undo, journal.unseen)
  }

  /// Reads what the other parts have not read when they were made.
  private func readParts() throws(SQLiteError) {
    try anchor.reload()
    try lives.reload()
    try deletions.reload()
    try parking.load()
    try putBacks.reload()
  }

  package var own: Origin { present.value.own }

  /// Under which this node wrote in earlier lives.
  var earlier: Set<Origin> { present.value.earlier }

  /// Whether this node wrote under an origin, in this life or an earlier one.
  func isOwn(_ origin: Origin) -> Bool { origin == own || earlier.contains(origin) }

  /// Origins whose authors are gone, so that others keep what is lost of their edits.
  package var departed: Set<Origin> {
    get { present.value.departed }
    set { present.value.departed = newValue }
  }

  var viewpoint: Viewpoint {
    @inline(__always) _read { yield present.value }
    @inline(__always) _modify { yield &present.value }
  }

  var judged: Judged {
    get { present.value.judged }
    set { present.value.judged = newValue }
  }

  var officeRecord: OfficeRecord {
    get { anchor.record }
    set { anchor.record = newValue }
  }

  /// What this replica may do; edits that it may not make are put back.
  package var rights: Rights { ownRights.rights }

  /// What is known of what everybody holds.
  package var stability: Stability { deletions.stability }

  /// The conflict log, for people.
  package var conflictLog: Conflicts {
    Conflicts(connection: connection, meta: meta, log: conflicts, tables: tables)
  }

  /// The schema that a first copy starts from.
  package var schemaCopy: SchemaCopy { SchemaCopy(connection: connection, tables: tables) }

  /// What people are told about it.
  package var survey: Survey {
    Survey(
      connection: connection, tables: tables, versionFigures: versionFigures, lost: lost,
      pending: pending, putBacks: putBacks, verdicts: verdicts, rights: rights,
      derivedTrouble: derivedTrouble)
  }

  /// What people are told about its tables.
  package var tableSurvey: TableSurvey {
    TableSurvey(
      connection: connection, tables: tables, versions: versions, lost: lost, kinship: kinship,
      references: settlement.references)
  }

  /// Where rows are that had to leave their numbers.
  var moved: MovedRows {
    MovedRows(
      tables: tables, versions: versions, kinship: kinship, pending: pending, origins: origins,
      conflicts: conflicts, parking: parking)
  }

  /// What rows were under the keys that their tables had before.
  var formerRows: FormerRows {
    FormerRows(connection: connection, tables: tables, versions: versions, shelf: shelf)
  }

  /// Which tables of this file are tables of the site.
  var recognition: TableRecognition {
    TableRecognition(
      connection: connection, path: path, meta: meta, tables: tables, versions: versions,
      shelf: shelf, members: members, ownRights: ownRights)
  }

  /// The tables of this file that are not.
  package var untracked: UntrackedTables {
    UntrackedTables(
      connection: connection, meta: meta, tables: tables, survey: tableSurvey,
      recognition: recognition)
  }

  /// What people are told about columns.
  package var columns: ColumnSurvey { ColumnSurvey(file: file, tables: tables, shelf: shelf) }

  /// What this replica holds now.
  package var position: Position {
    var position = Position(
      frontier: origins.frontier, digest: digests.digest, own: own, age: file.commits,
      lost: lost.count, wanted: putBacks.mark)
    position.stability = stability
    position.repairs = repairs
    position.isJudging = anchor.isJudging
    if digests.here != digests.digest { position.digestHere = digests.here }
    (position.keys, position.keyMark) = (tables.changedKeys, tables.keyMark)
    position.reaches = lives.known
    return position
  }

  /// A hash over the tracked tables and their columns.
  package var schemaHash: UInt64 { tables.schemaHash }

  /// Takes Flotilla out of the file: triggers, tables, journal mode. The data stays.
  package func leave() throws(StoreError) {
    let mode = try reporting { () throws(SQLiteError) in try meta.text(.journalMode) }
    exports.removeAll()
    try ReplicaFile.remove(from: connection, journalMode: mode)
  }

  /// Runs `body` in one write transaction of the file.
  func transaction<Result>(
    isDurable: Bool = true, _ body: () throws -> Result
  ) throws(StoreError) -> Result {
    try file.transaction(isDurable: isDurable, body)
  }
}

extension StoreError {
  /// Any error of the store's own parts as one of the store.
  package static func wrapping(_ error: any Error) -> StoreError {
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
