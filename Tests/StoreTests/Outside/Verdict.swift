import Replication
import SQLite

@testable import Store

/// Looks at replicas that should be equal, with plain SQL and from outside; gives what is wrong.
struct Verdict {
  private(set) var faults: [String] = []
  let replicas: [TestReplica]
  let tables: [TestTable]

  init(_ replicas: [TestReplica], _ tables: [TestTable], shelves: Bool = false) throws {
    self.replicas = replicas
    self.tables = tables
    if !shelves { for table in tables { try compareRows(table) } }
    try compareFigures()
    for replica in replicas { try examine(replica, shelves: shelves) }
  }

  private mutating func compareRows(_ table: TestTable) throws {
    let expected = try replicas[0].content(table.name)
    for (number, replica) in replicas.enumerated().dropFirst() {
      let content = try replica.content(table.name)
      guard content != expected else { continue }
      let missing = expected.filter { !content.contains($0) }
      let extra = content.filter { !expected.contains($0) }
      faults.append("\(table.name): \(number) lacks \(missing) and has \(extra)")
    }
  }

  private mutating func compareFigures() throws {
    let frontier = try Self.frontier(replicas[0])
    for (number, replica) in replicas.enumerated() {
      if try Self.frontier(replica) != frontier {
        faults.append("frontier of \(number): \(try Self.frontier(replica)), not \(frontier)")
      }
      let root = replica.store.position.digest.root
      if root != replicas[0].store.position.digest.root { faults.append("digest of \(number)") }
      var digest = Digest()
      for (name, version) in try Outside.versions(replica, tables) {
        digest.replace(table: tableSeed(name.table), key: name.key, old: nil, new: version)
      }
      if digest.root != root { faults.append("digest of \(number) is not that of its versions") }
      let stored = try replica.application.prepareRows("SELECT sum FROM _flotilla_digest")
        .compactMap(Int64.init).reduce(0) { $0 &+ UInt64(bitPattern: $1) }
      if stored != root { faults.append("digest of \(number) is not stored") }
    }
  }

  private mutating func examine(_ replica: TestReplica, shelves: Bool) throws {
    let check = try replica.application.prepareRows("PRAGMA integrity_check")
    if check != ["ok"] { faults.append("integrity: \(check)") }
    if try !Journal.isEmpty(on: replica.application) { faults.append("journal is not empty") }
    let shelf = try replica.application.prepareRows(
      "SELECT tbl || ' ' || hex(key) || ' ' || why FROM _flotilla_shelf")
    if !shelf.isEmpty, !shelves { faults.append("shelf of \(replica.store.nodeName): \(shelf)") }
    let rows = try Outside.rows(replica, tables)
    let versions = try Outside.versions(replica, tables)
    for name in rows.keys where versions[name].map(\.isDeleted) ?? true {
      faults.append("\(name) at \(replica.store.nodeName) has no version")
    }
    for (name, version) in versions where !version.isDeleted {
      guard !Tables.isSettings(name.table) else { continue }
      let table = replica.store.tables.table(name.table)
      let isShelved =
        try table.flatMap { try replica.store.shelf.entry(table: $0.id, key: name.key) } != nil
      if isShelved { continue }
      guard let content = rows[name], let statements = table?.statements else {
        faults.append("\(name) at \(replica.store.nodeName) is live and has no row")
        continue
      }
      let values = statements.names.map { Replication.Value(content[$0] ?? .null) }
      if statements.contentHash(values) != version.hash {
        faults.append("\(name) at \(replica.store.nodeName) has another hash: \(content)")
      }
    }
  }

  private static func frontier(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows(
      "SELECT origin || ':' || seq FROM _flotilla_origin WHERE seq > 0 ORDER BY 1")
  }
}
