import Foundation
import Glibc
import Synchronization
import Testing

/// A folder with a server of its own and a replica, as an office has them. What it starts ends with
/// it; nothing of it is reached from other machines.
final class Office: Sendable {
  private static let programs =
    ProcessInfo.processInfo.environment["FLOTILLA_RELEASE"]
    ?? URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path

  private static let paths = "\(programs):/usr/sbin:/usr/bin:/sbin:/bin"

  /// Whether this machine has what a server needs.
  static let isPossible = ["/usr/sbin/mariadbd", "/usr/bin/mariadb", "/usr/bin/mariadb-install-db"]
    .allSatisfy { (path: String) in access(path, X_OK) == 0 }

  static let why: Comment = "mariadb-server-core or mariadb-client-core is not installed"

  let folder: String
  /// The socket over which the mirror reaches the server, in the folder.
  private let wayIn = Mutex("socket")
  private let named = Mutex("shop")
  private let address = Mutex<String?>(nil)
  private let started = Mutex<[Process]>([])
  private let before = Mutex<[String]>([])
  private let running = Mutex<Process?>(nil)
  /// The server that was started last.
  var daemon: Process? { running.withLock { $0 } }

  init() throws {
    folder = "/tmp/flotilla-office-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(
      atPath: folder + "/run", withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try "secret\n".write(toFile: folder + "/password", atomically: true, encoding: .utf8)
  }

  /// A server that runs, with a database `shop` and a user for the mirror.
  static func with(_ body: (Office) async throws -> Void) async throws {
    try await prepared { office in
      try await office.startServer()
      try await body(office)
    }
  }

  /// The files of such a server; nothing runs yet.
  static func prepared(_ body: (Office) async throws -> Void) async throws {
    let office = try Office()
    defer {
      for process in office.started.withLock({ $0 }) where process.isRunning {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
      }
      try? FileManager.default.removeItem(atPath: office.folder)
    }
    try await OfficeTemplate.shared.copy(to: office)
    try await body(office)
  }

  func path(_ name: String) -> String { folder + "/" + name }
  /// Of the server; the one on the socket if nobody has said another one.
  var url: String {
    get {
      address.withLock { $0 } ?? "mysql://flo@localhost/\(database)?socket=\(folder)/\(way)"
    }
    set { address.withLock { $0 = newValue } }
  }
  /// As it stands in the address.
  var database: String {
    get { named.withLock { $0 } }
    set { named.withLock { $0 = newValue } }
  }
  /// What stands before a node that is started and before each command.
  var prefix: [String] {
    get { before.withLock { $0 } }
    set { before.withLock { $0 = newValue } }
  }
  var way: String {
    get { wayIn.withLock { $0 } }
    set { wayIn.withLock { $0 = newValue } }
  }

  private func process(_ words: [String], output: String) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.arguments = words
    process.environment = [
      "XDG_RUNTIME_DIR": folder + "/run", "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere",
      "SWIFT_BACKTRACE": "enable=no", "PATH": Self.paths,
      // Servers that are set up side by side would take each other's files away.
      "TMPDIR": folder,
    ]
    _ = FileManager.default.createFile(atPath: output, contents: nil)
    let file = try #require(FileHandle(forWritingAtPath: output))
    process.standardOutput = file
    process.standardError = file
    process.standardInput = FileHandle.nullDevice
    return process
  }

  /// The process has what it says in its own hands; with more than 1,024 open files Foundation
  /// starts no other one.
  private static func letGo(_ process: Process) throws {
    try (process.standardOutput as? FileHandle)?.close()
  }

  func run(_ words: [String]) async throws -> (status: Int32, text: String) {
    let output = path("said-\(UUID().uuidString)")
    let process = try process(words, output: output)
    let status = try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
      do { try process.run() } catch { continuation.resume(throwing: error) }
    }
    try Self.letGo(process)
    let text = try String(contentsOfFile: output, encoding: .utf8)
    return (status, text.trimmingCharacters(in: .whitespacesAndNewlines))
  }

  func start(_ words: [String], _ log: String) throws -> Process {
    let process = try process(words, output: path(log))
    try process.run()
    try Self.letGo(process)
    started.withLock { $0.append(process) }
    return process
  }

  /// Starts the server on its socket, behind other words if there are some; gives what ends it.
  @discardableResult
  func startServer(
    _ options: [String] = [], behind words: [String] = []
  ) async throws -> Process {
    let process = try start(
      words + [
        "mariadbd", "--no-defaults", "--datadir=\(folder)/data", "--socket=\(folder)/socket",
        "--skip-networking", "--user=\(NSUserName())", "--innodb-buffer-pool-size=32M",
        "--innodb-log-file-size=8M",
      ] + options, "server-\(UUID().uuidString.prefix(4))")
    running.withLock { $0 = process }
    let isUp = try await eventually { try await trial("SELECT 1").status == 0 }
    try #require(isUp, "the server does not start")
    return process
  }

  func trial(
    _ sql: String, in database: String = "mysql", at socket: String = "socket"
  ) async throws -> (status: Int32, text: String) {
    try await run([
      "mariadb", "--no-defaults", "--default-character-set=utf8mb4", "-uroot", "-N", "-B",
      "--socket=\(folder)/\(socket)", database, "-e", sql,
    ])
  }

  /// What the server's own client says to statements.
  @discardableResult
  func server(
    _ sql: String, in database: String = "shop", at socket: String = "socket"
  ) async throws -> String {
    let (status, text) = try await trial(sql, in: database, at: socket)
    #expect(status == 0, "\(text)")
    return text
  }

  @discardableResult
  func site(_ sql: String, _ database: String = "shop.db") async throws -> String {
    let (status, text) = try await run([
      "sqlite3", "-tabs", "-nullvalue", "NULL", "-cmd", ".timeout 10000", path(database), sql,
    ])
    #expect(status == 0, "\(text)")
    return text
  }

  func flotilla(_ words: String...) async throws -> (status: Int32, text: String) {
    try await run(prefix + ["flotilla"] + words)
  }

  /// A site with these tables, mirrored, with a node that runs.
  func open(_ schema: String, _ options: String...) async throws -> Process {
    try await site(schema)
    let made = try await flotilla("init", "shop.db", "--all", "--name", "anchor")
    #expect(made.status == 0, "\(made.text)")
    try await add(options)
    let node = try await serve()
    try await follows()
    return node
  }

  func add(_ options: [String]) async throws {
    let added = try await run(
      ["flotilla", "mirror", "shop.db", "add", url, "--password-file", "password", "--yes"]
        + options)
    try #require(added.status == 0, "\(added.text)")
  }

  func serve(_ database: String = "shop.db", _ options: String...) async throws -> Process {
    let log = "node-\(UUID().uuidString.prefix(8))"
    let process = try start(
      prefix + ["flotilla", "run", database, "--no-discovery"]
        + ["--listen", "127.0.0.1:0"] + options, log)
    let isUp = try await eventually {
      (try? String(contentsOfFile: path(log), encoding: .utf8))?.contains("listens on port") == true
    }
    #expect(isUp)
    return process
  }

  func status(_ database: String = "shop.db") async throws -> [String: Any] {
    let said = try await flotilla("mirror", database, "status", "--json")
    let object = try? JSONSerialization.jsonObject(with: Data(said.text.utf8))
    return object as? [String: Any] ?? ["state": said.text]
  }

  func follows() async throws {
    let does = try await eventually { try await status()["state"] as? String == "following" }
    let said = try await status()
    try #require(does, "\(said)")
  }

  /// Waits until the server says so.
  func serverComesTo(
    _ wanted: String, _ sql: String, at socket: String = "socket"
  ) async throws {
    let does = try await eventually {
      try await trial(sql, in: "shop", at: socket).text == wanted
    }
    let now = try await server(sql, at: socket)
    #expect(does, "\(now)")
  }

  func siteComesTo(
    _ wanted: String, _ sql: String, _ database: String = "shop.db"
  ) async throws {
    let does = try await eventually { try await site(sql, database) == wanted }
    let now = try await site(sql, database)
    #expect(does, "\(now)")
  }

  /// The name of a trigger of the mirror, such as `1_i`: a mark of the site is in it.
  func trigger(_ ending: String) async throws -> String {
    try await server(
      "SELECT trigger_name FROM information_schema.triggers "
        + "WHERE trigger_name LIKE 'flotilla%\\_\(ending.replacing("_", with: "\\_"))' LIMIT 1")
  }

  /// The variable by which a session of the server is taken for the mirror: no trigger notes it.
  func silence(_ number: Int) async throws -> String {
    let name = try await trigger("\(number)_i")
    return "SET @\(name.replacing("_\(number)_i", with: "")) = \(number); "
  }

  /// Runs statements of the server that its triggers do not note.
  func quietly(_ number: Int, _ sql: String) async throws {
    try await server(silence(number) + sql)
  }

  /// How many transactions the mirror has made on the server, and edits on the site.
  func writes() async throws -> [String] {
    [
      try await server("SELECT number FROM flotilla_state"),
      try await site("SELECT max(seq) FROM _flotilla_origin"),
    ]
  }
}

/// The files of a server with nothing but a database `shop` and a user for the mirror: made once,
/// and copied.
private actor OfficeTemplate {
  static let shared = OfficeTemplate()
  private var making: Task<String, any Error>?

  func copy(to office: Office) async throws {
    let making = making ?? Task { try await Self.make() }
    self.making = making
    let folder = try await making.value
    let copied = try await office.run(["cp", "-a", folder + "/data", office.folder + "/data"])
    try #require(copied.status == 0, "\(copied.text)")
  }

  private static func make() async throws -> String {
    let office = try Office()
    templateFolder.withLock { $0 = office.folder }
    atexit { templateFolder.withLock { _ = try? FileManager.default.removeItem(atPath: $0) } }
    let made = try await office.run([
      "mariadb-install-db", "--no-defaults", "--datadir=\(office.folder)/data", "--skip-test-db",
      "--auth-root-authentication-method=normal", "--user=\(NSUserName())",
      "--innodb-log-file-size=8M",
    ])
    try #require(made.status == 0, "\(made.text)")
    let server = try await office.startServer()
    try await office.server(
      """
      CREATE DATABASE shop; CREATE USER flo@localhost IDENTIFIED BY 'secret';
      GRANT ALL ON shop.* TO flo@localhost
      """, in: "mysql")
    try await office.end(server)
    return office.folder
  }
}

private let templateFolder = Mutex("")

extension Process {
  /// As a power cut ends it.
  func die() {
    kill(processIdentifier, SIGKILL)
    waitUntilExit()
  }
}

/// Asks again and again until the answer is yes; gives up after two minutes.
func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
  let end = ContinuousClock.now + .seconds(120)
  while true {
    if try await condition() { return true }
    guard ContinuousClock.now < end else { return false }
    try await Task.sleep(for: .milliseconds(50))
  }
}
