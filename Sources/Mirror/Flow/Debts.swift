import FoundationEssentials
import SQLite

/// Changes of the site that cannot go out at present, though the feed is read past them. Another
/// transaction of the server has the row, or a program has changed it and that comes in first. Or
/// the table takes nothing. They are tried again, and all the others flow on.
///
/// They stand in the file, so that the next process knows of them.
final class Debts {
  /// A row of the site that the server is to have.
  struct Owed {
    let link: TableLink
    let key: [Value]
    var reason: String
    /// In ms since 1970.
    let since: Int64
    var tried: ContinuousClock.Instant

    var name: RowKey { RowKey(link.number, key) }
    var age: Int64 { Debts.now - since }
  }

  /// So many rows are owed. With more the feed waits.
  static let most = 50_000
  private static let shortestPause = Duration.milliseconds(100)
  private static let longestPause = Duration.seconds(2)

  private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

  private let site: SiteFile
  private let holder: String
  private var rows: [RowKey: Owed] = [:]
  /// What the file calls owed, by transactions that were undone, too.
  private var noted: Set<RowKey> = []
  private var nextPayment = ContinuousClock.now
  private var pause = Debts.shortestPause

  init(_ site: SiteFile, holder: String) { (self.site, self.holder) = (site, holder) }

  /// Takes over what the file says. Of a table that is not mirrored at present nothing is owed: it
  /// is compared when it comes back.
  func recall(_ links: [Int: TableLink]) throws(SQLiteError) {
    for (number, key) in try site.owed(by: holder) {
      noted.insert(RowKey(number, key))
      guard let link = links[number], key.count == link.key.count else { continue }
      owe(MirroredRow(link, key: key, row: nil), "it has not gone out yet")
    }
    try settle(noted.filter { links[$0.number] == nil })
  }

  var count: Int { rows.count }
  var names: Set<RowKey> { Set(rows.keys) }
  /// Whether nothing is owed, nor noted in vain.
  var areNone: Bool { rows.isEmpty && noted.isEmpty }

  subscript(_ name: RowKey) -> Owed? { rows[name] }

  func contains(where isMeant: (Owed) -> Bool) -> Bool { rows.values.contains(where: isMeant) }

  /// How many rows are owed, and since when the first is.
  var sum: (count: Int, since: Int64?) { (rows.count, rows.values.map(\.since).min()) }

  func longest(_ count: Int) -> [Owed] {
    rows.isEmpty ? [] : Array(rows.values.sorted { $0.since < $1.since }.prefix(count))
  }

  func owe(_ row: MirroredRow, _ reason: String) {
    rows[row.name] = Owed(
      link: row.link, key: row.key, reason: reason, since: rows[row.name]?.since ?? Self.now,
      tried: .now)
  }

  /// Owes these rows from now on, in the file as well.
  func owe(_ rows: [MirroredRow], _ reason: String) throws(SQLiteError) {
    guard !rows.isEmpty else { return }
    try site.connection.transaction { () throws(SQLiteError) in try note(rows) }
    areNoted(rows)
    for row in rows { owe(row, reason) }
  }

  /// Writes down, in the open transaction, what the file does not call owed yet.
  func note(_ rows: [MirroredRow]) throws(SQLiteError) {
    for row in rows where !noted.contains(row.name) { try site.note(owed: row, by: holder) }
  }

  /// That transaction was committed.
  func areNoted(_ rows: [MirroredRow]) { noted.formUnion(rows.map(\.name)) }

  /// The server has these rows as the site does, or they are held.
  func settle(_ names: some Sequence<RowKey>) throws(SQLiteError) {
    let paid = names.filter { rows[$0] != nil || noted.contains($0) }
    guard !paid.isEmpty else { return }
    try site.forget(owed: paid, by: holder)
    for name in paid { rows[name] = nil }
    noted.subtract(paid)
  }

  /// What is compared as a whole is owed no more: a debt may be older than what stands by now, and
  /// the comparison sees to it that nothing is lost.
  func forget(of numbers: Set<Int>) throws(SQLiteError) {
    try settle(rows.keys.filter { numbers.contains($0.number) })
  }

  /// Those that are to be tried now, the ones first that have waited longest.
  func due(_ most: Int, but isResting: (Int) -> Bool) -> [RowPlace] {
    guard !rows.isEmpty, nextPayment <= .now else { return [] }
    return rows.values.filter { !isResting($0.link.number) }.sorted { $0.tried < $1.tried }
      .prefix(most).map { RowPlace(link: $0.link, key: $0.key, stamp: nil) }
  }

  /// When something was paid the rest is tried soon.
  func paid(_ count: Int) {
    pause = count > 0 ? Self.shortestPause : min(Self.longestPause, pause * 2)
    nextPayment = .now + pause
  }
}
