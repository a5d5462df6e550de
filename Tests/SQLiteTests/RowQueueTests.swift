import Testing

@testable import SQLite

/// Rows that wait for their table are seen by nobody as missing, and end with their transaction.
@Suite struct RowQueueTests {
  private let connection: Connection
  private let queue: RowQueue

  init() throws {
    connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute("CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB CHECK(length(b) < 9))")
    queue = connection.queue(
      RowQueue("INSERT OR REPLACE INTO t(a, b)", into: "t", columns: 2))
  }

  private func add(_ numbers: Range<Int64>, _ blob: [UInt8]? = [7]) throws(SQLiteError) {
    for number in numbers {
      queue.add(number)
      queue.add(blob)
      try queue.endRow(on: connection)
    }
  }

  private func count() throws -> Int64? {
    try connection.scalar("SELECT count(*) FROM t").integer
  }

  @Test(arguments: [1, 15, 16, 17, 100])
  func `a statement that names the table comes after them`(rows: Int64) throws {
    try connection.run("BEGIN")
    try add(0..<rows)
    #expect(queue.isEmpty == (rows % 16 == 0))
    #expect(try count() == rows)
    #expect(queue.isEmpty)
    try add(rows..<rows + 1)
    #expect(try connection.scalar("SELECT max(a) FROM t").integer == rows)
    try connection.run(Connection.commit)
  }

  @Test func `the later of two rows of one key stands`() throws {
    try connection.run("BEGIN")
    try add(0..<20)
    try add(3..<4, [9, 9])
    try connection.run(Connection.commit)
    #expect(try connection.scalar("SELECT b FROM t WHERE a = 3") == .blob([9, 9]))
    #expect(try count() == 20)
  }

  @Test func `a commit comes after them`() throws {
    try connection.transaction { () throws(SQLiteError) in try add(0..<5) }
    #expect(queue.isEmpty)
    let count = try connection.prepare("SELECT count(*) FROM t")
    #expect(try count.step() && count.integer(0) == 5)
  }

  @Test func `outside of a transaction none waits`() throws {
    try add(0..<1)
    #expect(queue.isEmpty)
    #expect(try count() == 1)
  }

  @Test func `they end with a transaction that is rolled back`() throws {
    #expect(throws: SQLiteError.self) {
      try connection.transaction { () throws(SQLiteError) in
        try add(0..<5)
        try connection.run("INSERT INTO nowhere VALUES (1)")
      }
    }
    #expect(queue.isEmpty)
    try connection.transaction { () throws(SQLiteError) in try add(5..<6) }
    #expect(try count() == 1)
  }

  @Test func `those of an attempt end with it, and those before it stay`() throws {
    try connection.run("BEGIN")
    try add(0..<5)
    _ = try connection.attempt {
      try add(5..<9)
      return false
    }
    try add(9..<10)
    try connection.run(Connection.commit)
    #expect(try connection.rows("SELECT a FROM t").map { $0[0].integer } == [0, 1, 2, 3, 4, 9])
  }

  @Test func `a row that does not fit keeps its transaction from a commit`() throws {
    try connection.run("BEGIN")
    try add(0..<5)
    try add(5..<6, [UInt8](repeating: 1, count: 9))
    // Whoever asks is told, and may go on all the same: the commit does not.
    #expect(throws: SQLiteError.self) { try count() }
    #expect(throws: SQLiteError.self) { try connection.run(Connection.commit) }
    connection.rollBack()
    #expect(try count() == 0)
  }

  @Test func `one connection has one queue into a table`() throws {
    let other = connection.queue(
      RowQueue("INSERT INTO t(a, b)", into: "t", columns: 2))
    #expect(other === queue)
  }

  @Test func `statements from before the queue come after its rows, too`() throws {
    try connection.execute("CREATE TABLE u(a)")
    #expect(try connection.scalar("SELECT count(*) FROM u").integer == 0)
    let other = connection.queue(RowQueue("INSERT INTO u(a)", into: "u", columns: 1))
    try connection.run("BEGIN")
    other.add(Int64(1))
    try other.endRow(on: connection)
    #expect(try connection.scalar("SELECT count(*) FROM u").integer == 1)
    try connection.run(Connection.commit)
  }

  @Test func `values lent together come back in their own classes`() throws {
    try connection.execute("CREATE TABLE v(a, b, c, d, e)")
    var cells = Cells()
    cells.addNull()
    cells.add(Int64(-7))
    cells.add(Double(-0.0))
    cells.add([], isText: true)
    cells.add([0, 255], isText: false)
    try connection.run("INSERT INTO v" + RowQueue.values(rows: 1, 5), cells, 0..<5)
    #expect(
      try connection.rows("SELECT * FROM v") == [
        [.null, .integer(-7), .real(-0.0), .text([]), .blob([0, 255])]
      ])
  }
}
