import Foundation
import Glibc

/// A PostgreSQL server of one measurement, on a socket in its folder.
///
/// PostgreSQL refuses to run as root; there the server and its folder belong to `nobody`. It ends
/// with this process, however that ends (prctl(2), PR_SET_PDEATHSIG).
final class PostgresServer {
  /// Where its socket and its data are.
  let folder: String
  private let child: Child

  /// The folder of its programs, or nil if they are not installed.
  static let programs: String? = {
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: packages)) ?? []
    let own = versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(packages)/\($0)/bin" }
    let paths = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let all = paths.split(separator: ":").map(String.init) + own
    return all.first { folder in
      ["postgres", "initdb"].allSatisfy { access("\(folder)/\($0)", X_OK) == 0 }
    }
  }()
  /// Where Debian puts them, each version in a folder of its own.
  private static let packages = "/usr/lib/postgresql"

  init(_ name: String, in place: Workplace) throws {
    guard let programs = Self.programs else { throw BenchError("PostgreSQL is not installed") }
    let folder = "\(place.folder)/\(name)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try Self.give(place.folder)
    try Self.give(folder)
    try Child(
      [
        "\(programs)/initdb", "-D", "\(folder)/data", "-U", "postgres", "-A", "trust", "-E",
        "UTF8", "--locale=C", "--no-sync",
      ], in: place.folder, launcher: try Self.launcher(place.folder)
    ).wait(within: .seconds(120))
    let child = try Child(
      [
        "\(programs)/postgres", "-D", "\(folder)/data", "-k", folder, "-c", "listen_addresses=",
        "-c", "wal_level=logical",
      ], in: place.folder, launcher: try Self.launcher(place.folder), endedBy: SIGQUIT)
    (self.folder, self.child) = (folder, child)
    try Clock.wait("PostgreSQL", within: .seconds(60)) {
      if let ended = child.poll() { throw BenchError("PostgreSQL ended: \(ended.error)") }
      return (try? PostgresClient(folder: folder)) != nil
    }
  }

  /// SIGQUIT is an "Immediate Shutdown" (PostgreSQL, Shutting Down the Server).
  func stop() {
    child.send(SIGQUIT)
    _ = try? Clock.wait("its end", within: .seconds(10)) { child.poll() != nil }
  }

  func connect() throws -> PostgresClient { try PostgresClient(folder: folder) }

  /// Who the server runs as, if this process is root's.
  private static func stranger() throws -> (user: uid_t, group: gid_t)? {
    guard geteuid() == 0 else { return nil }
    guard let entry = getpwnam("nobody") else { throw BenchError("there is no user nobody") }
    return (entry.pointee.pw_uid, entry.pointee.pw_gid)
  }

  private static func give(_ folder: String) throws {
    guard let (user, group) = try stranger() else { return }
    guard chown(folder, user, group) == 0 else { throw BenchError("cannot give away \(folder)") }
  }

  private static func launcher(_ folder: String) throws -> [String] {
    let who = try stranger().map {
      ["--reuid", "\($0.user)", "--regid", "\($0.group)", "--clear-groups"]
    }
    // Its programs look for themselves from the current folder, so it must be one they may enter.
    return ["/usr/bin/setpriv"] + (who ?? [])
      + ["--pdeathsig", "QUIT", "/usr/bin/env", "--chdir=\(folder)"]
  }
}
