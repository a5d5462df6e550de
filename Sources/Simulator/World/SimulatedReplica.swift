import Replication
import Store

/// What the world needs of a replica, in memory or in a file.
///
/// Errors are those of the storage: the world does with them what the shell does.
protocol SimulatedReplica {
  var site: Identity { get }
  var id: Identity { get }
  var name: String { get }
  var schemaHash: UInt64 { get }
  var position: Position { get }
  /// Of the position alone what is often asked for.
  var own: Origin { get }
  var frontier: Frontier { get }
  var stability: Stability { get }
  var wanted: UInt64 { get }
  /// Origins whose authors cannot keep what is lost of their edits.
  var departed: Set<Origin> { get set }

  /// What an application does: one transaction of its own.
  mutating func write(_ random: inout Seeded, at now: Instant, _ story: inout Story) throws
  /// A change of the schema, where there is one.
  mutating func migrate(_ random: inout Seeded, at now: Instant, _ story: inout Story) throws

  /// A change of the schema that takes something away, or brings it back.
  mutating func remove(_ random: inout Seeded, at now: Instant, _ story: inout Story) throws

  /// What migrations have added here; in the end everybody has it.
  var additions: Set<String> { get }
  mutating func catchUp(with additions: Set<String>, at now: Instant, _ story: inout Story) throws

  mutating func fold(at now: Instant) throws -> FoldResult
  mutating func openExport(
    _ scope: Session.ExportScope, _ filter: ExportFilter, at now: Instant
  ) throws -> OpenedSource
  mutating func readExport(_ id: Int64, at now: Instant) throws -> SourceStep
  mutating func closeExport(_ id: Int64)
  mutating func merge(_ merge: Merge, at now: Instant) throws -> (MergeResult, FoldResult)
  func progress(of sender: Identity, edition: UInt64) throws -> Frontier

  /// Follows an appointment.
  mutating func govern(_ governance: Governance, at now: Instant) throws -> FoldResult
  /// From now on edits are made in this session with the anchor; 0 for none.
  mutating func goOnline(_ session: UInt64, at now: Instant) throws -> FoldResult
  /// The sessions that reach authors from here.
  mutating func setLiveSessions(_ sessions: [UInt64: Origin])
  /// Nobody can tell of an office that its file has forgotten.
  mutating func becomeSure(at now: Instant) throws -> FoldResult?
  /// Gives a table another rule.
  mutating func setRule(_ rule: String, ofTable number: Int, at now: Instant) throws

  /// What it goes by itself, and follows when that changes; `delivered` as for the store.
  var rights: Rights { get }
  mutating func allow(
    _ rights: Rights, delivered: UInt64, at now: Instant, _ history: inout History) throws
  func wantedRows() throws -> [RowName]
  /// What was signed, kept on its disk.
  mutating func keep(_ statements: [SignedStatement]) throws
  func statements() throws -> [SignedStatement]
  /// The versions that it has of some tables, by their names.
  func held(where isWanted: (String) -> Bool) throws -> [RowNumber: Version]
  /// Whether a row is of a table that it may read.
  func mayRead(_ row: RowNumber) -> Bool

  /// True if the process died in the last call.
  var isGone: Bool { get }
  /// True if the disk fails, or did in the last call.
  var hasTrouble: Bool { get }
  /// The disk begins to fail, for a while.
  mutating func spoilDisk(_ random: inout Seeded)
  /// From now on it works, or may fail again.
  mutating func calmDisk(_ isCalm: Bool)

  /// The process is gone, without another word.
  mutating func kill()
  /// The machine loses power.
  mutating func cutPower(_ random: inout Seeded)
  /// The process starts again, perhaps after a power cut.
  mutating func restart(at now: Instant, hadPower: Bool, _ history: inout History) throws

  /// Keeps a copy of the file as it is now.
  mutating func backUp()
  /// The process is gone, and the copy is in the place of the file; false if there is none.
  mutating func putBack() throws -> Bool
  /// A copy of its files as they are now, which another program uses.
  func copied(as number: Int, _ random: inout Seeded) throws -> Self
  /// Where its file says that it writes.
  var lifeMark: LifeMark { get }
  /// A node starts that may send what it writes.
  mutating func beginRun(_ run: UInt64) throws
  /// Goes on under the origin of another life; `isLate` if edits may have been folded in doubt.
  mutating func beginLife(
    _ doubt: Doubt, life: UInt64, run: UInt64, isLate: Bool, renewingTo mark: Mark?,
    at now: Instant, _ history: inout History) throws
  /// From which the origin of the file follows.
  var life: UInt64 { get }
  var runLog: RunLog { get }
  /// Whether it signs for what it writes; one of a version before does not.
  var signs: Bool { get set }
  func isContradicted(by reach: Reach) throws -> Bool
  /// Others hold so much of what was written here.
  mutating func noteDelivered(_ seq: UInt64) throws
  /// Lets go of what a member wrote under former keys of tables; gives how many rows.
  mutating func letGoOfFormer(by node: Identity, keys: [TableKey], at now: Instant) throws -> Int

  /// What everybody holds, and letting go of deleted versions, as for the store.
  mutating func hear(_ news: StabilityNews, from peer: Identity, at now: Instant) throws
  mutating func tend(
    members: Set<Identity>, everybody: Set<Identity>, retention: Int64, at now: Instant
  ) throws -> Tending
  /// Begins to fetch everything; false if it is not new.
  mutating func renewAsNew(to mark: Mark) throws -> Bool
  /// Goes on with what is here.
  mutating func giveUpRenewal(at now: Instant) throws -> FoldResult

  /// Begins to work in this boot of its machine, by the time of the site; gives what was kept.
  mutating func begin(boot: Identity, at now: Instant) throws -> [UInt8]?
  mutating func keep(clock: [UInt8], at now: Instant) throws
  /// The clocks are looked at, and whether anything waits.
  mutating func look(at now: Instant) throws

  /// Runs what must hold at any time, after this replica has worked.
  mutating func inspect(at now: Instant, _ history: inout History) throws
  /// What the replica shows now.
  func observe() throws -> Observation
  /// The same once all has healed; rows of one machine may claim the same value, or may not.
  func observeEnd(mayClash: Bool) throws -> Observation
  /// What the table shows whose key changes, if there is one.
  func chart() throws -> [Int64: Int64]?
  /// Looks at what must hold at any time, and is looked at now and then alone.
  func inspectEnd(_ history: inout History) throws
}

extension SimulatedReplica {
  func observeEnd(mayClash: Bool) throws -> Observation { try observe() }
  func chart() throws -> [Int64: Int64]? { nil }
  func letGoOfFormer(by node: Identity, keys: [TableKey], at now: Instant) throws -> Int { 0 }
  func inspectEnd(_ history: inout History) throws {}
  var frontier: Frontier { position.frontier }
  var stability: Stability { position.stability }
  var wanted: UInt64 { position.wanted }
}

/// An export that was opened.
struct OpenedSource {
  var id: Int64
  var covers: Frontier
  var rows: UInt64
  var fold: FoldResult
  var judged: Judged?
}

/// What reading from an export gives.
enum SourceStep {
  case batch(bytes: [UInt8], rows: UInt64, check: UInt64)
  case part([UInt8])
  case paused(progress: Frontier)
  case done
}
