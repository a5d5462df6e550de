import Flotilla
import FoundationEssentials
import Glibc
import SQLite

/// One connection of the mirror to the server, from the moment it has its place until it is lost.
///
/// It belongs to the engine, on whose thread all of it runs.
final class MirrorSession {
  let server: ServerConnection
  let ledger: ServerLedger
  let capture: Capture
  let site: SiteFile
  let losers: Replica.Losers
  let holder: String
  let life: Int64
  /// By the name of the replica's table, in small letters.
  let links: [String: TableLink]
  let byNumber: [Int: TableLink]

  /// Up to where the change feed has gone out; what the server has of it may be older.
  var cursor: String?
  var number: Int64
  var held = HeldRows()
  /// Of which of its states the engine has told.
  var notedHeld = -1
  /// The content that both sides had last of rows that came from the server: until the feed has
  /// told of them, a row that is still the same is no change of the site.
  var known: [RowKey: Known] = [:]
  /// So many entries of the journals, and rows of a comparison, are read in one go: fewer where
  /// rows are long.
  var reach = 64
  /// As the triggers on the server have them.
  var cascades: [Cascade] = []
  /// Entries of journals whose rows the site refuses before it has what comes with them: they are
  /// tried again when the journals hold nothing else.
  var waiting: [Int: Set<Int64>] = [:]
  /// Rows at which a trigger of the site undoes the whole transaction.
  var barred: Set<RowKey> = []
  /// Tables in which the server's rows stand in this comparison, as a person has said.
  var serverStands: Set<Int> = []
  /// Keys of rows that only the server has, and that the site refused in a comparison.
  var late: [(link: TableLink, key: [Value])] = []
  var outcome = OpenTransaction()
  var lastSent = LastSent()
  var haste = Haste()
  var planned = PlannedTables()
  let debts: Debts
  let keys: ServerKeys
  let meeting = FirstMeeting()
  /// By their numbers.
  var resting: [Int: Rest] = [:]
  /// Those that took nothing when they were to be compared.
  var uncompared: Set<Int> = []
  /// Whether what the site has is kept in the conflict log wherever the server's takes its place.
  var keepsOwn = false
  /// Rows that go to and fro.
  var echoes: [RowKey: Echo] = [:]
  /// The content of rows, by its fingerprint, that is in the conflict log, until they go out.
  var inLog: [RowKey: String] = [:]
  /// Tables that are being compared because the feed cannot tell what the site has changed in them:
  /// what it does not name may have changed all the same.
  var unsure: Set<Int> = []
  /// Counts readings of the feed, and which was the last that had told of everything before it.
  /// What an earlier session took is of reading 0: it, too, is to be told of first.
  var turn = 1
  var passed = -1
  var contact = MirrorState.Contact(number: 0, at: 0)
  /// The number of the last transaction of this session; nil before the first.
  var lastNumber: Int64? { contact.number > 0 ? contact.number : nil }
  /// Reads tables as a whole.
  let reading: ServerReading
  /// Columns of tables that are to be compared because they have got those, by number.
  var new: [Int: NewColumns] = [:]
  /// Tables that both sides were never equal in: what the feed tells of them is not sent yet.
  var unmet: Set<Int> = []
  /// When something flowed last while a table was compared.
  var lastFlow = ContinuousClock.now
  /// By how much this machine's clock is ahead of the server's, in ms.
  var clockAhead: Int64 = 0
  var watch = SchemaWatch()
  /// Whether the journals held more than was read last.
  var hasMoreNews = false
  var lastWord = ContinuousClock.now
  var lastRenewal = ContinuousClock.now
  var sent = 0
  var taken = 0
  var again = 0

  struct Known {
    var print: String
    /// Of the reading after which it was taken; 0 if another session did that.
    var turn: Int
    /// Whether the server is sure to have it just so.
    var isThere: Bool
    /// Whether it is in the file, too.
    var isNoted: Bool
  }

  /// With more than so many nothing is taken in before the feed has told of them.
  static let mostKnown = 100_000

  init(
    _ server: ServerConnection, _ ledger: ServerLedger, _ capture: Capture, _ site: SiteFile,
    _ losers: Replica.Losers, _ reading: ServerReading, life: Int64, state: ServerLedger.State
  ) {
    self.reading = reading
    (self.server, self.ledger, self.capture, self.site) = (server, ledger, capture, site)
    (self.losers, self.holder, self.life) = (losers, ledger.holder, life)
    debts = Debts(site, holder: ledger.holder)
    keys = ServerKeys(site)
    links = Dictionary(
      capture.links.map { ($0.site.name.lowercased(), $0) }, uniquingKeysWith: { first, _ in first }
    )
    byNumber = Dictionary(
      capture.links.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    (cursor, number) = (state.cursor, state.number)
  }

  /// What was taken in, and stands in the file as that.
  func know(_ row: MirroredRow, isThere: Bool = true) {
    known[row.name] = Known(print: row.print, turn: turn, isThere: isThere, isNoted: true)
    lastSent.forget(row.name)
  }

  /// Whether the server has the row just so, and need not be told.
  func isKnown(_ row: MirroredRow) -> Bool {
    guard let one = known[row.name], one.isThere else { return false }
    return one.print == row.print
  }

  /// Whether the site has not changed a row since it was taken in, or went out. What an earlier
  /// session took may have gone out again meanwhile: so the server is told once more, but nobody
  /// loses.
  func isAgreed(_ row: MirroredRow) -> Bool {
    known[row.name]?.print == row.print || lastSent.has(row)
  }

  /// The feed has told of what was taken before a reading, and the server knows how far that is. A
  /// row that is owed stays known: it may be so for no other reason than that the feed told of it.
  func letGo() throws(SQLiteError) {
    lastSent.letGo()
    let old = known.filter { $0.value.turn <= passed && debts[$0.key] == nil }
    guard !old.isEmpty else { return }
    try site.forget(known: old.filter(\.value.isNoted).map(\.key), by: holder)
    for row in old.keys { known[row] = nil }
  }

  /// Takes out of the file what will not be so any more when these rows have gone out: who comes
  /// later must not take the row's former content for what both sides had last.
  func unnote(_ rows: [MirroredRow]) throws(SQLiteError) {
    guard !known.isEmpty else { return }
    let names = rows.filter { row in
      known[row.name].map { $0.isNoted && $0.print != row.print } ?? false
    }.map(\.name)
    try site.forget(known: names, by: holder)
    for name in names { known[name]?.isNoted = false }
  }

  /// By how much this machine is ahead, at a moment of the site.
  ///
  /// The site was asked first: half of what both answers took has passed between them.
  func readClock(
    _ siteTime: Int64, since began: ContinuousClock.Instant
  ) throws(ServerError) {
    let row = try server.rows(
      of: 1, "SELECT CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(6)) * 1000 AS SIGNED)"
    ).first
    let now = siteTime &+ Int64((ContinuousClock.now - began) / .milliseconds(2))
    clockAhead = now &- (row?[0].integer ?? now)
  }

  /// So many bytes of rows are held in memory, and one row more.
  static let mostBytes = 8 << 20

  /// Reads less the next time if what was read is long, else more.
  func adapt(to bytes: Int, of count: Int) {
    reach = bytes > Self.mostBytes ? max(1, min(count, reach) / 2) : min(Self.mostTaken, reach * 2)
  }

  /// Runs a transaction, and again as a whole if the server has ended it for others' sake.
  ///
  /// On a cluster that is normal even at COMMIT: "a transaction may still be aborted at COMMIT
  /// stage" (galeracluster.com, "Certification-Based Replication").
  func transaction<Result>(
    _ body: () throws(ServerError) -> Result
  ) throws(ServerError) -> Result {
    for attempt in 0..<8 {
      do throws(ServerError) {
        return try server.transaction("START TRANSACTION", body)
      } catch {
        guard error.kind == .again else { throw error }
        again += 1
        (haste.tables, haste.standing) = ([], [])
        usleep(UInt32(20_000 << attempt))
      }
    }
    return try server.transaction("START TRANSACTION", body)
  }

  /// Names of the columns that are selected, each as a text where the server's own form counts.
  static func selection(_ link: TableLink, of table: String) -> String {
    link.columns.map { column in
      let name = "\(table).\(serverName(column.serverName))"
      switch column.form.kind {
      case .date, .time, .moment: return "CAST(\(name) AS CHAR)"
      default: return name
      }
    }.joined(separator: ", ")
  }

  /// A row of the server as SQLite would hold it.
  static func decode(
    _ values: [Value], _ link: TableLink
  ) throws(ColumnForm.Objection) -> [Value] {
    var row: [Value] = []
    row.reserveCapacity(values.count)
    for (value, column) in zip(values, link.columns) {
      do throws(ColumnForm.Objection) {
        row.append(try column.form.decode(value))
      } catch {
        throw ColumnForm.Objection("\(column.name): \(error.reason)")
      }
    }
    return row
  }

  static func decode(
    key values: [Value], _ link: TableLink
  ) throws(ColumnForm.Objection) -> [Value] {
    var key: [Value] = []
    for (value, place) in zip(values, link.key) {
      key.append(try link.columns[place].form.decode(value))
    }
    return key
  }

  func hold(_ row: MirroredRow, _ direction: HeldRows.Direction, _ reason: String)
    throws(ServerError)
  {
    let now = Int64(Date().timeIntervalSince1970 * 1_000)
    let entry = HeldRows.Entry(
      shown: row.shownKey, direction: direction, reason: reason, at: now)
    let name = HeldRows.Name(row)
    // The rest is found by the next comparison.
    guard held.entries[name] != nil || held.entries.count < HeldRows.most else { return }
    try ledger.hold(name, entry)
    held.entries[name] = entry
  }

  func release(_ row: MirroredRow) throws(ServerError) {
    guard !held.entries.isEmpty else { return }
    try release(HeldRows.Name(row))
  }

  func release(_ name: HeldRows.Name) throws(ServerError) {
    guard held.entries[name] != nil else { return }
    try ledger.release(name)
    held.entries[name] = nil
  }

  /// Those of the rows that are held.
  func held(among rows: [MirroredRow]) -> [HeldRows.Name] {
    held.entries.isEmpty ? [] : rows.map(HeldRows.Name.init).filter { held.entries[$0] != nil }
  }
}
