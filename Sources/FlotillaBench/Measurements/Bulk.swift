import Flotilla
import Foundation
import Network
import Replication
import SQLite
import Store

/// What TLS costs a long exchange: from one store to another over TLS on loopback, and over a
/// stream in memory.
///
/// The files are in memory, so that waits for the disk do not hide what TLS costs. Each round runs
/// both, one right after the other, so that a machine whose speed drifts changes both; the ratio is
/// taken within the round.
enum Bulk {
  static let measurement = Measurement(
    name: "bulk", summary: "an exchange of many rows over TLS against one in memory",
    body: measure)

  private enum Way: CaseIterable {
    case tls
    case memory
  }

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let count = extent.isQuick ? 2_000 : 50_000
    let rounds = extent.isQuick ? 2 : 11
    let megabytes = extent.isQuick ? 4 : 256
    let place = try Workplace(inMemory: true)
    try fill(place, count)
    var speeds: [Way: [Double]] = [:]
    var streams: [Double] = []
    var ratios: [Double] = []
    // The first round warms up.
    for round in 0...rounds {
      var times: [Way: Double] = [:]
      for way in round % 2 == 0 ? Way.allCases : Way.allCases.reversed() {
        let time = try exchange(way, count, place)
        times[way] = time
        guard round > 0 else { continue }
        speeds[way, default: []].append(Double(count) / time)
      }
      guard round > 0, let tls = times[.tls], let memory = times[.memory] else { continue }
      ratios.append(memory / tls)
      streams.append(Double(megabytes) / (try stream(megabytes)))
    }
    report.figures = [
      Figure("\(count) rows, TLS against memory", "×", ratios).target(.median, atLeast: 0.85),
      Figure("\(count) rows over TLS", "rows/s", speeds[.tls] ?? []),
      Figure("\(count) rows in memory", "rows/s", speeds[.memory] ?? []),
      Figure("bytes alone over TLS", "MB/s", streams),
    ]
  }

  /// A replica with rows, and one without.
  private static func fill(_ place: Workplace, _ count: Int) throws {
    for (number, name) in ["full", "empty"].enumerated() {
      let path = "\(place.folder)/\(name).db"
      let connection = try Connection(path: path, mode: .create)
      try connection.execute(Items.schema)
      try ReplicaFile.initialise(
        path: path,
        as: ReplicaFile.Identities(
          site: Identity(high: 1, low: 1), siteName: "Bench",
          node: Identity(high: 2, low: UInt64(number)), nodeName: name,
          origin: Origin(rawValue: UInt64(number + 1))))
      let store = try Store(path: path)
      try store.track(["item"], rule: nil, at: .bench)
      if number == 0 {
        try connection.transaction { () throws(SQLiteError) in
          for row in 0..<count {
            try connection.run(Items.insert, Items.row(row, key: Items.randomKey()))
          }
        }
      }
      while try store.fold(at: .bench).hasMore {}
      try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
  }

  /// Sends all rows to a copy of the empty replica; gives the seconds.
  private static func exchange(_ way: Way, _ count: Int, _ place: Workplace) throws -> Double {
    let path = "\(place.folder)/\(UUID().uuidString).db"
    try FileManager.default.copyItem(atPath: "\(place.folder)/empty.db", toPath: path)
    defer {
      for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
    }
    let full = "\(place.folder)/full.db"
    let time = try waiting {
      try await over(way) { left, right in
        let (sender, receiver) = (
          try ExchangeEnd(path: full, over: left), try ExchangeEnd(path: path, over: right)
        )
        let start = Clock.now
        let sending = Task { try await sender.talk() }
        let receiving = await Result { try await receiver.talk(untilReceived: true) }
        let time = (Clock.now - start).seconds
        let sent = await sending.result
        guard await receiver.received != nil else {
          try sent.get()
          try receiving.get()
          throw BenchError("the exchange ended before all rows had come")
        }
        return time
      }
    }
    let arrived = try Connection(path: path).scalar("SELECT count(*) FROM item").integer
    guard arrived == Int64(count) else { throw BenchError("\(arrived ?? 0) rows arrived") }
    return time
  }

  /// Sends zeros and nothing else over TLS; gives the seconds.
  private static func stream(_ megabytes: Int) throws -> Double {
    try waiting {
      try await over(.tls) { left, right in
        let piece = [UInt8](repeating: 0, count: 250_000)
        let start = Clock.now
        let writing = Task { for _ in 0..<(megabytes * 4) { try await left.write(piece) } }
        var rest = megabytes * 1_000_000
        while rest > 0 {
          let bytes = try await right.read(upTo: 64 << 10)
          guard !bytes.isEmpty else { throw BenchError("the stream ended too early") }
          rest -= bytes.count
        }
        try await writing.value
        return (Clock.now - start).seconds
      }
    }
  }

  /// Makes a stream and closes it when `body` is done.
  private static func over(
    _ way: Way, _ body: (any ByteChannel, any ByteChannel) async throws -> Double
  ) async throws -> Double {
    switch way {
    case .memory:
      let (left, right) = try MemoryChannel.pair()
      defer { left.close() }
      return try await body(left, right)
    case .tls:
      let listener = try await Listener(host: "127.0.0.1", port: 0)
      defer { listener.close() }
      let pair = try await SocketPair(over: listener)
      defer { pair.close() }
      let site = try BenchSite()
      let (left, right) = try await pair.secured(
        site.door.accepting, site.newcomer().dialling, for: .member)
      return try await body(left, right)
    }
  }
}

extension Result where Failure == any Error {
  /// What `body` gives or throws.
  fileprivate init(_ body: () async throws -> Success) async {
    do {
      self = .success(try await body())
    } catch {
      self = .failure(error)
    }
  }
}
