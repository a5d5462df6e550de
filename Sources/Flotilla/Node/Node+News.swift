import Replication
import Store

/// What programs that have opened the replica want to hear as it happens.
extension Node {
  /// So many verdicts are told at a time.
  private static let verdictsTold = 1_000

  func mark() async throws(FlotillaError) -> Mark {
    try await foldNow()
    return Mark(seq: position.frontier[position.own])
  }

  /// Waits for verdicts on edits after that number; on those that wait now, and later ones, if it
  /// is none.
  func settled(after number: UInt64?, within limit: Duration) async throws(FlotillaError)
    -> VerdictNews
  {
    guard let number else { return VerdictNews(last: try await lastTold(), verdicts: []) }
    let last = position.frontier[position.own]
    guard number <= last else {
      throw FlotillaError(
        .refused,
        "\(path) has no edit \(number), the last one here is \(last): the file was put back",
        remedy: "Look at the rows anew, and go on with the verdicts from now on: verdicts().")
    }
    let deadline = Uptime.now + limit.milliseconds
    while true {
      let age = position.age
      let verdicts = try await reporting(path) { () async throws(StoreError) in
        try await store.run { (store) throws(StoreError) in
          try store.verdicts
            .list(
              after: number, through: .max, limit: Self.verdictsTold, repetitions: false
            ).prefix { $0.outcome != .pending }.map { verdict in
              OpenReplica.Judgement(
                number: verdict.seq, table: verdict.table,
                key: store.tables.named(verdict.key, of: verdict.table).mapValues(SQLValue.init),
                verdict: RowVerdict(verdict))
            }
        }
      }
      if let last = verdicts.last { return VerdictNews(last: last.number, verdicts: verdicts) }
      guard await until(deadline, { position.age != age }) else {
        return VerdictNews(last: number, verdicts: [])
      }
    }
  }

  private func lastTold() async throws(FlotillaError) -> UInt64 {
    try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in try Self.lastTold(by: store) }
    }
  }

  /// The edit after which verdicts are yet to be told. They are told in the order of the edits, so
  /// those above the first that waits were not.
  static func lastTold(by store: Store) throws(StoreError) -> UInt64 {
    if let first = try store.verdicts.firstWaiting() { return max(first, 1) - 1 }
    return try store.verdicts.lastSettled() ?? store.position.frontier[store.own]
  }

  /// Waits until the state of a peer is another than was known.
  func peers(known: [String]?, within limit: Duration) async throws(FlotillaError) -> PeersReport {
    let deadline = Uptime.now + limit.milliseconds
    while true {
      let report = try await status(all: false).peers
      let states = report.map { "\($0.id) \($0.state.rawValue)" }
      guard states == known, Uptime.now < deadline else { return PeersReport(peers: report) }
      let next = min(deadline, Uptime.now + 500)
      _ = await until(next) { false }
    }
  }
}
