import Replication
import SQLite
import Testing

@testable import Store

/// What an anchor makes of the edits of others.
@Suite struct `The verdicts of an anchor` {
  @Test func `are given in the order of the stamps, whatever came first`() throws {
    for (rule, last, reports) in [
      ("client-wins", "late", ["early lost to late: unseen (client-wins)"]),
      ("newest-wins", "late", ["early lost to late: older (newest-wins)"]),
      (
        "server-wins-on-conflict", "early",
        ["late lost to early: unseen (server-wins-on-conflict)"]
      ),
      (
        "server-wins", "base",
        [
          "early lost to base: offline (server-wins)", "late lost to base: offline (server-wins)",
        ]
      ),
    ] {
      let site = try AnchorSite(rule)
      try site.a.write("UPDATE note SET text = 'late' WHERE id = 'r'", at: 20)
      try site.b.write("UPDATE note SET text = 'early' WHERE id = 'r'", at: 10)
      // The later edit comes first, and stands at both until they are judged.
      try site.meet([site.a, site.b])
      #expect(try site.b.text() == "late")
      try site.anchor.pull(from: site.a)
      #expect(try site.anchor.text() == last, "\(rule)")
      #expect(try site.anchor.conflicts() == reports, "\(rule)")
      try site.meet()
      #expect(try site.isEqual, "\(rule)")
      #expect(try site.a.text() == last, "\(rule)")
      #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty }, "\(rule)")
      // Of each conflict its author knows, and the anchor.
      let losers = (try site.a.conflicts(), try site.b.conflicts())
      #expect(losers.0 == reports.filter { $0.hasPrefix("late") }, "\(rule)")
      #expect(losers.1 == reports.filter { $0.hasPrefix("early") }, "\(rule)")
    }
  }

  /// Whoever asks for rows would else wait for all verdicts, and a program for a free lock.
  @Test func `are not waited for by an export, which goes on without them`() throws {
    var pace = Pace()
    (pace.judgedAtOnce, pace.judgedWhole, pace.judgedRows) = (1, 2, 2)
    let site = try AnchorSite("client-wins", pace: pace)
    let rows = (1...10).map { "('n\($0)', 'new')" }.joined(separator: ", ")
    try site.a.write("INSERT INTO note VALUES \(rows)", at: 10)
    try site.anchor.pull(from: site.a)
    let before = try site.anchor.pendingTexts.count
    #expect(before > 0)
    let opened = try site.anchor.store.openExport(.above(Frontier()), at: site.anchor.now)
    try site.anchor.store.closeExport(opened.id)
    #expect(try opened.fold.hasMore && site.anchor.pendingTexts.count == before)
    // What was judged by then is told, and the rest comes after it.
    try site.b.pull(from: site.anchor)
    try site.meet()
    #expect(try site.isEqual && site.a.content("note").count == 11)
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
    let verdicts = try (1...10).map { try site.a.verdicts(of: "n\($0)") }
    #expect(verdicts == Array(repeating: ["accepted client-wins"], count: 10))
  }

  /// Each commit of a long exchange asks what is due: all that came of it was looked through, and
  /// that took a time that grew with the square of the rows.
  @Test func `are not looked for among edits that have yet to come whole`() throws {
    var pace = Pace()
    (pace.judgedAtOnce, pace.batchRows) = (0, 100)
    let site = try AnchorSite("client-wins", pace: pace)
    let rows = (1...3_000).map { "('n\($0)', 'new')" }.joined(separator: ", ")
    try site.a.write("INSERT INTO note VALUES \(rows)", at: 10)
    let (covers, batches) = try site.a.export(above: site.anchor.store.position.frontier)
    try site.anchor.mergeSlice(Array(batches.dropLast()), covers: covers, from: site.a)
    try site.b.write("INSERT INTO note VALUES ('late', 'new')", at: 20)
    try site.anchor.pull(from: site.b)
    let pending = site.anchor.store.pending
    #expect(pending.count > 2_000)
    var steps = 0
    site.anchor.store.connection.setWatch(every: 10) {
      steps += 10
      return true
    }
    let next = try site.anchor.store.due.take(500, beside: Deferral())
    let isDue = try site.anchor.store.due.areAny()
    site.anchor.store.connection.setWatch(every: 0, nil)
    let dot = try site.b.version("late")?.dot
    #expect(next.map(\.dot) == [dot] && isDue)
    #expect(steps < 1_000)
    try site.anchor.pull(from: site.a)
    try site.meet()
    #expect(try site.isEqual && site.anchor.pendingTexts.isEmpty)
  }

  /// The rest of many edits is no small exchange, which is judged whole: the lock would be held for
  /// all of it.
  @Test func `about many edits come in slices to the last one`() throws {
    var pace = Pace()
    (pace.judgedAtOnce, pace.judgedWhole, pace.judgedRows) = (0, 4, 2)
    let site = try AnchorSite("client-wins", pace: pace)
    for (count, slices) in [(10, [8, 6, 4, 2, 0]), (4, [0])] {
      let rows = (1...count).map { "('\(count) \($0)', 'new')" }.joined(separator: ", ")
      try site.a.write("INSERT INTO note VALUES \(rows)", at: 10)
      try site.anchor.pull(from: site.a)
      #expect(site.anchor.store.position.isJudging && !site.a.store.position.isJudging)
      var left: [Int] = []
      while try site.anchor.store.fold(at: site.anchor.now).hasMore {
        left.append(try site.anchor.pendingTexts.count)
      }
      left.append(try site.anchor.pendingTexts.count)
      #expect(Array(left.prefix(slices.count)) == slices)
      #expect(left.dropFirst(slices.count).allSatisfy { $0 == 0 })
      #expect(!site.anchor.store.position.isJudging)
    }
  }

  @Test func `are given in one order, however few are read at a time`() throws {
    var pace = Pace()
    pace.judgedAtOnce = 0
    let site = try AnchorSite("client-wins", pace: pace)
    for (name, author) in [("a", site.a), ("b", site.b)] {
      let rows = (1...5).map { "('\(name)\($0)', 'new')" }.joined(separator: ", ")
      try author.write("INSERT INTO note VALUES \(rows)", at: 10)
      try site.anchor.pull(from: author)
    }
    let store = site.anchor.store
    func due(_ limit: Int) throws -> ArraySlice<DueEdit> {
      try DueEdits(store.connection, store.versions, store.pending).take(limit, beside: Deferral())
    }
    let all = try due(100)
    #expect(all.count == 10 && Set(all.map(\.stamp)).count == 1)
    let dots = all.map(\.dot)
    #expect(dots == dots.sorted())
    for count in 1...10 {
      let found = try due(count).map(\.dot)
      #expect(found == Array(dots.prefix(count)))
    }
  }

  @Test func `reach the author, with the reason and the rule`() throws {
    let site = try AnchorSite("server-wins-on-conflict")
    try site.a.write("UPDATE note SET text = 'one' WHERE id = 'r'", at: 10)
    try site.b.write("UPDATE note SET text = 'two' WHERE id = 'r'", at: 20)
    #expect(try site.a.verdicts() == ["pending"])
    #expect(try site.a.store.verdicts.unjudgedCount() == 1)
    try site.meet()
    #expect(try site.a.verdicts() == ["accepted server-wins-on-conflict"])
    #expect(try site.b.verdicts() == ["rejected unseen server-wins-on-conflict"])
    #expect(try site.b.store.verdicts.unjudgedCount() == 0)
    #expect(try site.b.text() == "one")
  }

  @Test func `travel through others to an author who never meets the anchor`() throws {
    let site = try AnchorSite("server-wins")
    try site.a.write(
      "UPDATE note SET text = 'mine' WHERE id = 'r'; INSERT INTO note VALUES ('n', 'new')", at: 10)
    for _ in 0..<3 {
      try site.meet([site.a, site.b])
      try site.meet([site.b, site.anchor])
    }
    try site.meet([site.a, site.b])
    #expect(try site.a.verdicts(of: "r") == ["rejected offline server-wins"])
    #expect(try site.a.verdicts(of: "n") == ["accepted server-wins"])
    #expect(try site.a.conflicts() == ["mine lost to base: offline (server-wins)"])
    #expect(try site.b.conflicts().isEmpty)
    #expect(try site.isEqual)
  }

  @Test func `are the same in the push that an anchor sends`() throws {
    let site = try AnchorSite("server-wins")
    try site.a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    let outcome = try site.anchor.pull(from: site.a)
    let push = try #require(outcome.fold.push)
    let merge = Merge(
      sender: site.anchor.store.node,
      kind: .push(origin: push.origin, from: push.from, to: push.to), batches: [push.batch],
      rowsBefore: 0, checkBefore: 0, end: End(rows: push.rows, check: push.check),
      movesFrontier: true)
    // Without the judged frontier the certificate alone is no verdict.
    for judged in [nil, push.judged] {
      var merge = merge
      merge.judged = judged
      if judged == nil {
        let other = try TestReplica(5, schema: AnchorSite.schema)
        try other.pull(from: site.b)
        try site.hear(other)
        _ = try other.store.merge(merge, at: other.now)
        #expect(other.store.currentJudged.frontier[site.a.origin] == 0)
        continue
      }
      _ = try site.a.store.merge(merge, at: site.a.now)
      #expect(try site.a.verdicts() == ["rejected offline server-wins"])
      #expect(try site.a.text() == "base")
      #expect(try site.a.conflicts() == ["mine lost to base: offline (server-wins)"])
    }
  }

  @Test func `count only at the end of the exchange that brings their certificates`() throws {
    let site = try AnchorSite("server-wins")
    try site.a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    try site.anchor.pull(from: site.a)
    let before = site.a.store.currentJudged
    let held = site.a.store.position.frontier
    let (covers, batches, judged) = try site.anchor.wholeExport(.above(held))
    try site.a.mergeSlice(batches, covers: covers, from: site.anchor)
    #expect(site.a.store.currentJudged == before)
    #expect(try site.a.verdicts() == ["pending"])
    // An exchange that pauses has not ended either.
    var pause = Merge(
      sender: site.anchor.store.node, kind: .full(covers: covers), batches: batches.map(\.bytes),
      rowsBefore: 0, checkBefore: 0, end: End(batches), movesFrontier: false)
    pause.judged = judged
    _ = try site.a.store.merge(pause, at: site.a.now)
    #expect(site.a.store.currentJudged == before)
    #expect(try site.a.pendingTexts == ["mine"])
    try site.a.pull(from: site.anchor)
    #expect(try site.a.verdicts() == ["rejected offline server-wins"])
  }

  @Test func `wait until a catch-up that brings edits in slices has come to its end`() throws {
    let site = try AnchorSite("client-wins")
    try site.a.write("UPDATE note SET text = 'late' WHERE id = 'r'", at: 20)
    try site.b.write("UPDATE note SET text = 'early' WHERE id = 'r'", at: 10)
    try site.meet([site.a, site.b])
    let held = site.anchor.store.position.frontier
    let (covers, batches) = try site.a.export(above: held)
    try site.anchor.mergeSlice(batches, covers: covers, from: site.a)
    try site.anchor.foldAll()
    #expect(try site.anchor.text() == "base")
    #expect(try site.anchor.pendingTexts == ["early", "late"])
    try site.anchor.reopen()
    try site.anchor.pull(from: site.a)
    #expect(try site.anchor.text() == "late")
  }

  @Test func `do not touch what an author wrote over before it was judged`() throws {
    let site = try AnchorSite("newest-wins")
    try site.a.write("UPDATE note SET text = 'first try' WHERE id = 'r'", at: 10)
    try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 20)
    try site.meet([site.a, site.b])
    #expect(try site.a.pendingTexts == ["first try"])
    try site.a.write("UPDATE note SET text = 'second try' WHERE id = 'r'", at: 30)
    // What was written over is known by its name alone: its content is with b.
    #expect(try site.a.pendingTexts == ["?"])
    try site.meet()
    #expect(
      try site.a.verdicts() == ["superseded newest-wins", "accepted newest-wins"])
    #expect(try site.b.verdicts() == ["accepted newest-wins"])
    #expect(try site.anchor.conflicts().isEmpty)
    #expect(
      try site.a.conflicts() == ["first try lost to NULL: older (newest-wins)"])
    #expect(try site.isEqual)
  }

  @Test func `follow the rule that the anchor has when it judges`() throws {
    for (before, after, text) in [
      ("server-wins", "client-wins", "mine"), ("client-wins", "server-wins", "base"),
    ] {
      let site = try AnchorSite(before)
      try site.a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
      try site.anchor.store.track(["note"], rule: after, at: site.anchor.now)
      try site.meet()
      #expect(try site.anchor.text() == text)
      #expect(try site.a.verdicts().first?.hasSuffix(after) == true)
      #expect(try site.isEqual)
    }
  }

  @Test func `are one per edit, by whatever ways it comes`() throws {
    let site = try AnchorSite("server-wins")
    try site.a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    let (covers, batches) = try site.a.export(above: site.anchor.store.position.frontier)
    try site.b.pull(from: site.a)
    for _ in 0..<2 {
      try site.anchor.merge(batches, .full(covers: covers), from: site.a)
      try site.anchor.pull(from: site.b)
      try site.anchor.merge(batches, .repair, from: site.a)
      try site.anchor.reopen()
    }
    try site.meet()
    for replica in [site.anchor, site.a] {
      #expect(try replica.conflicts() == ["mine lost to base: offline (server-wins)"])
      let rulings = "SELECT count(*) FROM _flotilla_ruling WHERE kind < 128"
      #expect(try replica.value(rulings) == .integer(1))
    }
  }

  @Test func `fall on what no frontier covers once a repair has brought it`() throws {
    let site = try AnchorSite("newest-wins")
    try site.a.write("UPDATE note SET text = 'mine'", at: 10)
    try site.a.write("INSERT INTO note VALUES ('n', 'new')", at: 11)
    let known = site.b.store.position.frontier
    let (_, batches) = try site.a.export(above: known)
    // Who had to forget what it covers holds the rows all the same.
    try site.b.merge(batches, .repair, from: site.a)
    // Not judged while the sender may cover more than is here: the rest may be on its way.
    try site.anchor.merge(
      batches, .repair, from: site.b, held: known.joined(Frontier([site.a.origin: 99])))
    #expect(try site.anchor.text() == "base" && site.anchor.text("n") == nil)
    try site.anchor.merge(batches, .repair, from: site.b, held: known)
    #expect(try site.anchor.text() == "mine" && site.anchor.text("n") == "new")
    #expect(try site.anchor.version("n")?.isTentative == false)
    try site.meet()
    #expect(try site.isEqual)
    #expect(try site.a.verdicts() == ["accepted newest-wins", "accepted newest-wins"])
  }

  @Test func `are none on what stood unjudged and comes back to a table that was dropped`() throws {
    let site = try AnchorSite("newest-wins", appoints: false)
    try site.a.write("INSERT INTO note VALUES ('n', 'as it was')", at: 5)
    try site.meet()
    try site.appoint(site.anchor)
    try site.meet()
    let before = try #require(try site.anchor.version("n"))
    #expect(before.isTentative)
    try site.anchor.write("DROP TABLE note")
    try site.anchor.foldAll()
    try site.anchor.write(AnchorSite.schema)
    try site.anchor.foldAll()
    try site.anchor.repair(from: site.a)
    try site.anchor.foldAll()
    #expect(try site.anchor.text("n") == "as it was" && site.anchor.version("n") == before)
    try site.meet()
    #expect(try site.isEqual)
  }

  @Test(arguments: [true, false])
  func `on a row of 2 MB carry it whole`(isAccepted: Bool) throws {
    let site = try AnchorSite(isAccepted ? "client-wins" : "server-wins")
    try site.a.write("UPDATE note SET text = 'mine' || hex(zeroblob(1000000))", at: 10)
    let long = try #require(try site.a.text())
    try site.meet()
    let kept = isAccepted ? try site.b.text() : "base"
    #expect(try site.b.text() == kept)
    if isAccepted {
      #expect(try site.b.text() == long)
    } else {
      for replica in [site.anchor, site.a] {
        #expect(try replica.conflicts() == ["\(long) lost to base: offline (server-wins)"])
      }
    }
    #expect(try site.isEqual)
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
  }

  @Test func `two rows of 2 MB in conflict stay whole on both sides`() throws {
    let site = try AnchorSite("newest-wins")
    try site.a.write("UPDATE note SET text = 'a' || hex(zeroblob(1000000))", at: 10)
    try site.b.write("UPDATE note SET text = 'b' || hex(zeroblob(1000000))", at: 20)
    let (mine, yours) = (try site.a.text() ?? "", try site.b.text() ?? "")
    try site.meet([site.a, site.b])
    try site.meet()
    for replica in [site.anchor, site.a] {
      #expect(try replica.conflicts() == ["\(mine) lost to \(yours): older (newest-wins)"])
    }
    #expect(try site.isEqual && site.b.conflicts().isEmpty)
  }

  @Test func `on deletes, and on edits of what was deleted`() throws {
    let site = try AnchorSite("newest-wins")
    // Both delete: no conflict.
    try site.a.write("DELETE FROM note", at: 10)
    try site.b.write("DELETE FROM note", at: 20)
    try site.meet()
    #expect(try site.replicas.allSatisfy { try $0.conflicts().isEmpty && $0.text() == nil })
    #expect(try site.a.verdicts() == ["accepted newest-wins"])
    #expect(try site.b.verdicts() == ["accepted newest-wins"])
    // Written again under a key whose delete was seen.
    try site.a.write("INSERT INTO note VALUES ('r', 'again')", at: 30)
    try site.meet()
    #expect(try site.anchor.text() == "again")
    // Deleted by one, edited later by another who had not seen that.
    try site.a.write("DELETE FROM note", at: 40)
    try site.b.write("UPDATE note SET text = 'edited' WHERE id = 'r'", at: 50)
    try site.meet()
    #expect(try site.b.verdicts().last == "rejected already-deleted newest-wins")
    #expect(try site.replicas.allSatisfy { try $0.text() == nil })
    for replica in [site.anchor, site.b] {
      #expect(
        try replica.conflicts() == ["edited lost to (deleted): already-deleted (newest-wins)"])
    }
  }

  @Test func `on two rows under one key`() throws {
    for (rule, reason) in [("client-wins", "key-collision"), ("newest-wins", "key-collision")] {
      let site = try AnchorSite(rule)
      try site.a.write("INSERT INTO note VALUES ('k', 'of a')", at: 10)
      try site.b.write("INSERT INTO note VALUES ('k', 'of b')", at: 20)
      try site.meet()
      #expect(try site.anchor.text("k") == "of a")
      #expect(try site.b.verdicts() == ["rejected \(reason) \(rule)"])
      #expect(try site.b.conflicts() == ["of b lost to of a: \(reason) (\(rule))"])
      #expect(try site.isEqual)
      // The same row, by chance, is no collision.
      try site.a.write("INSERT INTO note VALUES ('l', 'same')", at: 30)
      try site.b.write("INSERT INTO note VALUES ('l', 'same')", at: 40)
      try site.meet()
      #expect(try site.replicas.map { try $0.conflicts().count } == [1, 0, 1])
      #expect(try site.b.verdicts(of: "l") == ["accepted \(rule)"])
      #expect(try site.isEqual)
    }
  }

  @Test(arguments: ["newest-wins", "client-wins", "server-wins-on-conflict"])
  func `do not undo an edit for one that it was made on, which comes later`(rule: String) throws {
    let site = try AnchorSite(rule)
    try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 10)
    try site.a.pull(from: site.b)
    let from = site.a.store.position.frontier[site.a.origin]
    try site.a.write("UPDATE note SET text = 'over b'")
    let push = try #require(try site.a.store.fold(at: site.a.now).push)
    #expect(push.from == from)
    _ = try site.anchor.store.merge(
      Merge(
        sender: site.a.store.node,
        kind: .push(origin: push.origin, from: push.from, to: push.to), batches: [push.batch],
        rowsBefore: 0, checkBefore: 0, end: End(rows: push.rows, check: push.check),
        movesFrontier: true), at: site.anchor.now)
    #expect(try site.anchor.text() == "over b")
    try site.anchor.pull(from: site.b)
    #expect(try site.anchor.text() == "over b")
    try site.meet()
    #expect(try site.isEqual && site.b.text() == "over b")
    #expect(try site.replicas.allSatisfy { try $0.conflicts().isEmpty && $0.pendingTexts.isEmpty })
    #expect(try site.b.verdicts() == ["accepted \(rule)"])
  }

  @Test func `are given also on an edit that another wrote over before it was judged`() throws {
    for (rule, verdict) in [
      ("server-wins", "rejected offline server-wins"), ("newest-wins", "accepted newest-wins"),
      ("client-wins", "accepted client-wins"),
    ] {
      let site = try AnchorSite(rule)
      try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 10)
      try site.a.pull(from: site.b)
      try site.a.write("UPDATE note SET text = 'over b' WHERE id = 'r'", at: 20)
      // What covers the edit of b comes from a, who has its content no more.
      try site.anchor.pull(from: site.a)
      try site.anchor.foldAll()
      try site.meet()
      #expect(try site.isEqual)
      #expect(try site.b.verdicts() == [verdict])
      let log = rule == "server-wins" ? ["of b lost to base: offline (server-wins)"] : []
      #expect(try site.b.conflicts() == log)
      #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
    }
  }

  @Test(arguments: ["newest-wins", "client-wins"])
  func `are not given twice when the certificate of an earlier anchor comes late`(
    rule: String
  ) throws {
    let site = try AnchorSite(rule, count: 4)
    let (first, a, b, second) = (site.anchor, site.a, site.b, site.replicas[3])
    try a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 10)
    try b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 20)
    // The first anchor certifies what the second one does, and nobody hears of it.
    try first.pull(from: a)
    try site.appoint(second, isForced: true, heardBy: [a, b, second])
    try site.meet([a, second])
    #expect(try a.verdicts().last == "accepted \(rule)")
    try site.meet([b, second])
    #expect(try second.text() == "of b")
    let conflict = try second.conflicts()
    #expect(conflict.count == 1)
    try site.hear(first)
    try site.meet()
    #expect(try site.isEqual && a.text() == "of b")
    #expect(try a.verdicts().last == "accepted \(rule)")
    let rulings = "SELECT count(*) FROM _flotilla_ruling WHERE kind < 128"
    #expect(try second.value(rulings) == .integer(0))
    #expect(try second.conflicts() == conflict && a.conflicts() == conflict)
    #expect(try b.conflicts().isEmpty && site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
    // In a later term they are judged like all others.
    try site.appoint(first)
    #expect(try second.value("SELECT count(*) FROM _flotilla_overruled") == .integer(0))
  }

  @Test func `on a table that was just tracked elsewhere`() throws {
    let site = try AnchorSite(
      "server-wins",
      schema: AnchorSite.schema + "; CREATE TABLE bill(id TEXT PRIMARY KEY NOT NULL, sum INTEGER)")
    try site.anchor.write("INSERT INTO bill VALUES ('both', 1), ('own', 1)")
    try site.a.write("INSERT INTO bill VALUES ('both', 2), ('new', 2)")
    try site.a.store.track(["bill"], rule: "client-wins", at: site.a.now)
    try site.a.foldAll()
    try site.meet()
    let contents = try site.replicas.map { try $0.content("bill") }
    #expect(contents[0].count == 3 && contents[1] == contents[0] && contents[2] == contents[0])
    // Who tracks a table says what its rows are; what was elsewhere is kept in the log.
    #expect(try site.b.value("SELECT sum FROM bill WHERE id = 'both'") == .integer(2))
    #expect(try site.anchor.store.conflictLog.list(all: true).map(\.table) == ["bill"])
    #expect(try site.replicas.allSatisfy { try $0.store.trackedTables().count == 2 })
    #expect(try site.replicas.allSatisfy { try $0.store.verdicts.unjudgedCount() == 0 })
    try site.anchor.store.untrack(["bill"], at: site.anchor.now)
    try site.meet()
    #expect(try site.replicas.allSatisfy { try $0.store.trackedTables().count == 1 })
  }

  /// Its author was lost for good in the middle of a long exchange.
  @Test(arguments: [("client-wins", "mine"), ("server-wins", "base")])
  func `come for what was compared, though the rest of its exchange never does`(
    rule: String, expected: String
  ) throws {
    let site = try AnchorSite(rule)
    let (anchor, a, b) = (site.anchor, site.a, site.b)
    try a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    let (covers, batches) = try a.export(.above(b.store.position.frontier))
    try b.mergeSlice(batches, covers: covers, from: a)
    #expect(try b.text() == "mine" && b.store.position.frontier[a.store.own] == 0)
    try anchor.pull(from: b)
    #expect(try anchor.text() == "base" && anchor.pendingTexts == ["mine"])
    // The frontiers are equal then, and the digests are not.
    try b.pull(from: anchor)
    let (_, all) = try b.export(.above(Frontier()))
    try anchor.merge(all, .repair, from: b)
    try b.pull(from: anchor)
    for replica in [anchor, b] {
      #expect(try replica.text() == expected && replica.version()?.isTentative == false)
    }
    #expect(try anchor.pendingTexts.isEmpty)
    #expect(anchor.store.position.digest == b.store.position.digest)
    #expect(anchor.store.position.frontier[a.store.own] == 0)
    // The author is there again after all.
    try site.meet()
    #expect(try site.isEqual && a.text() == expected)
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
    #expect(try a.conflicts().count == (expected == "mine" ? 0 : 1))
    #expect(try anchor.conflicts().count == (expected == "mine" ? 0 : 1))
  }

  /// What two have written of the same new row stands for both, by the later time: a delete that
  /// was made in between is older.
  @Test func `go by the later time of two that say the same`() throws {
    let site = try AnchorSite("newest-wins")
    try site.anchor.write("INSERT INTO note VALUES ('n', 'new')", at: 30)
    try site.a.write("INSERT INTO note VALUES ('n', 'new')", at: 10)
    try site.b.write("INSERT INTO note VALUES ('n', 'new')", at: 10)
    try site.b.write("DELETE FROM note WHERE id = 'n'", at: 20)
    try site.meet([site.anchor, site.a])
    #expect(try site.a.verdicts() == ["accepted newest-wins"])
    try site.meet()
    #expect(try site.isEqual && site.b.text("n") == "new")
    #expect(try site.b.verdicts().last == "rejected older newest-wins")
  }
}
