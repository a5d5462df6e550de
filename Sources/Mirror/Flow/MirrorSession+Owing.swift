import FoundationEssentials
import SQLite

/// Changes of the site that cannot go out at present, though the feed is read past them: another
/// transaction of the server has the row, or a program has changed it and that comes in first, or
/// the table takes nothing. They are tried again, and all the others flow on.
extension MirrorSession {
  /// A row of the site that the server is to have.
  struct Owed {
    let link: TableLink
    let key: [Value]
    var reason: String
    /// In ms since 1970.
    let since: Int64
    var tried: ContinuousClock.Instant

    var name: RowKey { RowKey(link.number, key) }
    var age: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) - since }
  }

  /// A row that was left out of a transaction.
  struct Aside {
    let row: MirroredRow
    let reason: String
    /// Whether a program of the server has changed it, and the journal says so.
    var isChanged = false
  }

  /// A table of the server that takes nothing for a while.
  struct Rest {
    let error: ServerError
    let until: ContinuousClock.Instant
    let pause: Duration
  }

  /// So many rows are owed. With more the feed waits.
  static let mostOwed = 50_000
  private static let longestRest = Duration.seconds(10)
  private static let shortestPause = Duration.milliseconds(100)
  private static let longestPause = Duration.seconds(2)

  func isResting(_ number: Int) -> Bool {
    resting[number].map { $0.until > .now } ?? false
  }

  /// Lets a table rest, twice as long as the last time.
  func rest(_ number: Int, _ error: ServerError) {
    let pause = min(Self.longestRest, (resting[number]?.pause ?? .milliseconds(500)) * 2)
    resting[number] = Rest(error: error, until: .now + pause, pause: pause)
    again += 1
  }

  func owe(_ row: MirroredRow, _ reason: String) {
    let since = owed[row.name]?.since ?? Int64(Date().timeIntervalSince1970 * 1_000)
    owed[row.name] = Owed(
      link: row.link, key: row.key, reason: reason, since: since, tried: .now)
  }

  /// Writes down, in the open transaction, what the file does not call owed yet.
  func note(owed rows: [MirroredRow]) throws(SQLiteError) {
    for row in rows where !noted.contains(row.name) { try site.note(owed: row, by: holder) }
  }

  /// Owes these rows from now on, in the file as well.
  func owe(_ rows: [MirroredRow], _ reason: String) throws(SQLiteError) {
    guard !rows.isEmpty else { return }
    try site.connection.transaction { () throws(SQLiteError) in try note(owed: rows) }
    noted.formUnion(rows.map(\.name))
    for row in rows { owe(row, reason) }
  }

  /// How many rows are owed, and since when the first is.
  var debt: (count: Int, since: Int64?) { (owed.count, owed.values.map(\.since).min()) }

  func longestOwed(_ count: Int) -> [Owed] {
    Array(owed.values.sorted { $0.since < $1.since }.prefix(count))
  }

  /// The server has these rows as the site does, or they are held.
  func settle(_ names: [RowKey]) throws(SQLiteError) {
    let paid = names.filter { owed[$0] != nil || noted.contains($0) }
    guard !paid.isEmpty else { return }
    try site.forget(owed: paid, by: holder)
    for name in paid { owed[name] = nil }
    noted.subtract(paid)
  }

  /// What is compared as a whole is owed no more: a debt may be older than what stands by now, and
  /// the comparison sees to it that nothing is lost.
  func forgetDebts(of numbers: Set<Int>) throws(SQLiteError) {
    try settle(owed.keys.filter { numbers.contains($0.number) })
  }

  /// Of a table that takes rows again, and of which nothing is owed, there is no more to be said.
  func endRests() {
    let inDebt = Set(owed.values.map(\.link.number))
    resting = resting.filter { $0.value.until > .now || inDebt.contains($0.key) }
  }

  /// Those that are to be tried now, the ones first that have waited longest.
  var due: [RowPlace] {
    guard !owed.isEmpty, nextPayment <= .now else { return [] }
    return owed.values.filter { !isResting($0.link.number) }.sorted { $0.tried < $1.tried }
      .prefix(Self.mostTaken).map { RowPlace(link: $0.link, key: $0.key, stamp: nil) }
  }

  /// When something was paid the rest is tried soon.
  func paid(_ count: Int) {
    payPause = count > 0 ? Self.shortestPause : min(Self.longestPause, payPause * 2)
    nextPayment = .now + payPause
  }
}
