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
  /// is none. In another life than that of `life` the number means another edit.
  func settled(
    after number: UInt64?, of life: String?, within limit: Duration
  ) async throws(FlotillaError) -> VerdictNews {
    guard let number else {
      let last = try await lastTold()
      return VerdictNews(last: last, life: try await lifeTold(with: last), verdicts: [])
    }
    let last = position.frontier[position.own]
    guard number <= last else {
      throw Self.putBack("\(path) has no edit \(number), the last one here is \(last)")
    }
    let known = try await lifeTold(with: number)
    guard life == nil || life == known || number == 0 else {
      throw Self.putBack("the edit \(number) of \(path) is another one now")
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
                number: verdict.seq, life: store.lives.edit(verdict.seq).origin.description,
                table: verdict.table,
                key: store.tables.named(verdict.key, of: verdict.table).mapValues(SQLValue.init),
                verdict: RowVerdict(verdict))
            }
        }
      }
      if let last = verdicts.last {
        return VerdictNews(last: last.number, life: last.life, verdicts: verdicts)
      }
      guard await until(deadline, { position.age != age }) else {
        return VerdictNews(last: number, life: known, verdicts: [])
      }
    }
  }

  /// They are told in the order of the edits, so those above the first that waits were not.
  private static func putBack(_ what: String) -> FlotillaError {
    FlotillaError(
      .refused, "\(what): the file was put back",
      remedy: "Look at the rows anew, and go on with the verdicts from now on: verdicts().")
  }

  /// The life of this replica in which an edit got its number.
  private func lifeTold(with number: UInt64) async throws(FlotillaError) -> String {
    try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        store.lives.edit(number).origin.description
      }
    }
  }

  private func lastTold() async throws(FlotillaError) -> UInt64 {
    try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        if let first = try store.verdicts.firstWaiting() { return max(first, 1) - 1 }
        return try store.verdicts.lastSettled() ?? store.position.frontier[store.own]
      }
    }
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
