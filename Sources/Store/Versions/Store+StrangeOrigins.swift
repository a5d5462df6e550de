import Replication
import SQLite

/// Origins of which nobody knows the author have little room: else a member that invents 16,380 of
/// them fills every frontier, and no node that begins anew could be heard any more.
extension Store {
  /// Throws if a frontier would have too many origins that belong to nobody.
  ///
  /// Whose an origin is follows from the lives that members have shown (`note(_:)`), or signed for.
  func requireRoom(for news: Frontier) throws(StoreError) {
    let mine = origins.frontier
    let added = news.beyond(mine).keeping { mine[$0] == 0 }
    guard !added.isEmpty, mine.list.count + added.list.count > Limits.strangeOrigins else { return }
    let known = try knownOrigins()
    let strange = mine.joined(added).keeping { !known.contains($0) }
    guard strange.list.count > Limits.strangeOrigins,
      !added.list.allSatisfy({ known.contains($0.origin) })
    else { return }
    throw StoreError(.wire, "more than \(Limits.strangeOrigins) origins belong to no member")
  }

  /// What was judged, without origins that nobody holds or knows, where it has very many.
  func told(_ judged: Judged) throws(StoreError) -> Judged {
    guard judged.frontier.list.count > Limits.strangeOrigins else { return judged }
    let known = try knownOrigins()
    let held = origins.frontier
    var judged = judged
    judged.frontier = judged.frontier.keeping { held[$0] > 0 || known.contains($0) }
    if judged.frontier.list.count > Limits.frontierEntries {
      judged.frontier = judged.frontier.keeping { held[$0] > 0 }
    }
    return judged
  }

  private func knownOrigins() throws(StoreError) -> Set<Origin> {
    let rows = try reporting { () throws(SQLiteError) in
      try connection.rows("SELECT origin FROM _flotilla_author")
    }
    let found = rows.compactMap { $0[0].integer.map { Origin(rawValue: UInt64(bitPattern: $0)) } }
    return Set(found).union(lives.reaches.book.furthest.keys).union([own])
  }

  /// Refuses an epoch that nobody can have reached: nobody could edit the row after that.
  @_optimize(speed)
  func requireReached(_ rows: [ShapedRow], at now: Instant) throws(StoreError) {
    let latest = Stamp(millisecondsSince1970: now.moment + SiteClock.farthest)
    guard let row = rows.first(where: { !$0.row.version.isReached(by: latest) }) else { return }
    let text = "no site has counted \(row.row.version.epoch) epochs"
    throw StoreError(.wire, "\(text), as a row of \(quoted(row.shape.name)) has it")
  }
}
