import Replication
import SQLite
import Store

/// What went wrong, in words for a person.
struct CrashFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// One process's life: the nodes of both replicas, and an application at each file.
final class Life {
  private let folder: String
  private let pace: Pace
  private var stores: [Side: Store] = [:]
  private var applications: [Side: Connection] = [:]

  init(_ folder: String, pace: Pace = .small) {
    self.folder = folder
    self.pace = pace
  }

  func path(_ side: Side) -> String { "\(folder)/\(side)/test.db" }

  func perform(_ step: Step) throws {
    switch step {
    case .write(let side, let sql): try write(side, sql)
    case .alone(let side, let sql): try application(side).execute(sql)
    case .initialise(let side, let number): try initialise(side, number)
    case .join(let number): try join(number)
    case .leave(let side):
      try store(side).leave()
      stores[side] = nil
    case .track(let side, let tables):
      try store(side).track(tables, rule: nil, at: Clock.now)
      try foldAll(side)
    case .untrack(let side, let tables): try store(side).untrack(tables, at: Clock.now)
    case .fold(let side): try foldAll(side)
    case .exchange: try exchange()
    case .restart(let side):
      stores[side] = nil
      _ = try store(side)
    case .close(let side):
      stores[side] = nil
      applications[side] = nil
    }
  }

  func closeAll() { (stores, applications) = ([:], [:]) }

  func store(_ side: Side) throws -> Store {
    if let store = stores[side] { return store }
    let store = try Store(path: path(side), pace: pace)
    stores[side] = store
    return store
  }

  func application(_ side: Side) throws -> Connection {
    if let connection = applications[side] { return connection }
    let connection = try Connection(path: path(side), mode: .create)
    connection.setBusyTimeout(milliseconds: 5_000)
    try connection.execute("PRAGMA foreign_keys = ON")
    applications[side] = connection
    return connection
  }

  func isReplica(_ side: Side) throws -> Bool {
    try ReplicaFile.isInitialised(application(side))
  }

  func foldAll(_ side: Side) throws {
    let store = try store(side)
    while try store.fold(at: Clock.now).hasMore {}
  }

  func exchange() throws {
    try foldAll(.a)
    try foldAll(.b)
    try Cable(store(.a), store(.b)).exchange()
  }

  func write(_ side: Side, _ sql: String) throws {
    let application = try application(side)
    try application.transaction { () throws(SQLiteError) in try application.execute(sql) }
  }

  private func initialise(
    _ side: Side, _ number: UInt64, creating objects: [SchemaObject] = [],
    copying: FirstCopy? = nil
  ) throws {
    _ = try application(side)
    try ReplicaFile.initialise(
      path: path(side), as: Self.identities(number), creating: objects, copying: copying)
    _ = try store(side)
  }

  private func join(_ number: UInt64) throws {
    if try !isReplica(.b) {
      // Whoever joins with a file says that its tables are the site's.
      let copy = FirstCopy(
        inviter: try store(.a).node, name: "a", address: "127.0.0.1:1", rows: 0)
      try initialise(.b, number, creating: store(.a).schemaCopy.objects(), copying: copy)
    }
    try exchange()
    try store(.b).endFirstCopy()
  }

  private static func identities(_ number: UInt64) -> ReplicaFile.Identities {
    ReplicaFile.Identities(
      site: Identity(high: 1, low: 1), siteName: "Test", node: Identity(high: number, low: 7),
      nodeName: "node-\(number)", origin: Origin(rawValue: number << 56 | number))
  }
}

extension Pace {
  /// Everything in small slices, so that few rows make many commits.
  static var small: Pace {
    var pace = Pace()
    pace.journalEntries = 12
    pace.comparedRows = 12
    pace.batchRows = 40
    pace.batchBytes = 4 << 10
    pace.walBytes = 96 << 10
    pace.recentRows = 40
    return pace
  }
}
