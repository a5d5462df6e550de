import Replication
import SQLite

/// The lives of a replica: each writes under an origin of its own.
///
/// Own edits are counted on from life to life, so that a number names one edit of this file,
/// whatever the origin; others see a new origin whose first edits never existed.
package final class Lives: FilePart {
  private unowned let file: ReplicaFile
  let connection: Connection
  let meta: Meta
  let origins: Origins
  /// What is signed of origins, those of others and earlier ones of this node.
  let reaches: ReachTable
  let node: Identity
  private let viewpoint: PresentViewpoint
  /// How far which life has written: settled verdicts are asked for by it.
  private var runs = RunLog()
  /// The state of the file, as SQLite counts it, that was seen to follow what is in memory.
  private var seenVersion: Int64 = -1
  /// The frontier that held before the open transaction.
  private var before = Frontier()
  /// Told of own edits before they can be sent.
  package var ledger: (any Ledger)?
  /// Signs for what is written here, and what it has signed last.
  var signer: ((any Signable) -> [UInt8])?
  var lastReach: Reach?

  init(
    _ file: ReplicaFile, _ meta: Meta, _ origins: Origins, _ reaches: ReachTable,
    of node: Identity, _ viewpoint: PresentViewpoint
  ) {
    (self.file, connection, self.meta) = (file, file.connection, meta)
    (self.origins, self.reaches, self.node) = (origins, reaches, node)
    self.viewpoint = viewpoint
  }

  var own: Origin { viewpoint.value.own }

  /// Whether memory is of a transaction that was rolled back, and nothing is to be signed by it.
  var isStale: Bool { file.isStale }

  /// What the database says about where it is.
  package var mark: LifeMark {
    LifeMark(origin: own, run: runs.entries.last?.run ?? 0, seq: origins.frontier[own])
  }

  /// The runs of this file.
  package var log: RunLog { runs }

  /// The own edits of each life: the range of their numbers, and the origin.
  var all: [RunLog.Life] { runs.lives(now: own) }

  /// Whether an edit was made by this replica: of an earlier life others may go on to use the
  /// origin, where the file was copied.
  func made(_ edit: Dot) -> Bool {
    all.contains { $0.origin == edit.origin && $0.first <= edit.seq && edit.seq <= $0.last }
  }

  /// The edit of this replica that has a number.
  func edit(_ seq: UInt64) -> Dot {
    Dot(all.last { $0.first <= seq && seq <= $0.last }?.origin ?? own, seq)
  }

  /// Whether a peer shows that this node has signed for edits that are not in the file.
  package func isContradicted(by have: Have) -> Bool {
    have.testimony.map(isContradicted) ?? false
  }

  /// Whether this node has signed for edits that are not in the file.
  package func isContradicted(by reach: Reach) -> Bool {
    runs.contradicts(reach.testimony, origin: own, last: origins.frontier[own])
  }

  /// From which the origin of this replica follows.
  package func life() throws(StoreError) -> UInt64 {
    try reporting { () throws(SQLiteError) in
      UInt64(bitPattern: try meta.integer(.life) ?? 0)
    }
  }

  /// Up to which own edit surely everybody knows the same.
  package func commonSeq() throws(StoreError) -> UInt64 {
    max(try delivered(), (all.last?.first ?? 1) - 1)
  }

  /// Up to which own seq another node is known to hold what was written here.
  package func delivered() throws(StoreError) -> UInt64 {
    try reporting { () throws(SQLiteError) in UInt64(clamping: try meta.integer(.delivered) ?? 0) }
  }

  /// Programs read it as `synced`; after a power cut it may be a little behind.
  package func setDelivered(_ seq: UInt64) throws(StoreError) {
    try file.transaction(isDurable: false) { try meta.set(.delivered, .integer(Int64(seq))) }
  }

  /// A node starts that may send what it writes.
  package func begin(run: UInt64) throws(StoreError) {
    try file.transaction { try insert(run: run) }
  }

  /// The same in the open transaction.
  func insert(run: UInt64) throws(SQLiteError) {
    try connection.run(
      "INSERT INTO _flotilla_run(first, origin, run) VALUES (?, ?, ?)",
      [
        .integer(Int64(origins.frontier[own]) + 1), .integer(try origins.number(of: own)),
        .integer(Int64(bitPattern: run)),
      ])
    try connection.run(
      "DELETE FROM _flotilla_run WHERE id <= last_insert_rowid() - ?",
      [.integer(Int64(RunLog.limit))])
    try meta.set(.isUnsure, .integer(1))
    try reload()
    try signLife()
  }

  /// Why the present origin was taken; nil in the first life.
  package func story() throws(StoreError) -> LifeStory? {
    try reporting { () throws(SQLiteError) in
      try meta.text(.lifeStory).flatMap(LifeStory.init(text:))
    }
  }

  /// A member has met this node, and no other copy of it: if the file came from another machine, or
  /// a copy was seen, this is the node by now. Or it has met a copy again.
  package func noteMet(_ isMet: Bool = true) throws(StoreError) {
    guard var story = try story(), story.tellsOfCopies, story.isMet != isMet else { return }
    story.isMet = isMet
    let text = story.text
    try file.transaction { try meta.set(.lifeStory, .string(text)) }
  }
}

/// With a transaction.
extension Lives {
  func begin() { before = origins.frontier }

  func locked() throws { try requireSameFile() }

  func committed() {
    if origins.frontier[own] != before[own] { ledger?.note(mark) }
  }

  func reload() throws(SQLiteError) {
    guard try Layout.hasTable("_flotilla_run", on: connection) else { return runs = RunLog() }
    let rows = try connection.rows("SELECT first, origin, run FROM _flotilla_run ORDER BY id")
    runs = RunLog(
      rows.compactMap { row in
        guard let origin = row[1].integer.flatMap({ origins.origin(of: $0) }) else { return nil }
        return RunLog.Entry(
          first: UInt64(clamping: row[0].integer ?? 0), origin: origin,
          run: UInt64(bitPattern: row[2].integer ?? 0))
      })
    let lives = try connection.rows(
      "SELECT origin FROM _flotilla_author WHERE node = ?", [.string(node.description)])
    var earlier = Set(
      lives.compactMap { $0[0].integer.map { Origin(rawValue: UInt64(bitPattern: $0)) } })
    earlier.remove(own)
    viewpoint.value.earlier = earlier
  }

  /// Throws if another program has put the file back to an earlier state, as `.restore` of the
  /// sqlite3 shell does, or has made it another one: what is in memory would be wrong.
  ///
  /// Only a node writes these numbers, one at a time, and none of them ever goes back.
  func requireSameFile() throws(StoreError) {
    guard try !reporting(isSameFile) else { return }
    throw StoreError(
      .putBack, "\(file.path) was put back to an earlier state while it was open",
      remedy: "Stop the node before you restore a file; start it again.")
  }

  private func isSameFile() throws(SQLiteError) -> Bool {
    let version = try connection.dataVersion()
    guard version != seenVersion else { return true }
    let sum = try connection.scalar("SELECT sum(seq % \(Self.modulus)) FROM _flotilla_origin")
    let run = try connection.scalar("SELECT run FROM _flotilla_run ORDER BY id DESC LIMIT 1")
    let isSame =
      UInt64(clamping: sum.integer ?? 0)
      == origins.frontier.list.reduce(0) { $0 + $1.seq % Self.modulus }
      && run.integer == runs.entries.last.map { Int64(bitPattern: $0.run) }
    if isSame { seenVersion = version }
    return isSame
  }

  private static let modulus: UInt64 = 1_000_000_007
}
