import Foundation
import Glibc
import SQLite

/// One replica of the measured site: its file and, while it runs, its node.
final class BenchReplica {
  let path: String
  private let place: Workplace
  private(set) var node: Child?
  /// Where the node listens.
  let address: String

  init(_ name: String, in place: Workplace, host: String = "127.0.0.1") throws {
    self.path = "\(place.folder)/\(name).db"
    self.place = place
    self.address = "\(host):\(try freePort(on: host))"
  }

  /// A connection of an application to this file.
  func connect() throws -> Connection {
    let connection = try Connection(path: path)
    connection.setBusyTimeout(milliseconds: 5_000)
    return connection
  }

  func initialise() throws {
    try place.flotilla(
      ["init", path, "--site", "Bench", "--name", "founder", "--all"], within: .seconds(300))
  }

  /// Starts the node and waits until it listens.
  @discardableResult
  func run(peer: String? = nil, more: [String] = []) throws -> Child {
    let peers = peer.map { ["--peer", $0] } ?? []
    let child = try place.start(
      ["run", path, "--listen", address, "--no-discovery"] + peers + more)
    node = child
    try Clock.wait("the node of \(path)", within: .seconds(60)) {
      if let ended = child.poll() { throw BenchError("the node ended: \(ended.error)") }
      return isReachable(address)
    }
    return child
  }

  func join(_ other: BenchReplica, at address: String? = nil) throws -> Child.Ended {
    try startJoining(other, at: address).wait(within: .seconds(900))
  }

  /// Invites and starts to join; the other's node must run.
  func startJoining(_ other: BenchReplica, at address: String? = nil) throws -> Child {
    let code = try place.flotilla(["invite", other.path])
    return try place.start(
      ["join", path, code, "--name", "member", "--at", address ?? other.address])
  }

  /// Stops the node cleanly.
  func stop() throws {
    guard let node else { return }
    node.send(SIGTERM)
    try node.wait(within: .seconds(30))
    self.node = nil
  }

  /// What this replica holds of each origin.
  func frontier(_ connection: Connection) throws -> [Int64: Int64] {
    let rows = try connection.rows("SELECT origin, seq FROM _flotilla_origin WHERE seq > 0")
    return Dictionary(uniqueKeysWithValues: rows.map { ($0[0].integer ?? 0, $0[1].integer ?? 0) })
  }

  /// Waits until everything that applications wrote has a version.
  func settle(within limit: Duration = .seconds(600)) throws {
    let connection = try connect()
    try Clock.wait("the fold of \(path)", within: limit, every: .milliseconds(20)) {
      try connection.row("SELECT 1 FROM _flotilla_journal LIMIT 1") == nil
        && connection.row("SELECT 1 FROM _flotilla_local WHERE comparing IS NOT NULL") == nil
    }
  }
}
