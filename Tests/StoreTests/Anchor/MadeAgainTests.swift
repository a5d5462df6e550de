import Replication
import SQLite
import Testing

@testable import Store

/// The anchor's word on what an edit was made on would outrank the edit: its author makes it again.
@Suite struct `An edit that is made again` {
  @Test func `is logged with the reason for which the first one was rejected`() throws {
    let site = try AnchorSite("server-wins")
    let (anchor, a, b) = (site.anchor, site.a, site.b)
    try a.write("INSERT INTO note VALUES ('n', 'first')", at: 10)
    try anchor.pull(from: a)
    try a.write("UPDATE note SET text = 'second' WHERE id = 'n'", at: 20)
    try b.pull(from: a)
    try a.pull(from: anchor)
    #expect(try a.text("n") == "second" && a.version("n")?.epoch == anchor.version("n")?.epoch)
    // The anchor hears of the edit from another node, as it was made first.
    try anchor.pull(from: b)
    #expect(try anchor.text("n") == "first")
    try site.appoint(nil, heardBy: [a])
    try a.pull(from: anchor)
    #expect(try a.text("n") == "first")
    #expect(try a.conflicts() == ["second lost to first: offline (server-wins)"])
    let verdicts = try a.verdicts(of: "n").dropFirst()
    #expect(!verdicts.isEmpty)
    #expect(verdicts.allSatisfy { $0 == "rejected offline server-wins" }, "\(verdicts)")
  }

  /// All but server-wins, under which what was made offline never stands.
  @Test(arguments: ["newest-wins", "client-wins", "server-wins-on-conflict"], [true, false])
  func `is the same edit to who has seen it under its first number`(
    rule: String, isAnchor: Bool
  ) throws {
    let site = try AnchorSite(rule)
    let (anchor, a, other) = (site.anchor, site.a, isAnchor ? site.anchor : site.b)
    try a.write("UPDATE note SET text = 'first' WHERE id = 'r'", at: 10)
    let word = try #require(anchor.pull(from: a).fold.push)
    try a.write("UPDATE note SET text = 'second' WHERE id = 'r'", at: 20)
    try anchor.pull(from: a)
    if !isAnchor { try other.pull(from: anchor) }
    try other.write("UPDATE note SET text = 'over it' WHERE id = 'r' AND text = 'second'", at: 30)
    try anchor.pull(from: other)
    // Only now its author hears of the first one, and makes the second again.
    try a.merge(word, from: anchor)
    #expect(try a.version()?.first == Dot(a.store.own, 2) && a.version()?.dot.seq == 3)
    try site.meet()
    #expect(try site.isEqual && anchor.text() == "over it")
    for replica in site.replicas {
      #expect(try replica.conflicts().isEmpty && replica.pendingTexts.isEmpty)
    }
    #expect(try a.verdicts().last == "accepted \(rule)")
    #expect(try a.verdicts().allSatisfy { !$0.hasPrefix("rejected") })
  }

  /// Its author hears of what it was made on only when somebody is the anchor again, who holds all
  /// edits and says so.
  @Test(arguments: [true, false])
  func `may have lost where nobody was the anchor`(isForced: Bool) throws {
    let site = try AnchorSite("client-wins")
    let (anchor, a) = (site.anchor, site.a)
    try a.write("UPDATE note SET text = 'first' WHERE id = 'r'", at: 10)
    try anchor.pull(from: a)
    try a.write("UPDATE note SET text = 'second' WHERE id = 'r'", at: 20)
    try site.appoint(nil)
    try anchor.pull(from: a)
    #expect(try anchor.text() == "first" && a.text() == "second")
    try site.appoint(anchor, isForced: isForced)
    try a.pull(from: anchor)
    #expect(try a.text() == "second")
    try site.meet()
    #expect(try site.isEqual && anchor.text() == "second")
    for replica in site.replicas {
      #expect(try replica.conflicts().isEmpty && replica.pendingTexts.isEmpty)
    }
    #expect(try a.verdicts().last == "accepted client-wins")
  }

  /// The word on it comes, or nobody judges any more and its author writes the row again.
  @Test(arguments: [true, false])
  func `is told of once, under its first number`(isJudged: Bool) throws {
    let site = try AnchorSite("client-wins")
    let (anchor, a) = (site.anchor, site.a)
    try a.write("UPDATE note SET text = 'first' WHERE id = 'r'", at: 10)
    let word = try #require(anchor.pull(from: a).fold.push)
    try a.write("UPDATE note SET text = 'second' WHERE id = 'r'", at: 20)
    try a.merge(word, from: anchor)
    try a.write("INSERT INTO note VALUES ('n', 'next')", at: 30)
    #expect(try a.version()?.dot.seq == 3)
    if isJudged {
      try site.meet()
    } else {
      try site.appoint(nil, heardBy: [a])
      try a.write("UPDATE note SET text = 'third' WHERE id = 'r'", at: 40)
    }
    let told = try a.store.verdicts.list(after: 0, through: .max, repetitions: false)
    #expect(told.map(\.seq) == [1, 2, 4])
    #expect(told[1].outcome == (isJudged ? .accepted : .superseded))
    #expect(try a.store.verdicts.list(after: 2, through: 3).map(\.outcome) == [told[1].outcome])
  }

  @Test func `is one conflict where it loses, under whichever number`() throws {
    let site = try AnchorSite("server-wins-on-conflict")
    let (anchor, a, b) = (site.anchor, site.a, site.b)
    try a.write("UPDATE note SET text = 'first' WHERE id = 'r'", at: 10)
    let word = try #require(anchor.pull(from: a).fold.push)
    try b.pull(from: anchor)
    try b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 15)
    try anchor.pull(from: b)
    try a.write("UPDATE note SET text = 'second' WHERE id = 'r'", at: 20)
    try anchor.pull(from: a)
    try a.merge(word, from: anchor)
    #expect(try a.text() == "second")
    try site.meet()
    #expect(try site.isEqual && anchor.text() == "of b")
    let log = ["second lost to of b: unseen (server-wins-on-conflict)"]
    #expect(try anchor.conflicts() == log && a.conflicts() == log && b.conflicts().isEmpty)
    #expect(try a.verdicts().last == "rejected unseen server-wins-on-conflict")
  }

  @Test func `may be one of an earlier life`() throws {
    let site = try AnchorSite("client-wins")
    let (anchor, a) = (site.anchor, site.a)
    try a.store.lives.begin(run: 1)
    try a.write("INSERT INTO note VALUES ('n', 'first')", at: 10)
    try anchor.pull(from: a)
    try a.write("UPDATE note SET text = 'second' WHERE id = 'n'", at: 20)
    try a.store.beginLife(
      .behind, origin: Origin(rawValue: 77), life: 77, run: 2, reissuingAbove: nil, at: a.now)
    try a.pull(from: anchor)
    #expect(try a.text("n") == "second" && a.version("n")?.dot.origin == Origin(rawValue: 77))
    try site.meet()
    #expect(try site.isEqual && anchor.text("n") == "second")
    for replica in site.replicas {
      #expect(try replica.conflicts().isEmpty && replica.pendingTexts.isEmpty)
    }
    #expect(try a.verdicts(of: "n").last == "accepted client-wins")
  }

  @Test(arguments: [true, false], [true, false])
  func `may be one that a former anchor certified, when nobody judges any more`(
    isHeardFirst: Bool, isDeleted: Bool
  ) throws {
    let site = try AnchorSite("client-wins")
    let (anchor, a) = (site.anchor, site.a)
    try anchor.write("UPDATE note SET text = 'first' WHERE id = 'r'", at: 10)
    try site.meet()
    // Nobody else hears of this before another one takes over, and certifies what it was made on.
    try anchor.write(
      isDeleted
        ? "DELETE FROM note WHERE id = 'r'" : "UPDATE note SET text = 'second' WHERE id = 'r'",
      at: 20)
    try site.appoint(a, isForced: true)
    try site.appoint(nil, heardBy: isHeardFirst ? [anchor] : [])
    try anchor.pull(from: a)
    let expected = isDeleted ? nil : "second"
    if isHeardFirst { #expect(try anchor.text() == expected) }
    for replica in site.replicas { try site.hear(replica) }
    #expect(try anchor.text() == expected)
    try site.meet()
    #expect(try site.isEqual && a.text() == expected)
    for replica in site.replicas {
      #expect(try replica.conflicts().isEmpty && replica.pendingTexts.isEmpty)
    }
  }

  /// Its value belongs to another row. The word on what it was made over comes when nobody judges.
  @Test func `may be parked`() throws {
    let site = try AnchorSite(
      "client-wins",
      schema: "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT, code TEXT UNIQUE)")
    let (anchor, a, b) = (site.anchor, site.a, site.b)
    try anchor.write("INSERT INTO note VALUES ('p', 'old', NULL)", at: 2)
    try site.meet()
    try a.write("DELETE FROM note WHERE id = 'p'", at: 10)
    try anchor.pull(from: a)
    try b.write("INSERT INTO note VALUES ('q', 'of b', '7')", at: 15)
    try a.write("INSERT INTO note VALUES ('p', 'again', '7')", at: 20)
    try a.pull(from: b)
    #expect(try a.store.tableSurvey.parkedRows().count == 1 && a.text("p") == nil)
    try site.appoint(nil, heardBy: [a])
    try a.pull(from: anchor)
    for replica in site.replicas { try site.hear(replica) }
    try site.meet()
    for replica in site.replicas {
      #expect(try replica.store.tableSurvey.parkedRows().count == 1 && replica.text("q") == "of b")
      #expect(try replica.conflicts().isEmpty && replica.pendingTexts.isEmpty)
    }
    try b.write("UPDATE note SET code = NULL WHERE id = 'q'", at: 30)
    try site.meet()
    #expect(try site.isEqual && anchor.text("p") == "again")
  }

  /// The office goes on, or ends: when the first word is here, or before any is.
  enum Office: CaseIterable { case held, endsBetween, endsBefore }

  @Test(arguments: [true, false], Office.allCases)
  func `may have given way to a word that says the same`(
    isDeleted: Bool, office: Office
  ) throws {
    let site = try AnchorSite("client-wins")
    let (anchor, a, b) = (site.anchor, site.a, site.b)
    let change =
      isDeleted
      ? "DELETE FROM note WHERE id = 'r'" : "UPDATE note SET text = 'first' WHERE id = 'r'"
    try a.write(change, at: 10)
    try anchor.pull(from: a)
    try b.pull(from: anchor)
    try a.write("INSERT OR REPLACE INTO note VALUES ('r', 'second')", at: 20)
    try anchor.pull(from: a)
    try a.write(change, at: 30)
    let expected = isDeleted ? nil : "first"
    // The word on the first edit, which says what the third does; then that on the second.
    if office == .endsBefore { try site.appoint(nil, heardBy: [a]) }
    try a.pull(from: b)
    #expect(try office == .endsBefore || a.pendingTexts == [expected ?? "(deleted)"])
    if office == .endsBetween { try site.appoint(nil, heardBy: [a]) }
    try a.pull(from: anchor)
    #expect(try a.text() == expected)
    for replica in site.replicas { try site.hear(replica) }
    try site.meet()
    #expect(try site.isEqual && anchor.text() == expected)
    for replica in site.replicas {
      #expect(try replica.conflicts().isEmpty && replica.pendingTexts.isEmpty)
    }
  }
}
