import Replication
import SQLite
import Store

/// An anchor that was away: what others wrote meanwhile comes in one exchange, and is judged.
enum Verdicts {
  static let measurement = Measurement(
    name: "verdicts", summary: "an anchor judges what five nodes wrote while it was away",
    body: measure)

  private static let authors = 5
  /// Of all edits this part is of rows that another node has edited, too.
  private static let concurrent = 0.05

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let rows = extent.isQuick ? 5_000 : 50_000
    let place = try Workplace()
    let syncs = try Disk.syncTimes(in: place.folder, count: 50)
    report.figures.append(Figure("4 KiB and fdatasync on this disk", "ms", syncs))
    for rule in [ClientWins.name, ServerWins.name] {
      let site = try VerdictSite(rule, rows: rows, in: place)
      let edits = try site.edit(authors: authors, concurrent: concurrent)
      let (arrival, judging) = try site.judge()
      let (arrived, judged) = (arrival.reduce(0, +) / 1_000, judging.reduce(0, +) / 1_000)
      report.figures += [
        Figure("\(rule): edits taken in", "rows/s", Double(edits) / arrived),
        Figure("\(rule): verdicts", "rows/s", Double(edits) / judged)
          .target(.minimum, atLeast: 20_000),
        Figure("\(rule): one step of taking in", "ms", arrival).target(.maximum, atMost: 50),
        Figure("\(rule): one step of judging", "ms", judging).target(.maximum, atMost: 50),
        Figure("\(rule): one step of an author who takes that in", "ms", try site.tell())
          .target(.maximum, atMost: 50),
      ]
    }
  }
}

/// Stores of one site in one folder, without network.
private final class VerdictSite {
  private let anchor: Store
  private var authors: [Store] = []
  private let paths: [String]
  private let rows: Int

  init(_ rule: String, rows: Int, in place: Workplace) throws {
    self.rows = rows
    paths = (0...5).map { "\(place.folder)/\(rule)-\($0).db" }
    for (number, path) in paths.enumerated() {
      try Connection(path: path, mode: .create).execute(
        "CREATE TABLE item(id INTEGER PRIMARY KEY, text TEXT, n INTEGER)")
      try Store.initialise(
        path: path,
        as: Store.Identities(
          site: Identity(high: 1, low: 1), siteName: "Bench",
          node: Identity(high: UInt64(number + 1), low: 0), nodeName: "n\(number)",
          origin: Origin(rawValue: UInt64(number + 1) << 32)))
    }
    anchor = try Store(path: paths[0])
    try anchor.track(["item"], rule: rule, at: .bench)
    let appointment = Appointment(
      term: Term(number: 1, incarnation: 1), node: anchor.node, isForced: false)
    try Self.hear(anchor, appointment)
    try Self.write(
      paths[0],
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO item SELECT i, 'what stands in row ' || i, 0 FROM n
      """)
    try Self.fold(anchor)
    for path in paths.dropFirst() {
      let author = try Store(path: path)
      try Self.hear(author, appointment)
      _ = try Self.exchange(from: anchor, to: author)
      authors.append(author)
    }
  }

  private static func hear(_ store: Store, _ appointment: Appointment) throws {
    guard let governance = Appointments.governance(of: [appointment], for: store.node) else {
      return
    }
    _ = try store.govern(governance, at: .bench)
    try fold(store)
  }

  private static func write(_ path: String, _ sql: String) throws {
    let connection = try Connection(path: path)
    connection.setBusyTimeout(milliseconds: 5_000)
    try connection.execute(sql)
  }

  private static func fold(_ store: Store) throws { while try store.fold(at: .bench).hasMore {} }

  /// Everybody edits a share, and a part of the next one's; the first author then has all of it.
  func edit(authors count: Int, concurrent: Double) throws -> Int {
    let share = rows / count
    let both = Int(Double(share) * concurrent)
    for (index, author) in authors.enumerated() {
      let (first, next) = (index * share, (index + 1) % count * share)
      try Self.write(
        paths[index + 1],
        """
        UPDATE item SET text = 'what node \(index) says of ' || id, n = n + 1
        WHERE id > \(first) AND id <= \(first + share) OR id > \(next) AND id <= \(next + both)
        """)
      try Self.fold(author)
    }
    for author in authors.dropFirst() { _ = try Self.exchange(from: author, to: authors[0]) }
    return count * (share + both)
  }

  /// Milliseconds of each step: of what arrives, then of what is judged.
  func judge() throws -> (arrival: [Double], judging: [Double]) {
    let arrival = try Self.exchange(from: authors[0], to: anchor)
    return (arrival, try Self.steps(anchor))
  }

  /// All that is left to do, a transaction at a time; milliseconds of each.
  private static func steps(_ store: Store) throws -> [Double] {
    var times: [Double] = []
    var hasMore = true
    while hasMore {
      let start = Clock.now
      hasMore = try store.fold(at: .bench).hasMore
      times.append((Clock.now - start).milliseconds)
    }
    return times
  }

  /// The same for the first author, who takes in the verdicts.
  func tell() throws -> [Double] {
    var times = try Self.exchange(from: anchor, to: authors[0])
    times += try Self.steps(authors[0])
    guard try authors[0].unjudgedCount() == 0 else { throw BenchError("something was not judged") }
    guard authors[0].position.digest == anchor.position.digest else {
      throw BenchError("the replicas differ")
    }
    return times
  }

  /// A whole exchange, merged in slices as they come; milliseconds of each.
  private static func exchange(from sender: Store, to receiver: Store) throws -> [Double] {
    let opened = try sender.openExport(.above(receiver.position.frontier), at: .bench)
    var merge = Merge(
      sender: sender.node, kind: .full(covers: opened.covers), batches: [], rowsBefore: 0,
      checkBefore: 0, end: nil, movesFrontier: false)
    var times: [Double] = []
    func step() throws {
      let start = Clock.now
      let outcome = try receiver.merge(merge, at: .bench)
      times.append((Clock.now - start).milliseconds)
      merge.rowsBefore += outcome.result.rows
      merge.checkBefore &+= outcome.result.check
    }
    reading: while true {
      switch try sender.readExport(opened.id, at: .bench) {
      case .batch(let batch):
        merge.batches = [batch.bytes]
        try step()
      case .part: throw BenchError("a row is too long")
      case .paused, .done: break reading
      }
    }
    merge.batches = []
    merge.end = End(rows: merge.rowsBefore, check: merge.checkBefore)
    (merge.movesFrontier, merge.judged) = (true, opened.judged)
    try step()
    try sender.closeExport(opened.id)
    return times
  }
}
