import Replication
import SQLite

/// The single values of a replica: who it is, and which site it belongs to.
struct Meta {
  enum Name: String {
    case format
    case site
    case siteName
    case node
    case nodeName
    /// From which the origin follows: random, one for each life of a replica.
    case life
    /// Why the present life was begun, when, and how many edits were issued again.
    case lifeStory
    /// What this replica was allowed when it last ran.
    case rights
    /// Who judges (`OfficeRecord`), and what was judged.
    case office
    case judged
    /// Up to which own edit there may have been a verdict that is not kept.
    case verdictsMissing
    /// How much of the conflict log is kept, and how much was let go.
    case conflictCount
    case conflictDays
    case conflictsGone
    /// The highest number of a conflict that was let go: no other one gets it.
    case conflictNewest
    /// Set once rulings were let go because the keys of their rows were long.
    case rulingsGone
    /// Tables that may be read again and are not compared yet, by their local numbers.
    case regained
    /// Up to which own seq others hold what was replaced here by edits that were taken back.
    case elsewhere
    /// The public key of the site's root.
    case rootKey
    /// The local number of the origin under which this replica writes.
    case origin
    /// Up to which own seq some other node is known to hold what was written here.
    case delivered
    /// Set at each start until an exchange has come whole: another copy may have taken an office,
    /// or this one before its file was restored.
    case isUnsure
    /// The journal mode before Flotilla, to be restored on leaving.
    case journalMode
    /// By which number this node counts among the members (`NumberBlocks`).
    case member
    /// How many it has known of at most.
    case memberCount
    /// Where the file was when it was last opened.
    case path
    /// The time of the site as this node knew it last (`SiteClock`), and what is remembered of
    /// clocks to place what waits in the journal (`Timeline`).
    case clock
    case timeline
    /// What everybody holds, and what was collected (`Stability`).
    case stability
    /// Above which own seq programs have written since parked rows were tried last.
    case sparedFrom
    /// Which foreign keys hold between the rows that stand (`References.signature`).
    case references
    /// Set while the first copy is not complete: where it comes from (`FirstCopy`).
    case joining
    /// Set while that may come as pages: the file held nothing before.
    case joiningByPages
    /// What migrations did to tables whose rows went with them (`LostVersions`).
    case remakes
    /// Set once this replica has heard that the site takes in new tables by itself.
    case takesNewTables
    /// What triggers that keep an index or a cache have failed with (`DerivedTroubles`).
    case derivedTroubles
    /// When the change log was read last, and what the tables looked like when it was begun
    /// (`ChangeLog`).
    case changesRead
    case changesLook
    /// No version here has a stamp above it (`VersionFigures`).
    case newestStamp
  }

  let connection: Connection

  func text(_ name: Name) throws(SQLiteError) -> String? {
    try value(name).string
  }

  func integer(_ name: Name) throws(SQLiteError) -> Int64? {
    try value(name).integer
  }

  func blob(_ name: Name) throws(SQLiteError) -> [UInt8]? {
    try value(name).blob
  }

  private func value(_ name: Name) throws(SQLiteError) -> SQLite.Value {
    try connection.scalar(
      "SELECT value FROM _flotilla_meta WHERE name = ?", [.string(name.rawValue)])
  }

  func set(_ name: Name, _ value: SQLite.Value) throws(SQLiteError) {
    try connection.run(
      "INSERT OR REPLACE INTO _flotilla_meta(name, value) VALUES (?, ?)",
      [.string(name.rawValue), value])
  }
}
