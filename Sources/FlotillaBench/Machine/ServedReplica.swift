import Foundation
import SQLite

/// A replica without peers whose node has a gateway.
struct ServedReplica {
  let place: Workplace
  let replica: BenchReplica
  /// Of the gateway.
  let address: String
  let token: String
  /// Under which the gateway serves it.
  let name = "a"

  /// `followed`: its changes are noted from the start.
  init(schema: String, followed: Bool) throws {
    place = try Workplace()
    replica = try BenchReplica(name, in: place)
    try Connection(path: replica.path, mode: .create).execute(schema)
    try replica.initialise()
    token = try place.flotilla(["token", replica.path, "add", "bench"])
    if followed { try place.flotilla(["changes", replica.path]) }
    address = "127.0.0.1:\(try freePort(on: "127.0.0.1"))"
    try replica.run(more: ["--http", address])
    // It listens before its node is up, and says 503 until then.
    let (address, token, target) = (address, token, "/v1/\(name)/tables")
    try Clock.wait("the gateway", within: .seconds(30)) {
      guard isReachable(address) else { return false }
      return (try? HTTPClient(address, token: token).ask("GET", target)) != nil
    }
  }

  /// What the kernel tells of its node.
  var facts: ProcessFacts {
    get throws {
      guard let node = replica.node else { throw BenchError("the node does not run") }
      return ProcessFacts(pid: node.pid)
    }
  }
}

/// A program of this machine; a path stays what it is.
func program(_ name: String) throws -> String {
  guard !name.hasPrefix("/") else { return name }
  let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":")
  let paths = folders.map { "\($0)/\(name)" }
  guard let path = paths.first(where: FileManager.default.isExecutableFile) else {
    throw BenchError("\(name) is not installed")
  }
  return path
}
