import Replication
import SQLite
import Store

/// Stores of one site in one folder, without network; the first is the anchor.
final class VerdictSite {
  private var stores: [Store] = []
  private let place: Workplace
  private let paths: [String]
  private let rows: Int
  private let isConstrained: Bool
  private var appointments: [Appointment] = []

  /// Five authors and the anchor; all have the same rows, and with constraints those refer to
  /// others, and no two have the same text.
  init(_ rule: String, rows: Int, isConstrained: Bool = false) throws {
    (self.rows, self.isConstrained) = (rows, isConstrained)
    let place = try Workplace()
    self.place = place
    paths = (0...5).map { "\(place.folder)/\($0).db" }
    for (number, path) in paths.enumerated() {
      try Connection(path: path, mode: .create).execute(
        isConstrained
          ? """
          CREATE TABLE owner(id INTEGER PRIMARY KEY, name TEXT);
          CREATE TABLE item(id INTEGER PRIMARY KEY, text TEXT UNIQUE, n INTEGER REFERENCES owner);
          CREATE INDEX item_owner ON item(n)
          """ : "CREATE TABLE item(id INTEGER PRIMARY KEY, text TEXT, n INTEGER)")
      try ReplicaFile.initialise(
        path: path,
        as: ReplicaFile.Identities(
          site: Identity(high: 1, low: 1), siteName: "Bench",
          node: Identity(high: UInt64(number + 1), low: 0), nodeName: "n\(number)",
          origin: Origin(rawValue: UInt64(number + 1) << 32)))
      stores.append(try Store(path: path))
    }
    try stores[0].track(isConstrained ? ["owner", "item"] : ["item"], rule: rule, at: .bench)
    try appoint(0, isForced: false, heardBy: [0])
    if isConstrained {
      try write(
        0,
        """
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
        INSERT INTO owner SELECT i, 'owner ' || i FROM n
        """)
    }
    try write(
      0,
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO item SELECT i, 'what stands in row ' || i, 0 FROM n
      """)
    for number in 1..<paths.count {
      try hear(number)
      _ = try exchange(from: 0, to: number)
    }
  }

  /// Signs an appointment, and tells some of it.
  func appoint(_ number: Int?, isForced: Bool, heardBy hearers: [Int]) throws {
    let term = Term(number: UInt64(appointments.count + 1), incarnation: 1)
    appointments.append(
      Appointment(term: term, node: number.map { stores[$0].node }, isForced: isForced))
    for hearer in hearers { try hear(hearer) }
  }

  /// Hears of all appointments, and does what follows; milliseconds of each step.
  @discardableResult
  func hear(_ number: Int) throws -> [Double] {
    let store = stores[number]
    guard let governance = Appointments.governance(of: appointments, for: store.node) else {
      return []
    }
    var times: [Double] = []
    repeat {
      times.append(try time(number) { _ = try $0.govern(governance, at: .bench) })
      times += try steps(number)
    } while store.currentOffice.term < governance.term
    return times
  }

  /// Does something with a store; gives the milliseconds that it took.
  func time(_ number: Int, _ body: (Store) throws -> Void) throws -> Double {
    let start = Clock.now
    try body(stores[number])
    return (Clock.now - start).milliseconds
  }

  /// What a program writes, folded.
  func write(_ number: Int, _ sql: String) throws {
    try run(number, sql)
    _ = try steps(number)
  }

  /// A program drops a table.
  func drop(_ number: Int, _ table: String) throws { try run(number, "DROP TABLE \(table)") }

  private func run(_ number: Int, _ sql: String) throws {
    let connection = try Connection(path: paths[number])
    connection.setBusyTimeout(milliseconds: 5_000)
    try connection.execute(sql)
  }

  /// Everybody edits a share, and a part of the next one's; the first author then has all of it.
  /// With constraints some of the next one's claim values that others claim, too.
  func edit(authors count: Int, concurrent: Double) throws -> Int {
    let share = rows / count
    let both = Int(Double(share) * concurrent)
    for index in 0..<count {
      let (first, next) = (index * share, (index + 1) % count * share)
      let mine = "'what node \(index) says of ' || id"
      let text =
        isConstrained
        ? "CASE WHEN id > \(next) AND id <= \(next + both) THEN 'claim ' || (id - \(next)) "
          + "ELSE \(mine) END" : mine
      try write(
        index + 1,
        """
        UPDATE item SET text = \(text), n = \(isConstrained ? "id % 100" : "n + 1")
        WHERE id > \(first) AND id <= \(first + share) OR id > \(next) AND id <= \(next + both)
        """)
    }
    for author in 2...count { _ = try exchange(from: author, to: 1) }
    return count * (share + both)
  }

  /// All that is left to do, a transaction at a time; milliseconds of each.
  func steps(_ number: Int) throws -> [Double] {
    var times: [Double] = []
    var hasMore = true
    while hasMore {
      let start = Clock.now
      hasMore = try stores[number].fold(at: .bench).hasMore
      times.append((Clock.now - start).milliseconds)
    }
    return times
  }

  /// Throws unless all of a node's edits have their verdicts, and it holds what the anchor does.
  func requireJudged(_ number: Int) throws {
    guard try stores[number].verdicts.unjudgedCount() == 0 else {
      throw BenchError("something was not judged")
    }
    guard stores[number].position.digest == stores[0].position.digest else {
      throw BenchError("the replicas differ")
    }
  }

  /// A whole exchange, merged in slices as they come; milliseconds of each.
  func exchange(from: Int, to: Int) throws -> [Double] {
    let (sender, receiver) = (stores[from], stores[to])
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
