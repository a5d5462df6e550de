import Replication
import SQLite

/// The judged frontier: up to where the anchor has said its word.
extension Store {
  /// At the anchor everything that came whole is judged: its frontier is the judged one.
  ///
  /// Others hear of that with a version of the anchor: where it has judged nothing and the frontier
  /// moves all the same, it says once more that it is in office.
  func moveJudged(_ edits: inout Edits, at now: Instant) throws {
    anchor.isJudging = try office.part == .judging && due.areAny()
    guard office.part == .judging, !anchor.isJudging else { return }
    if edits.count == 0, judged.isBehind(origins.frontier, of: own, in: office.term) {
      try rule(.tookOffice, &edits, at: now)
      try finish(&edits)
    }
    try join(Judged(term: office.term, frontier: origins.frontier), at: now)
  }

  /// Takes in what was judged; the certificates that belong to it are in this commit or before it.
  func join(_ news: Judged, at now: Instant) throws {
    let before = judged
    judged.join(news)
    judged = try told(judged)
    guard judged != before else { return }
    try anchor.saveJudged()
    try followJudged(limit: pace.judgedAtOnce, at: now)
  }

  /// What is judged waits no more, and the edits of this node get their verdicts: a slice of it.
  func followJudged(limit: Int, at now: Instant) throws {
    for item in try decided(limit: limit) { try release(item, at: now) }
    try verdicts.settle(limit: limit, at: now)
  }

  /// Whether that leaves something to do in a transaction of its own.
  func hasUnfollowed() throws(SQLiteError) -> Bool {
    guard try decided(limit: 1).isEmpty else { return true }
    return try verdicts.hasOpen()
  }

  private func decided(limit: Int) throws(SQLiteError) -> [PendingTable.Item] {
    // At the anchor nothing waits for anybody else's word.
    guard office.isHeld, !office.certifies, judged.term >= office.term else { return [] }
    return try pending.covered(by: judged.frontier, limit: limit)
  }
}
