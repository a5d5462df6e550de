import Flotilla
import FoundationEssentials
import SQLite

/// All rows of a table, and what is done about those that differ.
extension MirrorEngine {
  /// So many rows are looked at in one go.
  private static let part = 1_000
  /// So many rows of a table are taken away from the server at most.
  private static let mostTakenAway = 10_000

  func compare(
    _ policies: [Int: Policy], _ session: MirrorSession
  ) async throws(MirrorError) {
    guard !policies.isEmpty || session.byNumber.isEmpty else { return }
    enter(.comparing)
    state.progress = 0
    var differences = 0
    publish(now: true)
    session.late = []
    session.serverStands = []
    session.endRests()
    session.meeting.begin(policies.keys.filter { !isFilled($0) || session.new[$0] != nil })
    for link in session.capture.links {
      guard let policy = policies[link.number] else { continue }
      guard let found = try await compare(link, policy, session) else {
        try serving { () throws(ServerError) in
          try session.ledger.need([link.number], isWhole: policy.isUnion)
        }
        session.uncompared.insert(link.number)
        continue
      }
      session.meeting.end(link.number)
      // What a table is filled with differs from nothing.
      if isFilled(link.number) { differences += found }
      guard !session.late.contains(where: { $0.link.number == link.number }) else { continue }
      try serving { () throws(ServerError) in
        try session.ledger.mark([link.number], isStale: false)
      }
      session.unsure.remove(link.number)
    }
    let late = try await settleLate(session)
    if policies.keys.allSatisfy(isFilled) { differences += late }
    let compared = policies.keys.filter { !session.uncompared.contains($0) }
    state.filled = Set((state.filled ?? []) + compared).sorted()
    for link in compared.compactMap({ session.byNumber[$0] }) { noteColumns(link, session) }
    await session.reading.close()
    try await drain(session)
    // Where the feed goes on is known there now.
    _ = try serving { () throws(ServerError) in try session.send([], cursor: session.cursor) }
    // Who waits for the end of it hears that not all of it was done.
    if let rest = session.resting.values.first { say("the server: \(rest.error.text)") }
    if policies.count == session.byNumber.count {
      (state.comparison, state.compared) = (settings.comparisons, Self.now)
      (state.rowsCompared, state.differences) = (state.progress, differences + carried)
      carried = 0
    } else {
      carried += differences
    }
    note(session)
    publish(now: true)
    if differences > 0 {
      log("the mirror compared \(state.progress) rows: \(differences) differed")
    }
  }

  /// How many rows differed; nil if the table takes nothing at present: it is to be compared again.
  private func compare(
    _ link: TableLink, _ policy: Policy, _ session: MirrorSession
  ) async throws(MirrorError) -> Int? {
    let comparison = try reading { () throws(SQLiteError) in
      try Comparison(link, session.new[link.number], folder: replica.folder)
    }
    try await readServer(comparison, session)
    session.meeting.found(comparison)
    let before = session.held.entries.filter { $0.key.number == link.number }
    var last: [Value]?
    var lacking = 0
    while !Task.isCancelled {
      let rows = try reading { () throws(SQLiteError) in
        try session.site.rows(link, after: last, limit: min(session.reach, Self.part))
      }
      session.adapt(
        to: rows.reduce(0) { $0 + $1.reduce(0) { $0 + $1.byteCount + 16 } }, of: rows.count)
      guard !rows.isEmpty else { break }
      if comparison.serverRows == 0 {
        // There is nothing to compare with: each goes out.
        lacking += try sendFresh(rows.map { link.key(of: $0) }, link, session)
        last = rows.last.map { link.key(of: $0) }
      } else {
        last = try reading { () throws(SQLiteError) in try comparison.compare(rows) }
      }
      guard session.resting[link.number] == nil else { return nil }
      state.progress += rows.count
      note(session)
      publish()
      try await flow(session)
    }
    try goOn()
    let count = try await settle(comparison, policy, lacking: lacking, session)
    guard session.resting[link.number] == nil else { return nil }
    if comparison.serverRows > 0 { try release(before, but: comparison, session) }
    return count
  }

  /// What was held before all rows were compared, and is equal now.
  private func release(
    _ before: [HeldRows.Name: HeldRows.Entry], but comparison: Comparison,
    _ session: MirrorSession
  ) throws(MirrorError) {
    guard !before.isEmpty else { return }
    var free = before
    func keep(_ key: [Value]) {
      free[HeldRows.Name(MirroredRow(comparison.link, key: key, row: nil))] = nil
    }
    for misfit in comparison.misfits { keep([.string(misfit.key)]) }
    for finding in Comparison.order {
      var last: [Value]?
      while true {
        let keys = try reading { () throws(SQLiteError) in
          try comparison.keys(finding, after: last, limit: Self.part)
        }
        guard !keys.isEmpty else { break }
        for key in keys { keep(key) }
        last = keys.last
      }
    }
    let names = free.filter { session.held.entries[$0.key]?.at == $0.value.at }.map(\.key)
    for start in stride(from: 0, to: names.count, by: Self.part) {
      let part = Array(names[start..<min(start + Self.part, names.count)])
      try serving { () throws(ServerError) in try session.send([], agreeing: part) }
    }
  }

  private func settle(
    _ comparison: Comparison, _ policy: Policy, lacking: Int, _ session: MirrorSession
  ) async throws(MirrorError) -> Int {
    var (differences, lacking, policy) = (lacking, lacking, policy)
    let surplus = try reading { () throws(SQLiteError) in try comparison.count(.serverOnly) }
    // So many rows the log would not keep. What the site has deleted is no surplus to it.
    if surplus > Self.mostTakenAway, policy == .siteStands { policy = .union }
    let differing = try reading { () throws(SQLiteError) in try comparison.count(.differs) }
    let isGone = policy == .reunion && surplus > Self.mostTakenAway
    let gone = isGone ? try await deletions(comparison, session) : 0
    let isLogged = max(differing, gone) <= Self.mostTakenAway
    let decision = settings.decision.flatMap { $0.comparison > state.comparison ? $0.side : nil }
    // It is said of tables that were asked about; what is held stays beside the server's.
    if decision == .server, !isLogged, policy.isUnion {
      policy = .serverStands
      session.serverStands.insert(comparison.link.number)
      let number = comparison.link.number
      try reading { () throws(SQLiteError) in try session.debts.forget(of: [number]) }
    }
    if !isLogged, policy.isUnion, decision == nil {
      let found =
        gone > Self.mostTakenAway
        ? "the server has \(gone) rows that the site has deleted" : "\(differing) rows differ"
      undecided[comparison.link.number] =
        "\(found), and nobody has told of them. Say whose stand: "
        + "flotilla mirror \(shellWord(replica.path)) verify --site, or --server"
      throw .again("of \(comparison.link.site.name) \(found)")
    }
    for finding in Comparison.order {
      var last: [Value]?
      while !Task.isCancelled, session.resting[comparison.link.number] == nil {
        let keys = try reading { () throws(SQLiteError) in
          try comparison.keys(finding, after: last, limit: min(session.reach, Self.part))
        }
        guard !keys.isEmpty else { break }
        try await drain(session)
        comparison.settle(finding, upTo: keys.last)
        let found = try await settle(keys, comparison.link, policy, isLogged: isLogged, session)
        differences += found
        if finding == .siteOnly { lacking += found }
        last = keys.last
        note(session)
        publish()
        try await renewIfDue(session)
      }
    }
    try goOn()
    // What was deleted there while nothing noted it looks no other than what was never there.
    if isFilled(comparison.link.number), lacking > 0 {
      log("the server lacked rows of \(comparison.link.site.name): \(lacking) are there again")
    }
    try hold(
      comparison.misfits.map {
        (MirroredRow(comparison.link, key: [.string($0.key)], row: nil), $0.reason)
      }, session)
    return differences
  }

  /// How many rows of the server the site has had, and has deleted.
  private func deletions(
    _ comparison: Comparison, _ session: MirrorSession
  ) async throws(MirrorError) -> Int {
    var (count, last): (Int, [Value]?) = (0, nil)
    while !Task.isCancelled {
      let keys = try reading { () throws(SQLiteError) in
        try comparison.keys(.serverOnly, after: last, limit: Self.part)
      }
      guard !keys.isEmpty else { break }
      count += try await deleted(keys, comparison.link).count { $0 }
      last = keys.last
      try await renewIfDue(session)
    }
    try goOn()
    return count
  }

  /// Whoever ends the work in the middle of it has not done it.
  private func goOn() throws(MirrorError) {
    if Task.isCancelled { throw .again("it was ended") }
  }

  /// Holds rows of the server, as many as are known at most.
  func hold(
    _ rows: [(row: MirroredRow, reason: String)], _ session: MirrorSession
  ) throws(MirrorError) {
    for start in stride(from: 0, to: rows.count, by: Self.part) {
      let room = HeldRows.most - session.held.entries.count
      guard room > 0 else { return log("more rows do not fit than the mirror keeps in mind") }
      let part = rows[start..<min(start + min(Self.part, room), rows.count)]
      try serving { () throws(ServerError) in try session.send([], holding: Array(part)) }
    }
  }

  /// Rows of the server that the site refused wait for those of other tables. What it refuses then,
  /// too, is held: a comparison takes nothing from the server.
  private func settleLate(_ session: MirrorSession) async throws(MirrorError) -> Int {
    var (count, open) = (0, session.late)
    let numbers = Set(open.map(\.link.number))
    while !open.isEmpty {
      session.late = []
      for start in stride(from: 0, to: open.count, by: Self.part) {
        let part = open[start..<min(start + Self.part, open.count)]
        for (_, rows) in Dictionary(grouping: part, by: \.link.number) {
          guard let link = rows.first?.link else { continue }
          let policy: Policy = session.serverStands.contains(link.number) ? .serverStands : .union
          count += try await settle(rows.map(\.key), link, policy, session)
        }
        try await renewIfDue(session)
      }
      guard session.late.count < open.count else { break }
      open = session.late
    }
    try hold(
      session.late.map { (MirroredRow($0.link, key: $0.key, row: nil), MirrorSession.refusal) },
      session)
    session.late = []
    session.unsure.subtract(numbers)
    try serving { () throws(ServerError) in
      try session.ledger.mark(numbers.sorted(), isStale: false)
    }
    return count
  }
}
