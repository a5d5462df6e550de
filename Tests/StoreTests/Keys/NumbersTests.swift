import Replication
import SQLite
import Testing

@testable import Store

/// Numbers that AUTOINCREMENT gives on machines whose files were put back or copied.
@Suite struct NumbersTests {
  private static let schema = """
    CREATE TABLE ticket(id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT);
    CREATE TABLE note(id TEXT PRIMARY KEY, ticket INTEGER REFERENCES ticket)
    """

  private func site() throws -> [TestReplica] {
    let replicas = try KeysTests.site(
      3, schema: Self.schema, tables: ["ticket", "note"],
      beginning: "INSERT INTO ticket VALUES (1, 'old')")
    for (member, replica) in replicas.enumerated() {
      try replica.store.setMember(Int64(member), of: 3)
    }
    return replicas
  }

  /// So many new tickets, each with a text of its own; gives their numbers.
  @discardableResult
  private func insert(_ count: Int, _ name: String, at replica: TestReplica) throws -> [Int64] {
    KeysTests.later(replica, than: [replica])
    var numbers: [Int64] = []
    for number in 0..<count {
      try replica.write("INSERT INTO ticket(text) VALUES ('\(name)-\(number)')")
      numbers.append(replica.application.lastInsertRowID)
      // A node looks at least as often.
      if number % 100 == 99 { try fold(replica) }
    }
    try fold(replica)
    return numbers
  }

  /// Programs write at the time of the test, as nodes fold at it.
  private func fold(_ replica: TestReplica) throws {
    try replica.write("UPDATE _flotilla_journal SET at = \(replica.clock)")
    try replica.foldAll()
  }

  private func texts(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows("SELECT text FROM ticket ORDER BY 1")
  }

  /// The number of rows in the logs that have lost their number.
  private func collisions(_ replicas: [TestReplica]) throws -> Int {
    try replicas.flatMap { try $0.store.conflictLog.list(all: true) }.count
  }

  @Test(arguments: [1, 50, 128])
  func `a file that is put back goes on above what it gave`(forgotten: Int) throws {
    let replicas = try site()
    try insert(20, "before", at: replicas[1])
    try KeysTests.settle(replicas)
    let backup = try replicas[1].backUp()
    let known = try insert(forgotten, "forgotten", at: replicas[1])
    try replicas[0].pull(from: replicas[1])
    try replicas[1].restore(backup)
    try replicas[1].store.beginLife(
      .restored, origin: Origin(rawValue: 77), life: 77, run: 77, reissuingAbove: nil,
      at: replicas[1].now)
    let given = try insert(50, "after", at: replicas[1])
    #expect(Set(known).isDisjoint(with: given))
    try KeysTests.settle(replicas)
    #expect(try collisions(replicas) == 0)
    for replica in replicas { #expect(try texts(replica).count == 71 + forgotten) }
  }

  @Test func `beyond a block what was given twice is given a fresh number`() throws {
    let replicas = try site()
    let backup = try replicas[1].backUp()
    let known = try insert(600, "forgotten", at: replicas[1])
    try replicas[0].pull(from: replicas[1])
    try replicas[1].restore(backup)
    // A life that leaves one block alone.
    try replicas[1].store.beginLife(
      .restored, origin: Origin(rawValue: 77), life: 80, run: 77, reissuingAbove: nil,
      at: replicas[1].now)
    let given = try insert(300, "after", at: replicas[1])
    #expect(!Set(known).isDisjoint(with: given))
    try KeysTests.settle(replicas)
    for replica in replicas { #expect(Set(try texts(replica)).count == 901) }
    // And it goes on above all of it.
    let next = try insert(10, "later", at: replicas[1])
    #expect((next.min() ?? 0) > (known.max() ?? 0))
  }

  @Test func `two copies of one file, and a machine that is back as a new member`() throws {
    let replicas = try site()
    try insert(30, "before", at: replicas[1])
    try KeysTests.settle(replicas)
    let backup = try replicas[1].backUp()
    // A copy goes on as a node of its own, which has left its predecessor's block.
    try replicas[2].restore(backup)
    try replicas[2].store.beginLife(
      .moved, origin: Origin(rawValue: 78), life: 78, run: 78, reissuingAbove: nil,
      at: replicas[2].now)
    let original = try insert(60, "original", at: replicas[1])
    let copied = try insert(60, "copied", at: replicas[2])
    #expect(Set(original).isDisjoint(with: copied))
    // Who leaves and joins again counts on: its number is the fourth.
    let member = try TestReplica(4, schema: Self.schema)
    try member.pull(from: replicas[0])
    try member.store.setMember(3, of: 4)
    let rejoined = try insert(60, "rejoined", at: member)
    #expect(Set(original + copied).isDisjoint(with: rejoined))
    let all = replicas + [member]
    try KeysTests.settle(all)
    #expect(try collisions(all) == 0)
    for replica in all { #expect(try texts(replica).count == 211) }
  }

  @Test func `a table that a migration makes anew goes on in blocks of its own machine`() throws {
    let replicas = try site()
    for (number, replica) in replicas.enumerated() { try insert(20, "at \(number)", at: replica) }
    try KeysTests.settle(replicas)
    // The copy takes the highest number of all machines along.
    for replica in replicas {
      try replica.write(
        """
        BEGIN;
        CREATE TABLE anew(id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT, more TEXT);
        INSERT INTO anew(id, text) SELECT id, text FROM ticket;
        DROP TABLE ticket;
        ALTER TABLE anew RENAME TO ticket;
        COMMIT
        """)
      try fold(replica)
    }
    var given: [Int64] = []
    for replica in replicas { given += try insert(20, "after \(given.count)", at: replica) }
    #expect(Set(given).count == 60)
    try KeysTests.settle(replicas)
    #expect(try collisions(replicas) == 0)
    for replica in replicas { #expect(try texts(replica).count == 121) }
  }
}
