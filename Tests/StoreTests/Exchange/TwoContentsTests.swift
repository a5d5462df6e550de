import Replication
import SQLite
import Testing

@testable import Store

/// One version with two contents: a member that lies has told each node another one.
@Suite struct TwoContentsTests {
  static let schema = "CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT)"

  /// The liar's edit as it was, or with another name under the same dot, stamp and hash.
  private func edit(
    _ replica: TestReplica, saying name: String, hash: UInt64? = nil
  ) -> (TableShape, Version, WireRow.Content) {
    HostileKeysTests.row(
      replica, HostileKeysTests.patient, 1, [.integer(7), HostileKeysTests.text(name)],
      stamp: 1_800_000_000_000
    ) { version in hash.map { version.hash = $0 } }
  }

  private func replicas(_ names: [String], hashOf name: String) throws -> [TestReplica] {
    let replicas = try KeysTests.site(2, schema: Self.schema, tables: ["patient"])
    let hash = edit(replicas[0], saying: name).1.hash
    for (replica, name) in zip(replicas, names) {
      try HostileKeysTests.send([edit(replica, saying: name, hash: hash)], to: replica)
    }
    return replicas
  }

  private func names(_ replicas: [TestReplica]) throws -> [String?] {
    try replicas.map { try $0.value("SELECT name FROM patient").string }
  }

  /// Each asks the other for what it knows in part, as `verify --repair` does.
  private func repair(_ replicas: [TestReplica]) throws -> [UnmatchedContent] {
    var found: [UnmatchedContent] = []
    for (asking, other) in [(replicas[0], replicas[1]), (replicas[1], replicas[0])] {
      let rows = try asking.store.columns.incompleteRows(after: nil)
      guard !rows.isEmpty else { continue }
      let (_, batches) = try other.export(.rows(rows))
      found.append(try asking.merge(batches, .repair, from: other).unmatched)
    }
    return found
  }

  @Test(arguments: [["true", "false"], ["false", "true"]])
  func `of two contents of one edit the one that gives the hash stands`(names: [String]) throws {
    let replicas = try replicas(names, hashOf: "true")
    let digests = replicas.map(\.store.position.digest)
    #expect(digests[0] == digests[1])
    #expect(try self.names(replicas) == names)
    let found = try repair(replicas)
    #expect(found.map(\.doubled) == [[HostileKeysTests.liar]])
    #expect(try self.names(replicas) == ["true", "true"])
    for replica in replicas {
      #expect(try replica.store.columns.incompleteRows(after: nil).isEmpty)
    }
    #expect(replicas.map(\.store.position.digest) == digests)
  }

  @Test func `of two contents that do not give the hash all take the same`() throws {
    let replicas = try replicas(["one", "two"], hashOf: "three")
    let found = try repair(replicas)
    #expect(found.allSatisfy { $0.doubled == [HostileKeysTests.liar] } && found.count == 2)
    let names = try names(replicas)
    #expect(names[0] == names[1] && names[0] != nil)
    // An edit by anybody ends it.
    KeysTests.later(replicas[0], than: replicas)
    try replicas[0].write("UPDATE patient SET name = 'mended'")
    try replicas[0].foldAll()
    try KeysTests.settle(replicas)
    #expect(try self.names(replicas) == ["mended", "mended"])
  }

  @Test func `a row that does not give its hash is told of when it comes`() throws {
    let replicas = try KeysTests.site(2, schema: Self.schema, tables: ["patient"])
    let hash = edit(replicas[0], saying: "true").1.hash
    var writer = RowBatchWriter()
    let row = edit(replicas[0], saying: "false", hash: hash)
    writer.add(row.0, row.1, row.2)
    let batch = ExportBatch(bytes: writer.bytes, rows: 1, check: writer.check)
    let covers = Frontier([HostileKeysTests.liar: 1])
    let taken = try replicas[0].merge([batch], .full(covers: covers), from: replicas[1])
    #expect(taken.unmatched.rows == 1)
    // Where a column was dropped that is why.
    try replicas[1].write("ALTER TABLE patient ADD COLUMN gone")
    try replicas[1].foldAll()
    try replicas[1].write("ALTER TABLE patient DROP COLUMN gone")
    try replicas[1].foldAll()
    let explained = try replicas[1].merge([batch], .full(covers: covers), from: replicas[0])
    #expect(explained.unmatched.rows == 0)
  }
}
