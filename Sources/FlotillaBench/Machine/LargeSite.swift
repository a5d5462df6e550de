import Foundation
import Glibc
import SQLite

/// A site with very many rows, and what is done with it round after round.
final class LargeSite {
  enum Quantity: String, CaseIterable {
    case initialised = "init until all have versions"
    case tracked = "track until all have versions"
    case version = "flotilla --version"
    case status = "flotilla status"
    case copied = "cp and fsync"
    case rsync = "sqlite3_rsync"
    case pages = "join by pages"
    case pagesMemory = "peak memory of who joins by pages"
    case inviterMemory = "peak memory of the inviter, by pages"
    case byRows = "join by rows"
    case rowsMemory = "peak memory of who joins by rows"
    case equal = "a reconnect with nothing changed"
    case changed = "a reconnect with 100 rows changed"

    var unit: String {
      switch self {
      case .version, .status, .equal, .changed: "ms"
      case .pagesMemory, .inviterMemory, .rowsMemory: "MiB"
      default: "s"
      }
    }

    var wanted: (Statistic, Double)? {
      switch self {
      case .initialised, .tracked: (.median, 5)
      case .status: (.median, 15)
      case .pagesMemory: (.maximum, 40)
      case .inviterMemory, .rowsMemory: (.maximum, 48)
      case .equal: (.median, 4)
      case .changed: (.median, 12)
      default: nil
      }
    }
  }

  /// What was measured so far.
  struct Ledger {
    private(set) var values: [Quantity: [Double]] = [:]

    mutating func note(_ quantity: Quantity, _ value: Double) {
      values[quantity, default: []].append(value)
    }
  }

  private(set) var ledger = Ledger()
  private let rows: Int
  private let place: Workplace
  private let bare: String
  private let first: BenchReplica

  init(rows: Int) throws {
    self.rows = rows
    place = try Workplace()
    bare = "\(place.folder)/bare.db"
    try Items.fill(bare, rows)
    first = try BenchReplica("a", in: place)
  }

  func measure(rounds: Int) throws {
    for round in 1...rounds {
      try takeOver(by: .tracked)
      try remove("track")
      try takeOver(by: .initialised)
      guard round < rounds else { break }
      try first.stop()
      try remove("a")
    }
    for _ in 0..<(rounds * 10) {
      ledger.note(.version, try time(["--version"]).milliseconds)
      ledger.note(.status, try time(["status", first.path]).milliseconds)
    }
    for round in 1...rounds { try join(round) }
    try reconnect(rounds)
    try first.stop()
  }

  /// From the start of the command, on a copy of the bare file, until the node has given a version
  /// to each row.
  private func takeOver(by quantity: Quantity) throws {
    let isInit = quantity == .initialised
    let replica = isInit ? first : try BenchReplica("track", in: place)
    try FileManager.default.copyItem(atPath: bare, toPath: replica.path)
    Disk.settle()
    let words = ["init", replica.path, "--site", "Bench", "--name", "founder"]
    var start = Clock.now
    try place.flotilla(words + (isInit ? ["--all"] : []), within: .seconds(900))
    try replica.run()
    if !isInit {
      start = Clock.now
      try place.flotilla(["track", replica.path, "item"], within: .seconds(900))
    }
    try replica.settle(within: .seconds(1_800))
    ledger.note(quantity, (Clock.now - start).seconds)
    if !isInit { try replica.stop() }
  }

  /// Beside each other: a copy of the file, one by sqlite3_rsync, a newcomer by pages, and one by
  /// rows.
  private func join(_ round: Int) throws {
    _ = try BenchStore.fileSize(of: first.connect())
    Disk.settle()
    ledger.note(.copied, try copy())
    if let rsync = try? program("sqlite3_rsync") {
      Disk.settle()
      let path = "\(place.folder)/rsync.db"
      let start = Clock.now
      try Child([rsync, first.path, path], in: place.folder).wait(within: .seconds(900))
      ledger.note(.rsync, (Clock.now - start).seconds)
      try remove("rsync")
    }
    for quantity in [Quantity.pages, .byRows] {
      let name = "\(quantity == .pages ? "pages" : "rows")-\(round)"
      let newcomer = try BenchReplica(name, in: place)
      if quantity == .byRows {
        // A file in which a program has made a table gets its first copy by rows.
        try Connection(path: newcomer.path, mode: .create).execute("CREATE TABLE own(n)")
      }
      let facts = try node()
      try facts.resetPeak()
      Disk.settle()
      let start = Clock.now
      let ended = try newcomer.join(first)
      ledger.note(quantity, (Clock.now - start).seconds)
      ledger.note(quantity == .pages ? .pagesMemory : .rowsMemory, ended.peakMiB)
      if quantity == .pages { ledger.note(.inviterMemory, facts.peakMiB) }
      let count = try newcomer.connect().scalar("SELECT count(*) FROM item").integer
      guard count == Int64(rows) else { throw BenchError("\(count ?? 0) rows were copied") }
      try remove(name)
    }
  }

  private func copy() throws -> Double {
    let path = "\(place.folder)/copy.db"
    let start = Clock.now
    try Child([try program("cp"), "--reflink=never", first.path, path], in: place.folder)
      .wait(within: .seconds(900))
    let file = open(path, O_RDWR | O_CLOEXEC)
    guard file >= 0, fsync(file) == 0 else { throw BenchError("cannot write \(path) to the disk") }
    let time = (Clock.now - start).seconds
    close(file)
    try remove("copy")
    return time
  }

  /// A member whose connection breaks: from the moment at which it comes again.
  private func reconnect(_ rounds: Int) throws {
    let proxy = try CountingProxy(to: first.address)
    defer { proxy.close() }
    // The first node learns only the proxy's address of the second, where nobody listens.
    let second = try BenchReplica("b", in: place, host: "127.0.0.2")
    _ = try second.join(first, at: proxy.address)
    try second.run(peer: proxy.address)
    let (writer, reader) = (try first.connect(), try second.connect())
    let keys = try writer.rows("SELECT id FROM item ORDER BY random() LIMIT 100").map { $0[0] }
    try waitUntilQuiet(proxy, since: 0)
    for round in 1...(rounds * 3) {
      var cut = Clock.now
      proxy.cut()
      try waitUntilQuiet(proxy, since: cut)
      ledger.note(.equal, (proxy.times.moved - proxy.times.began).milliseconds)
      proxy.shut()
      try writer.transaction { () throws(SQLiteError) in
        for key in keys {
          try writer.run("UPDATE item SET quantity = \(-round) WHERE id = ?", [key])
        }
      }
      try first.settle()
      cut = Clock.now
      proxy.open()
      let places = Array(repeating: "?", count: keys.count).joined(separator: ",")
      let count =
        "SELECT count(*) FROM item WHERE quantity = \(-round) AND id IN (\(places))"
      try Clock.wait("the changed rows", within: .seconds(120), every: .microseconds(200)) {
        try reader.scalar(count, keys).integer == Int64(keys.count)
      }
      ledger.note(.changed, (Clock.now - proxy.times.began).milliseconds)
      try waitUntilQuiet(proxy, since: cut)
    }
    try second.stop()
    try remove("b")
  }

  /// Waits for a connection that began after a moment, and on which nothing more is said.
  private func waitUntilQuiet(_ proxy: CountingProxy, since cut: Int64) throws {
    try Clock.wait("a connection through the proxy", within: .seconds(120)) {
      let (began, moved) = proxy.times
      return proxy.isConnected && began > cut && moved > began
        && Clock.now - moved > Self.silence
    }
  }

  /// Who has begun to talk is silent for so long only when all is said, in ns.
  private static let silence: Int64 = 300_000_000

  private func node() throws -> ProcessFacts {
    guard let node = first.node else { throw BenchError("the node does not run") }
    return ProcessFacts(pid: node.pid)
  }

  /// From the start of the program to its end.
  private func time(_ words: [String]) throws -> Int64 {
    let start = Clock.now
    try place.start(words).wait(within: .seconds(60), every: .microseconds(100))
    return Clock.now - start
  }

  private func remove(_ name: String) throws {
    for end in ["", "-wal", "-shm", "-flotilla"] {
      try? FileManager.default.removeItem(atPath: "\(place.folder)/\(name).db\(end)")
    }
  }
}
