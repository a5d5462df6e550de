import CrashShim
import Glibc
import SQLite

/// A folder in which the built program is used, with the one process that is to be cut off.
final class Desk {
  static let programs: String = {
    guard let real = realpath("/proc/self/exe", nil) else { return "." }
    defer { free(real) }
    return String(cString: real).split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
  }()

  /// Everything of this desk; the databases are in `folder`.
  let top: String
  let folder: String
  /// An address of this machine that no other process's desk has, so that its ports are free.
  let host: String
  private var number = 0

  init(_ top: String) throws {
    self.top = top
    folder = top + "/x"
    let process = getpid()
    host = "127.\(process >> 16 & 255).\(process >> 8 & 255).\(process & 255)"
    for path in [top, top + "/run", folder] where mkdir(path, 0o700) != 0 && errno != EEXIST {
      throw CrashFailure("cannot make \(path)")
    }
  }

  func path(_ name: String) -> String { folder + "/" + name }

  /// Starts `flotilla`, or another of the built programs, with these words.
  func start(
    _ words: [String], by program: String = "flotilla", _ more: [String: String] = [:]
  ) throws -> Program {
    number += 1
    let environment = [
      "XDG_RUNTIME_DIR": top + "/run", "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere",
      "SWIFT_BACKTRACE": "enable=no", "SWIFT_DETERMINISTIC_HASHING": "1",
    ].merging(more) { $1 }
    return try Program(
      ["\(Self.programs)/\(program)"] + words, in: folder, environment: environment,
      said: "\(top)/said\(number)")
  }

  /// The same to its end; throws unless the exit status is one of `good`.
  @discardableResult
  func flotilla(_ words: String..., good: Set<Int32> = [0]) throws -> String {
    let program = try start(words)
    guard case .ended(let status) = program.wait(), good.contains(status) else {
      throw CrashFailure("\(words.joined(separator: " ")): \(program.wait()) \(program.text)")
    }
    return program.text
  }

  /// Starts the process that is to be cut off, with its orders.
  func startVictim(
    _ words: [String], by program: String, at call: Int, _ deed: Deed?, _ record: String
  ) throws -> Program {
    try start(
      words, by: program,
      [
        "LD_PRELOAD": Self.programs + "/libCrashShim.so", "CRASH_FOLDER": folder,
        "CRASH_AT": "\(call)", "CRASH_DEED": "\(deed?.code ?? 0)", "CRASH_RECORD": record,
      ])
  }

  /// The words of a lasting node.
  func node(_ name: String, port: Int, peer: Int? = nil) -> [String] {
    ["run", name, "--no-discovery", "--listen", "\(host):\(port)"]
      + (peer.map { ["--peer", "\(host):\($0)"] } ?? [])
  }

  /// Starts a lasting node and waits until it serves.
  func startNode(_ name: String, port: Int, peer: Int? = nil) throws -> Program {
    let program = try start(node(name, port: port, peer: peer))
    guard serves(program) else { throw CrashFailure("\(name) does not serve: \(program.text)") }
    return program
  }

  /// Waits until a node serves; false if it has ended.
  func serves(_ program: Program) -> Bool {
    eventually(within: 20_000) { program.hasEnded() || program.text.contains("listens on port") }
      && !program.hasEnded()
  }

  /// An application's transaction.
  func write(_ name: String, _ sql: String) throws {
    let connection = try Connection(path: path(name), mode: .create)
    connection.setBusyTimeout(milliseconds: 5_000)
    try connection.transaction { () throws(SQLiteError) in try connection.execute(sql) }
  }

  func content(_ name: String) throws -> Content { try Content(path: path(name)) }

  /// Whether the file has tables of Flotilla.
  func isReplica(_ name: String) throws -> Bool {
    guard access(path(name), F_OK) == 0 else { return false }
    let connection = try Connection(path: path(name))
    connection.setBusyTimeout(milliseconds: 5_000)
    return try connection.row(
      "SELECT 1 FROM sqlite_schema WHERE name LIKE '\\_flotilla\\_%' ESCAPE '\\'") != nil
  }
}
