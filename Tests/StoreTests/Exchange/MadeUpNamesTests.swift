import Replication
import SQLite
import Testing

@testable import Store

/// What a member that may write says of the names of tables, by settings of the site.
@Suite struct MadeUpNamesTests {
  private static let schema = """
    CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT);
    CREATE TABLE bill(id TEXT PRIMARY KEY NOT NULL, text TEXT);
    """
  private let site: TestReplica
  private let other: TestReplica
  private let liar: TestReplica

  init() throws {
    site = try TestReplica(1, schema: Self.schema, tracking: ["note", "bill"])
    other = try TestReplica(2, schema: Self.schema)
    liar = try TestReplica(3, schema: Self.schema)
    try site.write("INSERT INTO note VALUES ('a', 'x'); INSERT INTO bill VALUES ('1', 'five')")
    for replica in [other, liar] { try replica.exchange(with: site) }
  }

  /// Says that a table is another one of the site by now.
  private func call(_ name: String, _ first: String) throws {
    let settings = try liar.store.settings(Renames.settings)
    _ = try liar.store.tables.renames.publish(
      name, first: first, of: TableNames.owner, number: settings.id)
    try liar.foldAll()
  }

  private func bait() throws {
    try liar.write("CREATE TABLE bait(id TEXT PRIMARY KEY NOT NULL, text TEXT)")
    try liar.store.track(["bait"], rule: nil, at: liar.now)
    try liar.write("INSERT INTO bait VALUES ('z', 'z')")
    try call("bill", "bait")
  }

  private func grant(_ table: String, _ right: Right, to node: Identity, at replica: TestReplica)
    throws
  {
    let statement = SiteStatement(
      site: TestReplica.site, issuer: TestReplica.site, previous: .none,
      time: Int64(try replica.store.members.statements().count),
      kind: .grant(node: node, table: table, right: right))
    try replica.store.members.add([
      SignedStatement(
        statement, signature: [UInt8](repeating: 0, count: SignedStatement.signatureLength))
    ])
  }

  private func pull(_ replica: TestReplica) throws {
    for _ in 0..<2 {
      try replica.pull(from: liar)
      try replica.foldAll()
    }
  }

  /// The tables, with the first key of each, of which a replica sends rows.
  private func sent(_ replica: TestReplica, _ filter: ExportFilter) throws -> Set<String> {
    let (_, batches) = try replica.export(.above(Frontier()), filter: filter)
    return try batches.reduce(into: []) { tables, batch in
      let rows = try RowBatch(bytes: batch.bytes)
      for row in rows.rows {
        let name = rows.tables[row.table].name
        if !name.hasPrefix("_flotilla_") { tables.insert("\(name) \(row.values[0])") }
      }
    }
  }

  private func text(_ text: String) -> Replication.Value { .text(Array(text.utf8)) }

  @Test func `a table that may not be read stays its node's own affair, whatever it is called`()
    throws
  {
    let rights = Rights(tables: ["bill": .none])
    try grant("bill", .none, to: other.store.node, at: other)
    try other.store.allow(rights, delivered: 1 << 60, at: other.now)
    try other.write("INSERT INTO bill VALUES ('secret', 'secret')")
    try other.foldAll()
    try bait()
    try pull(other)
    try liar.store.untrack(["bill"], at: liar.now)
    try pull(other)
    #expect(other.store.tables.table("bait")?.isHere == false)
    #expect(!(try sent(other, ExportFilter(sender: rights)).contains("bait \(text("secret"))")))
  }

  @Test func `who may not read a table is not sent it by another name`() throws {
    let reader = Identity(high: 9, low: 9)
    try grant("bill", .none, to: reader, at: site)
    try bait()
    for isUntracked in [false, true] {
      if isUntracked { try liar.store.untrack(["bill"], at: liar.now) }
      try pull(site)
      #expect(site.store.tables.table("bait")?.isHere == false)
      try site.write("INSERT INTO bill VALUES ('secret \(isUntracked)', 'secret')")
      try site.foldAll()
      let rows = try sent(site, ExportFilter(reader: Rights(tables: ["bill": .none])))
      let wanted = [("note", "a"), ("bait", "z")].map { "\($0) \(text($1))" }
      #expect(rows == Set(wanted))
      #expect(throws: StoreError.self) {
        try site.store.nameTable("bait", "bill", at: site.now)
      }
    }
    // Once an admin has said the same of both, one may be the other.
    try grant("bait", .none, to: reader, at: site)
    try site.foldAll()
    try site.reopen()
    try site.write("CREATE TABLE more(id)")
    try pull(site)
    #expect(site.store.tables.table("bait")?.nameHere == "bill")
  }

  /// Names are read whenever the schema is looked at.
  @Test func `very many names are not read, but those of what is here`() throws {
    let most = Renames.most
    let settings = try liar.store.settings(Renames.settings)
    for number in 0..<2 * most {
      let owner = number % 2 == 0 ? TableNames.owner : "note"
      _ = try liar.store.tables.renames.publish(
        "a made up name \(number)", first: "x\(number)", of: owner, number: settings.id)
    }
    try liar.foldAll()
    try liar.write(
      "ALTER TABLE note RENAME COLUMN text TO words; ALTER TABLE bill RENAME TO paper")
    try liar.foldAll()
    try site.write(
      "ALTER TABLE note RENAME COLUMN text TO words; ALTER TABLE bill RENAME TO paper")
    try pull(site)
    let read = try site.store.tables.renames.read()
    #expect(read.values.reduce(0) { $0 + $1.settings.count } <= most + 2)
    #expect(read["note"]?.settings["words"] == "text")
    #expect(read[TableNames.owner]?.settings["paper"] == "bill")
    try liar.write("UPDATE note SET words = 'y'; UPDATE paper SET text = 'six'")
    try pull(site)
    #expect(try site.content("note") == liar.content("note"))
    #expect(try site.content("paper") == liar.content("paper"))
  }

  /// Beyond the limit a table is none of the site's, and is not looked at with each setting.
  @Test func `tables beyond the limit are in nobody's way`() throws {
    site.store.tables.limit = 4
    for number in 0..<20 {
      try liar.write("CREATE TABLE a\(number)(id TEXT PRIMARY KEY NOT NULL)")
    }
    try liar.store.track((0..<20).map { "a\($0)" }, rule: nil, at: liar.now)
    try pull(site)
    #expect(site.store.tables.tracked.count == 4)
    #expect(site.store.tables.table("note")?.isTracked == true)
    #expect(try site.store.tables.trackedNames().count == 22)
    try liar.store.untrack(["a0", "a1"], at: liar.now)
    try pull(site)
    #expect(site.store.tables.tracked.count == 4)
    #expect(site.store.tables.table("a0")?.isTracked != true)
  }
}
