import Foundation
import Glibc
import Synchronization
import Testing

/// A folder of its own in which the built program serves databases; what it starts ends with it.
final class Workplace: Sendable {
  private static let programs =
    ProcessInfo.processInfo.environment["FLOTILLA_RELEASE"]
    ?? URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path

  let folder: String
  private let started = Mutex<[Process]>([])

  private init() throws {
    folder = NSTemporaryDirectory() + "flotilla-gw-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(
      atPath: folder + "/run", withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
  }

  static func with(_ body: (Workplace) async throws -> Void) async throws {
    let place = try Workplace()
    defer {
      let running = place.started.withLock { $0 }.filter(\.isRunning)
      for process in running { kill(process.processIdentifier, SIGKILL) }
      try? FileManager.default.removeItem(atPath: place.folder)
      // Foundation learns of an end when nobody is left that the process has started.
      for _ in 0..<1_000 where running.contains(where: \.isRunning) { usleep(10_000) }
    }
    try await body(place)
  }

  /// Ends another program with this.
  func adopt(_ process: Process) { started.withLock { $0.append(process) } }

  func path(_ name: String) -> String { folder + "/" + name }

  private func process(_ words: [String], output: String) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.arguments = words
    process.environment = [
      "XDG_RUNTIME_DIR": folder + "/run", "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere",
      "SWIFT_BACKTRACE": "enable=no", "PATH": Self.programs + ":/usr/bin:/bin",
    ]
    _ = FileManager.default.createFile(atPath: output, contents: nil)
    let file = try #require(FileHandle(forWritingAtPath: output))
    process.standardOutput = file
    process.standardError = file
    process.standardInput = FileHandle.nullDevice
    return process
  }

  /// Runs a program to its end; gives its status and all that it said.
  func run(_ words: String...) async throws -> (status: Int32, text: String) {
    try await run(words: words)
  }

  func run(words: [String]) async throws -> (status: Int32, text: String) {
    let output = path("said-\(UUID().uuidString)")
    let process = try process(words, output: output)
    let status = try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
      do { try process.run() } catch { continuation.resume(throwing: error) }
    }
    let text = try String(contentsOfFile: output, encoding: .utf8)
    return (status, text.trimmingCharacters(in: .whitespacesAndNewlines))
  }

  /// The same; anything else than success is an issue of the test.
  @discardableResult
  func flotilla(_ words: String...) async throws -> String {
    let (status, text) = try await run(words: ["flotilla"] + words)
    #expect(status == 0, "\(words): \(text)")
    return text
  }

  @discardableResult
  func sql(_ database: String, _ statement: String) async throws -> String {
    let (status, text) = try await run(
      "sqlite3", "-cmd", ".timeout 10000", path(database), statement)
    #expect(status == 0, "\(text)")
    return text
  }

  /// Makes a database of the site's first machine.
  func found(_ database: String, _ schema: String) async throws {
    try await sql(database, schema)
    try await flotilla("init", database, "--all", "--name", "first")
  }

  /// Has another node join as the anchor, and stops it: verdicts are long in coming then.
  func awaitAnchor(_ name: String, beside node: Served, _ client: RawClient) async throws {
    let code = try await run("flotilla", "invite", "a.db")
    let word = try #require(code.text.split(separator: "\n").first.map(String.init))
    try await flotilla("join", "b.db", word, "--at", "127.0.0.1:\(node.nodePort)", "--name", name)
    let anchor = try await serve("b.db")
    try await flotilla("anchor", "a.db", name)
    let isKnown = try await eventually {
      try await client.ask("GET", "/v1/a/status").object["anchor"] as? String == name
    }
    #expect(isKnown)
    try await anchor.stop()
  }

  /// Runs a node until the end of the test; with a gateway unless told otherwise.
  func serve(_ database: String, _ options: String...) async throws -> Served {
    let log = path("log-\(UUID().uuidString)")
    let words = ["flotilla", "run", database, "--no-discovery", "--listen", "127.0.0.1:0"]
    let process = try process(words + options, output: log)
    try process.run()
    started.withLock { $0.append(process) }
    let served = Served(process: process, log: log)
    let isUp = try await eventually { served.text.contains("listens on port") }
    #expect(isUp, "\(served.text)")
    return served
  }

  /// Starts a program that goes on until the end of the test.
  func begin(_ words: [String]) throws -> Served {
    let log = path("log-\(UUID().uuidString)")
    let process = try process(words, output: log)
    try process.run()
    adopt(process)
    return Served(process: process, log: log)
  }

  /// A token for everything, or for what `tables` says.
  func token(_ database: String, _ name: String = "me", tables: String? = nil) async throws
    -> String
  {
    let output =
      if let tables {
        try await run("flotilla", "token", database, "add", name, "--tables", tables)
      } else {
        try await run("flotilla", "token", database, "add", name)
      }
    return try #require(output.text.split(separator: "\n").first.map(String.init))
  }
}

/// A node at work, and its gateway.
struct Served: Sendable {
  let process: Process
  let log: String

  var text: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
  /// The port of the gateway.
  var port: UInt16 {
    text.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { UInt16($0.1) } ?? 0
  }
  /// The port for other nodes.
  var nodePort: String {
    text.firstMatch(of: /listens on port (\d+)/).map { String($0.1) } ?? ""
  }

  func stop() async throws {
    kill(process.processIdentifier, SIGTERM)
    let hasEnded = try await eventually { !process.isRunning }
    #expect(hasEnded)
  }
}

/// Asks again and again until the answer is yes; gives up after half a minute.
func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
  let end = ContinuousClock.now + .seconds(30)
  while true {
    if try await condition() { return true }
    guard ContinuousClock.now < end else { return false }
    try await Task.sleep(for: .milliseconds(50))
  }
}
