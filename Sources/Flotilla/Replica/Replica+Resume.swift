import FoundationEssentials
import Glibc
import Network
import SQLite
import Store

/// Going on with a first copy that was cut off.
extension Replica {
  /// The first copy that is not complete; nil if the file is no replica, or a whole one.
  func unfinishedCopy() throws(FlotillaError) -> FirstCopy? {
    guard access(path, F_OK) == 0 else { return nil }
    let connection = try OpeningCheck(path: path, sidecar: sidecar).open()
    do {
      guard try ReplicaFile.isInitialised(connection) else { return nil }
      return try FirstCopy.read(connection)
    } catch {
      throw FlotillaError(error, path: path)
    }
  }

  /// Copies what is missing. The node is a member already, so it needs no code; it dials its
  /// inviter, or the address given, and members that are found by themselves.
  func resume(
    _ copy: FirstCopy, at address: String?, progress: @escaping @Sendable (JoinProgress) -> Void
  ) async throws(FlotillaError) -> JoinReport {
    let start = Uptime.now
    let lock: FileLock
    switch try await reach(.status(all: false), as: StatusReport.self) {
    case .lock(let free): lock = free
    case .answer(let status):
      throw FlotillaError(
        .node,
        "\(path) is \(status.node) of \"\(status.site)\" already, and its node makes the first "
          + "copy",
        remedy: "See how far it is: flotilla status \(shellWord(path))")
    }
    var options = RunOptions()
    options.peers = [address ?? copy.address]
    options.discovery = address == nil
    let source = options.peers[0]
    if copy.mayBePages {
      progress(.resuming(site: try siteName(), node: copy.name, address: source))
    }
    let pages = try await fetchPages(copy, from: source, progress: progress)
    options.discovery = options.discovery || pages.isFromAnybody
    return try await withNode(mode: .brief, lock: lock, options: options) {
      node async throws(FlotillaError) in
      let who = node.identity
      if !copy.mayBePages {
        progress(.resuming(site: who.siteName, node: copy.name, address: source))
      }
      let copied = try await node.finish(copy, hasPages: pages.bytes > 0, progress: progress)
      return JoinReport(
        site: who.siteName, node: who.name, role: await node.roleName, from: copy.name,
        address: source, rows: copied.rows, bytes: pages.bytes + copied.bytes,
        seconds: Double(Uptime.now - start) / 1_000,
        replaced: copied.replaced, warnings: copied.warnings)
    }
  }

  private func siteName() throws(FlotillaError) -> String {
    try reporting(path) { () throws(StoreError) in
      try Store(path: sidecar.database, inspects: false).siteName
    }
  }
}
