import CMariaDB
import Glibc
import SQLite
import Synchronization

/// One connection to a MariaDB or MySQL server. Every call blocks: an actor with a thread of its
/// own must own it.
package final class ServerConnection {
  let handle: UnsafeMutablePointer<MYSQL>
  /// Whether a statement can be sent with many rows of values.
  let hasArrays: Bool
  private var statements: [String: ServerStatement] = [:]
  private(set) var limits = Limits()
  /// The database as the server calls it: some servers write every name in small letters.
  private(set) var database = ""

  /// What the server is and how long things may be.
  struct Limits {
    var version = ""
    var packet = 1 << 20
    /// Whether rows that others have locked can be left out: "SKIP LOCKED […] from MariaDB 10.6"
    /// (mariadb.com, "SELECT"), and MySQL 8.
    var skipsLocked: Bool {
      let parts = version.split(separator: ".").prefix(2).map { Int($0) ?? 0 }
      guard parts.count == 2 else { return false }
      return isMariaDB ? parts[0] > 10 || parts[0] == 10 && parts[1] >= 6 : parts[0] >= 8
    }
    var isMariaDB: Bool { version.lowercased().contains("mariadb") }
  }

  /// So long an answer may take, in seconds.
  private static let patience: UInt32 = 60
  /// Prepared statements are kept up to this number.
  private static let mostStatements = 128

  private let lifeline: Lifeline?

  /// To the first of the nodes of an address that lets us in and is at work. If none does, the
  /// error says of each why.
  static func open(
    _ address: ServerAddress, password: String, _ lifeline: Lifeline? = nil
  ) throws(ServerError) -> ServerConnection {
    guard !address.others.isEmpty else {
      return try ServerConnection(address, password: password, lifeline)
    }
    var (reasons, code): ([String], UInt32) = ([], 0)
    for node in [address] + address.others {
      do throws(ServerError) {
        return try ServerConnection(node, password: password, lifeline)
      } catch {
        reasons.append("\(node.place): \(error.text)")
        code = error.code
      }
    }
    throw ServerError(code: code, message: reasons.joined(separator: "; "))
  }

  /// To the first node of an address alone.
  package init(
    _ address: ServerAddress, password: String, _ lifeline: Lifeline? = nil
  ) throws(ServerError) {
    guard
      let made = flotilla_mysql_new(
        address.isLocal ? 0 : 1, address.isFile ? 1 : 0, address.authority, Self.patience)
    else { throw .own("no memory for a connection") }
    let opened = flotilla_mysql_connect(
      made, address.host.isEmpty ? "localhost" : address.host, UInt32(address.port),
      address.socket, address.user, password, address.database)
    guard opened != nil else {
      let error = Self.error(of: made)
      mysql_close(made)
      throw error
    }
    handle = made
    self.lifeline = lifeline
    lifeline?.hold(mysql_get_socket(made))
    hasArrays = flotilla_mysql_has_arrays(made) != 0
    try begin()
  }

  deinit {
    lifeline?.release()
    statements = [:]
    mysql_close(handle)
  }

  /// So many seconds a transaction may wait for the mirror, which waits for the file 10 s at most.
  static let longestIdleness = 30

  /// Strict, in UTC, and with 0 as a number like others; no lock is waited for longer than 1 s.
  private func begin() throws(ServerError) {
    try execute(
      """
      SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION',
        time_zone = '+00:00', innodb_lock_wait_timeout = 1, lock_wait_timeout = 1,
        foreign_key_checks = 0,
        autocommit = 1, wait_timeout = 600, group_concat_max_len = 1048576
      """)
    try execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    let row = try rows(of: 3, "SELECT version(), @@max_allowed_packet, database()").first ?? []
    guard row.count == 3, let name = row[2].string else {
      throw .own("the server does not say which database it has")
    }
    limits.version = row[0].string ?? ""
    if limits.isMariaDB {
      // "Time in seconds that the server waits for idle transactions before killing the connection"
      // (mariadb.com, from 10.3 on). What a lost connection has locked keeps the next one out.
      try? execute("SET SESSION idle_transaction_timeout = \(Self.longestIdleness)")
    }
    limits.packet = Int(max(1 << 17, min(row[1].integer ?? 1 << 20, 1 << 30)))
    database = name
    try waitForCluster()
  }

  /// On a node of a cluster: until it has all that was committed on any of them before. Else who
  /// comes from a node that was lost would take it for a backup. One without a majority refuses.
  ///
  /// "READ: check on SELECT, SHOW and BEGIN/START TRANSACTION statements" (mariadb.com,
  /// "wsrep_sync_wait").
  private func waitForCluster() throws(ServerError) {
    let row = try rows(of: 2, "SHOW GLOBAL VARIABLES LIKE 'wsrep_on'").first
    guard row?[1].string?.uppercased() == "ON" else { return }
    try execute("SET SESSION wsrep_sync_wait = 1")
    try transaction { () throws(ServerError) in }
    try execute("SET SESSION wsrep_sync_wait = DEFAULT")
  }

  static func error(of handle: UnsafeMutablePointer<MYSQL>) -> ServerError {
    ServerError(code: mysql_errno(handle), message: String(cString: mysql_error(handle)))
  }

  /// Runs one statement as text, to which there are no rows.
  package func execute(_ sql: String) throws(ServerError) {
    guard mysql_real_query(handle, sql, UInt(sql.utf8.count)) == 0 else {
      throw Self.error(of: handle)
    }
    guard mysql_field_count(handle) == 0 else { throw hangUp() }
  }

  /// Whoever answers with more than can be meant is no server that one can work with. What it
  /// still says is not waited for.
  private func hangUp() -> ServerError {
    shutdown(mysql_get_socket(handle), Int32(SHUT_RDWR))
    return .tooMuch
  }

  private func statement(_ sql: String) throws(ServerError) -> ServerStatement {
    if let known = statements[sql] { return known }
    if statements.count >= Self.mostStatements { statements = [:] }
    let made = try ServerStatement(sql, on: handle)
    statements[sql] = made
    return made
  }

  /// Runs one statement; gives how many rows it found to change.
  @discardableResult
  package func run(_ sql: String, _ values: [Value] = []) throws(ServerError) -> Int {
    try statement(sql).run([values], asArray: false)
  }

  /// Runs one statement for each row of values: all of them in one go where the server can.
  ///
  /// The values of a column are all of one kind, or NULL. "The array binding feature […] was
  /// introduced with MariaDB 10.2.7" (mariadb.com, "Bulk Insert (Column-wise Binding)"). An error
  /// of one row is an error of all, and what came before it stays done.
  package func run(_ sql: String, each rows: [[Value]]) throws(ServerError) {
    let statement = try statement(sql)
    guard !hasArrays else {
      _ = try statement.run(rows, asArray: true)
      return
    }
    for row in rows { _ = try statement.run([row], asArray: false) }
  }

  /// The same of rows that lie where the library reads them; where the server has arrays alone.
  /// Gives how many rows it found to change.
  func run(_ sql: String, each block: ParameterBlock) throws(ServerError) -> Int {
    try statement(sql).run(block, asArray: true)
  }

  /// What the server says of the columns of a query without values.
  func description(of sql: String) throws(ServerError) -> [ServerStatement.Description] {
    try statement(sql).describe()
  }

  /// The rows of an answer that is held in memory have so many bytes at most.
  static let mostHeld = 128 << 20

  /// Every row of a query that asks for so many columns.
  package func rows(
    of width: Int, _ sql: String, _ values: [Value] = []
  ) throws(ServerError) -> [[Value]] {
    var rows: [[Value]] = []
    try forEachRow(of: width, sql, values, within: Self.mostHeld) { rows.append($0) }
    return rows
  }

  /// Each row of a query as it comes; the connection does nothing else meanwhile. The last columns
  /// are of these `shapes`, or a table was altered since it was looked at. Rows of more than `most`
  /// bytes, and a `body` that throws, end the connection.
  func forEachRow(
    of width: Int, _ sql: String, _ values: [Value] = [], as shapes: [ServerStatement.Shape] = [],
    within most: Int = .max, _ body: ([Value]) throws(ServerError) -> Void
  ) throws(ServerError) {
    let statement = try statement(sql)
    guard statement.shapes.suffix(shapes.count) == shapes[...] else {
      throw ServerError.otherColumns
    }
    guard statement.width == width else {
      throw .own("the server answers with other columns than it was asked for")
    }
    _ = try statement.run([values], asArray: false)
    var size = 0
    try statement.fetch { row throws(ServerError) in
      size += row.reduce(64) { $0 + $1.byteCount + 16 }
      do throws(ServerError) {
        guard size <= most else { throw ServerError.tooMuch }
        try body(row)
      } catch {
        _ = hangUp()
        throw error
      }
    }
  }

  /// Runs `body` in one transaction; undone if it throws.
  func transaction<Result>(
    _ beginning: String = "START TRANSACTION", _ body: () throws(ServerError) -> Result
  ) throws(ServerError) -> Result {
    try execute(beginning)
    do throws(ServerError) {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      if error.kind != .lost { try? execute("ROLLBACK") }
      throw error
    }
  }
}

/// By this another thread ends what a connection waits for.
package final class Lifeline: Sendable {
  private struct State {
    var socket: Int32 = -1
    var isCut = false
  }

  private let state = Mutex(State())

  package init() {}

  func hold(_ descriptor: Int32) {
    state.withLock {
      $0.socket = descriptor
      if $0.isCut { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }

  /// Before the socket is closed: its number may be another one's afterwards.
  func release() { state.withLock { $0.socket = -1 } }

  /// For good: what is connected later ends as well.
  func cut() {
    state.withLock {
      $0.isCut = true
      if $0.socket >= 0 { shutdown($0.socket, Int32(SHUT_RDWR)) }
    }
  }
}

/// A name as the server reads it.
func serverName(_ name: String) -> String { quoted(name, by: "`") }
