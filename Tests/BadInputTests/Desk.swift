import Foundation
import Glibc
import Synchronization

/// A folder of its own in which the built program is used and nodes run, without discovery.
final class Desk: Sendable {
  static let programs = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().path
  /// Where `flotilla` is: optimised, as it is installed, if the tests are told where that lies.
  static let release = ProcessInfo.processInfo.environment["FLOTILLA_RELEASE"] ?? programs
  static let fixtures = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Fixtures").path

  let folder: String
  private let started = Mutex<[pid_t]>([])

  private init() throws {
    folder = NSTemporaryDirectory() + "flotilla-desk-\(UUID().uuidString.prefix(8))"
    for place in [folder, folder + "/run"] {
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    }
    chmod(folder + "/run", 0o700)
  }

  /// Lets `body` work, then ends every process that it started and removes the folder.
  static func with(_ body: (Desk) async throws -> Void) async throws {
    let desk = try Desk()
    defer {
      for process in desk.started.withLock({ $0 }) { kill(process, SIGKILL) }
      try? FileManager.default.removeItem(atPath: desk.folder)
    }
    try await body(desk)
  }

  func path(_ name: String) -> String { folder + "/" + name }

  /// Runs a program in the folder and ends it if it takes too long: exit status 124.
  func run(_ words: String..., within seconds: Int = 60) async throws -> Outcome {
    try await run(words, within: seconds)
  }

  func run(_ words: [String], within seconds: Int = 60) async throws -> Outcome {
    let environment = [
      "XDG_RUNTIME_DIR": folder + "/run", "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere",
      "SWIFT_BACKTRACE": "enable=no", "PATH": "\(Self.release):/usr/bin:/bin:/usr/sbin:/sbin",
    ]
    return try await Program(
      "/usr/bin/env", ["-C", folder, "timeout", "-k", "2", "\(seconds)"] + words,
      environment: environment
    ).run()
  }

  func flotilla(_ words: String..., within seconds: Int = 60) async throws -> Outcome {
    try await run(["flotilla"] + words, within: seconds)
  }

  /// The same, but anything else than exit status 0 is thrown; gives the output.
  @discardableResult
  func succeed(_ words: String...) async throws -> String {
    let outcome = try await run(["flotilla"] + words)
    guard outcome.status == 0 else { throw ProgramFailure(words: words, outcome: outcome) }
    return outcome.output
  }

  /// Waits until the anchor has what was written here: first until it is heard that there is one.
  func waitForAnchor(_ database: String) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while true {
      let outcome = try await flotilla("wait", database, "--for", "anchor")
      if outcome.status == 0 { return }
      guard ContinuousClock.now < end else {
        throw ProgramFailure(words: ["wait", database], outcome: outcome)
      }
      try await Task.sleep(for: .milliseconds(100))
    }
  }

  /// What `sqlite3` says to a statement.
  @discardableResult
  func sql(_ database: String, _ statement: String) async throws -> String {
    let outcome = try await run("sqlite3", "-cmd", ".timeout 10000", "./" + database, statement)
    guard outcome.status == 0 else { throw ProgramFailure(words: [statement], outcome: outcome) }
    return outcome.output
  }

  /// Makes a database with the tables t, with a text key, and nokey.
  func make(_ database: String, rows: Int = 20) async throws {
    try await sql(
      database,
      """
      CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT); CREATE TABLE nokey(a);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO t SELECT 'k' || i, 'value of row ' || i || hex(zeroblob(20)) FROM n;
      """)
  }

  /// Starts a node in the background, with a limit of open files if one is given.
  func start(
    _ database: String, _ options: String..., files: Int? = nil, clock: SetClock? = nil
  ) async throws -> RunningNode {
    let words = ["run", database, "--background", "--no-discovery"] + options
    let limit = files.map { ["prlimit", "--nofile=\($0)"] } ?? []
    let outcome = try await run((clock?.words ?? []) + limit + ["flotilla"] + words)
    guard outcome.status == 0, let match = outcome.error.firstMatch(of: /process (\d+)/),
      let process = pid_t(match.1)
    else { throw ProgramFailure(words: words, outcome: outcome) }
    started.withLock { $0.append(process) }
    let log = path(database) + "-flotilla/node.log"
    let text = try String(contentsOfFile: log, encoding: .utf8)
    let port = text.matches(of: /listens on port (\d+)/).last.flatMap { Int($0.1) }
    return RunningNode(process: process, port: port ?? 0, log: log)
  }

  /// Makes a site of one running node and a second replica that has joined but does not run.
  func pair(_ first: String, _ second: String, rows: Int = 20) async throws -> RunningNode {
    try await make(first, rows: rows)
    try await succeed("init", first, "--all", "--name", "first")
    let node = try await start(first, "--listen", "127.0.0.1:0")
    let code = try await succeed("invite", first)
    try await succeed("join", second, code, "--at", node.address, "--name", "second")
    return node
  }

  /// A program of the fixtures that goes on; returns once it has printed a line.
  func begin(_ fixture: String, _ arguments: String...) async throws -> pid_t {
    let words = (["python3", "\(Self.fixtures)/\(fixture)"] + arguments)
      .map { "'\($0)'" }.joined(separator: " ")
    let said = path("said-\(UUID().uuidString)")
    let outcome = try await run("sh", "-c", "exec \(words) >'\(said)' & echo $!")
    guard let process = pid_t(outcome.output) else {
      throw ProgramFailure(words: [fixture], outcome: outcome)
    }
    started.withLock { $0.append(process) }
    _ = try await eventually(within: .seconds(20)) {
      (try? String(contentsOfFile: said, encoding: .utf8).contains("\n")) ?? false
    }
    return process
  }

  /// The names in the folder that begin like this.
  func names(_ prefix: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder)
      .filter { $0.hasPrefix(prefix) }.sorted()
  }

  func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(filePath: path(name))) }

  /// Writes bytes into a file, over what is there.
  func write(_ name: String, at offset: UInt64 = 0, _ data: Data) throws {
    let place = path(name)
    if access(place, F_OK) != 0 { try Data().write(to: URL(filePath: place)) }
    let file = try FileHandle(forWritingTo: URL(filePath: place))
    try file.seek(toOffset: offset)
    try file.write(contentsOf: data)
    try file.close()
  }

  static func noise(_ count: Int) -> Data {
    Data((0..<count).map { _ in UInt8.random(in: 1...255) })
  }
}

/// A node in the background.
struct RunningNode: Sendable {
  let process: pid_t
  let port: Int
  let log: String

  var address: String { "127.0.0.1:\(port)" }
  var isRunning: Bool { kill(process, 0) == 0 && !isZombie }
  var logText: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
  /// Open files, to see that none is leaked.
  var openFiles: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count) ?? 0
  }
  var threads: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task").count) ?? 0
  }
  /// Memory in use, in kB.
  var memory: Int {
    let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
    return status.firstMatch(of: /VmRSS:\s+(\d+)/).flatMap { Int($0.1) } ?? 0
  }

  private var isZombie: Bool {
    let stat = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
    return stat.contains(") Z ")
  }

  func signal(_ number: Int32) { kill(process, number) }

  func ends(within limit: Duration = .seconds(20)) async throws -> Bool {
    try await eventually(within: limit) { !isRunning }
  }
}
