import Replication
import SQLite
import Testing

@testable import Store

/// What a program beside the site has of a row, and what the site has.
@Suite struct `A conflict with a program beside the site` {
  private func row(_ text: String, _ id: String = "r") -> OutsideLog.Row {
    [("id", .string(id)), ("text", .string(text))]
  }

  /// Under a rule by which the anchor has certified the row, and where there is none.
  @Test(arguments: [true, false])
  func `names on each side who wrote it`(isCertified: Bool) throws {
    let site = try AnchorSite("newest-wins", appoints: isCertified)
    try site.a.write("UPDATE note SET text = 'author' WHERE id = 'r'", at: 10)
    try site.meet()
    let version = try #require(try site.b.version())
    #expect((version.certificate != nil) == isCertified)
    let (log, file) = (site.b.store.outsideLog(of: ["NOTE"]), site.b.application)
    let (here, there) = (site.b.store.own, site.a.store.own)
    func sides(
      _ lost: OutsideLog.Row, isOwn: Bool, _ stands: OutsideLog.Row?
    ) throws -> (loser: ConflictSide?, winner: ConflictSide?) {
      try log.note(
        "note", keyCount: 1, lost: lost, isDelete: false, isOwn: isOwn, stands: stands, .older,
        at: 5_000_000, on: file)
      let noted = try #require(try site.b.store.conflictLog.list(all: true).first)
      return (noted.loser, noted.winner)
    }
    let theirs = try sides(row("server"), isOwn: true, row("author"))
    #expect(theirs.loser?.author == here && theirs.winner?.author == there)
    #expect(theirs.winner?.stamp == version.stamp)
    let ours = try sides(row("author"), isOwn: false, row("server"))
    #expect(ours.loser?.author == there && ours.winner?.author == here)
    #expect(ours.loser?.stamp == version.stamp)
    // Nobody knows of that one.
    let unknown = try sides(row("?", "x"), isOwn: false, row("server", "x"))
    #expect(unknown.loser?.author?.rawValue ?? 0 == 0 && unknown.winner?.author == here)
    try log.noteRekeyed(
      "note", keyCount: 1, lost: row("server"), stands: row("author"), next: [.string("s")],
      rows: 0, at: 5_000_000, on: file)
    let moved = try #require(try site.b.store.conflictLog.list(all: true).first)
    #expect(moved.loser?.author == here && moved.winner?.author == there)
  }
}
