import Replication
import SQLite
import Testing

@testable import Store

/// Letting go of deleted versions.
@Suite struct `Deleted versions` {
  private let site: CollectionSite
  private var a: TestReplica { site.site.a }
  private var b: TestReplica { site.site.b }

  init() throws {
    site = try CollectionSite()
    try a.write("INSERT INTO note VALUES ('x', 'x'), ('y', 'y'), ('z', 'z')", at: 10)
    try site.site.meet()
    try a.write("DELETE FROM note WHERE id IN ('x', 'y')", at: 20)
  }

  @Test func `go everywhere once everybody has them`() throws {
    #expect(try site.collect() == 6)
    for replica in site.replicas {
      #expect(try replica.deletions == 0)
      #expect(!replica.store.stability.standing.isBehind)
    }
    #expect(try site.site.isEqual)
    #expect(try a.text("z") == "z")
  }

  @Test func `stay while one member is away`() throws {
    try site.site.meet([site.site.anchor, a])
    #expect(try site.collect([site.site.anchor, a]) == 0)
    #expect(try a.deletions == 2)
  }

  @Test func `stay as long as they are kept`() throws {
    try site.site.meet()
    for replica in site.replicas {
      let done = try replica.store.tend(members: site.members, id: 1, pause: 0, at: replica.now)
      #expect(done.collected == 0)
    }
    #expect(a.store.stability.cut == nil)
  }

  @Test func `are outranked by a row that is made anew where they are forgotten`() throws {
    try site.collect()
    // By a clock that is far behind.
    try b.write("INSERT INTO note VALUES ('x', 'again')", at: 5)
    try site.site.meet()
    let floor = b.store.stability.floors.buckets.values.max()
    #expect(try floor.map { try b.version("x")?.stamp ?? .zero > $0.stamp } == true)
    #expect(try a.text("x") == "again")
    #expect(try a.conflicts() == [])
  }

  @Test func `do not come back with an exchange that had begun before`() throws {
    // b has all three rows, and has not heard of the deletes.
    let (covers, batches) = try b.export(above: Frontier())
    try site.collect()
    #expect(try a.deletions == 0)
    try a.merge(batches, .full(covers: covers), from: b)
    #expect(try a.text("x") == nil && a.text("y") == nil)
    #expect(try site.site.isEqual)
    // What was asked for because something is amiss is another thing: perhaps it was lost here.
    try a.merge(batches, .repair, from: b)
    #expect(try a.text("x") == "x")
  }

  /// A node begins a commit now and then that it gives up, and looks at a few versions between.
  @Test func `are found though transactions are rolled back between the slices`() throws {
    try site.site.meet()
    struct Failure: Error {}
    for round in 1...60 {
      try site.collectOnce(id: UInt64(round), pause: 1 << 40, limit: 2)
      for one in site.replicas {
        #expect(throws: StoreError.self) { try one.store.transaction { throw Failure() } }
      }
    }
    #expect(try site.replicas.map { try $0.deletions } == [0, 0, 0])
  }

  @Test func `of settings stay`() throws {
    try a.store.untrack(["note"], at: a.now)
    try site.site.meet()
    try site.collect()
    let kept = try a.value(
      """
      SELECT count(*) FROM _flotilla_version AS v JOIN _flotilla_local AS l ON l.id = v.tbl
      WHERE v.hash IS NULL AND l.name = '_flotilla_table'
      """)
    #expect(kept.integer == 1)
  }

  @Test func `that are forgotten by one only do not make digests differ`() throws {
    let before = try a.backUp()
    try site.collect()
    let digest = a.store.position.digest
    try a.restore(before)
    try a.foldAll()
    #expect(a.store.position.digest == digest)
  }

  @Test func `are kept while an anchor has not judged`() throws {
    let site = try CollectionSite("client-wins", appoints: true)
    let (a, b) = (site.site.a, site.site.b)
    try a.write("INSERT INTO note VALUES ('x', 'x')", at: 10)
    try site.site.meet()
    try a.write("DELETE FROM note WHERE id = 'x'", at: 20)
    // The anchor is away.
    site.members = [a.store.node, b.store.node]
    #expect(try site.collect([a, b]) == 0)
    #expect(try a.deletions == 1)
    site.members.insert(site.site.anchor.store.node)
    #expect(try site.collect() == 3)
    #expect(try site.site.isEqual)
  }
}

/// Coming back after deleted versions were let go of.
@Suite struct `A replica that was away` {
  private let site: CollectionSite
  private var a: TestReplica { site.site.a }
  private var b: TestReplica { site.site.b }

  /// `b` is away while rows are deleted and forgotten.
  init() throws {
    site = try CollectionSite()
    try a.write(
      "INSERT INTO note VALUES ('gone', 'a'), ('stays', 'a'), ('edited', 'a'), ('late', 'a')",
      at: 10)
    try b.write("INSERT INTO note VALUES ('mine', 'b')", at: 11)
    try site.site.meet()
    try a.write("DELETE FROM note WHERE id IN ('gone', 'mine', 'edited', 'late')", at: 1_000)
    site.members.remove(b.store.node)
    try #require(try site.collect([site.site.anchor, a]) == 8)
  }

  @Test func `is not listened to, and notices`() throws {
    let there = a.store.stability.standing
    #expect(b.store.stability.mustRenew(for: there))
    try b.write("INSERT INTO note VALUES ('new', 'b')", at: 20)
    #expect { try a.pull(from: b) } throws: { ($0 as? StoreError)?.code == .behind }
  }

  @Test func `loses what was deleted and keeps what it wrote`() throws {
    try b.write("INSERT INTO note VALUES ('new', 'b')", at: 20)
    try b.write("UPDATE note SET text = 'b' WHERE id = 'stays'", at: 21)
    try b.write("UPDATE note SET text = 'b' WHERE id = 'edited'", at: 22)
    // Made after the delete.
    try b.write("UPDATE note SET text = 'b' WHERE id = 'late'", at: 2_000)
    try site.comeBack(b)
    #expect(try site.site.isEqual)
    #expect(try a.text("new") == "b" && a.text("stays") == "b" && a.text("late") == "b")
    #expect(try b.text("gone") == nil && b.text("mine") == nil && b.text("edited") == nil)
    #expect(try b.conflicts() == ["b lost to ?: already-deleted (newest-wins)"])
    #expect(!b.store.stability.standing.isBehind)
    #expect(try b.store.lives.story()?.doubt == .behind)
    // The next round goes with it.
    site.members.insert(b.store.node)
    try a.write("DELETE FROM note WHERE id = 'new'", at: 3_000)
    #expect(try site.collect() == 3)
  }

  @Test func `hands on what another one told it alone`() throws {
    let lone = try TestReplica(7, schema: AnchorSite.schema)
    try lone.pull(from: b)
    try lone.write("INSERT INTO note VALUES ('lone', 'lone')", at: 30)
    try b.pull(from: lone)
    try site.comeBack(b)
    #expect(try a.text("lone") == "lone" && b.text("lone") == "lone")
    #expect(try site.site.isEqual)
  }

  @Test func `goes on where it was interrupted`() throws {
    try b.write("INSERT INTO note VALUES ('new', 'b')", at: 20)
    let mark = a.store.stability.cleared
    try b.store.beginLife(
      .behind, origin: Origin(rawValue: 88), life: 88, run: 88, reissuingAbove: nil,
      renewingTo: mark, at: b.now)
    let (covers, batches) = try a.export(above: Frontier())
    try b.mergeSlice(batches, covers: covers, from: a)
    try b.reopen()
    #expect(b.store.stability.renewal == .fetching(mark))
    // Nothing of it is gone before all has come.
    #expect(try b.text("gone") == "a")
    try b.pull(from: a)
    try b.reopen()
    try b.foldAll()
    try site.site.meet()
    #expect(b.store.stability.renewal == nil)
    #expect(try b.text("gone") == nil && a.text("new") == "b")
    #expect(try site.site.isEqual)
  }

  @Test func `takes no exchange for everything that leaves out what it held before`() throws {
    try a.write("INSERT INTO note VALUES ('new', 'a')", at: 2_000)
    let (covers, batches) = try a.export(above: b.store.position.frontier)
    var merge = Merge(
      sender: a.store.node, kind: .full(covers: covers), batches: batches.map(\.bytes),
      rowsBefore: 0, checkBefore: 0, end: End(batches), movesFrontier: true)
    merge.standing = a.store.stability.standing
    // It was asked for before b knew that it was away for too long.
    try b.store.beginLife(
      .behind, origin: Origin(rawValue: 88), life: 88, run: 88, reissuingAbove: nil,
      renewingTo: a.store.stability.cleared, at: b.now)
    #expect { try b.store.merge(merge, at: b.now) } throws: {
      ($0 as? StoreError)?.code == .behind
    }
    try b.foldAll()
    #expect(try b.text("stays") == "a")
    try b.pull(from: a)
    try b.foldAll()
    #expect(try b.text("stays") == "a" && b.text("new") == "a" && b.text("gone") == nil)
  }

  @Test func `takes neither a push nor the word of a leaf for everything`() throws {
    let mark = a.store.stability.cleared
    let pushed = Begin.Kind.push(origin: Origin(rawValue: 7), from: 0, to: 1)
    let empty = Begin.Kind.full(covers: Frontier())
    try b.store.beginLife(
      .behind, origin: Origin(rawValue: 88), life: 88, run: 88, reissuingAbove: nil,
      renewingTo: mark, at: b.now)
    let leaf = LeafLicence(origin: Origin(rawValue: 7), rights: Rights(tables: ["note": .read]))
    for (kind, licence) in [(pushed, nil), (empty, leaf)] {
      var merge = Merge(
        sender: a.store.node, kind: kind, batches: [], rowsBefore: 0, checkBefore: 0,
        end: End(rows: 0, check: 0), movesFrontier: true)
      (merge.standing, merge.asked, merge.licence) = (a.store.stability.standing, mark, licence)
      _ = try b.store.merge(merge, at: b.now)
      #expect(b.store.stability.renewal == .fetching(mark))
    }
    try b.pull(from: a)
    try b.foldAll()
    #expect(try b.store.stability.renewal == nil && b.text("gone") == nil)
  }

  @Test func `has all that there is also from who holds nothing`() throws {
    let mark = a.store.stability.cleared
    let fresh = try TestReplica(7, schema: AnchorSite.schema)
    try fresh.store.renewAsNew(to: mark)
    _ = try fresh.store.giveUpRenewal(at: fresh.now)
    try fresh.foldAll()
    try b.store.beginLife(
      .behind, origin: Origin(rawValue: 88), life: 88, run: 88, reissuingAbove: nil,
      renewingTo: mark, at: b.now)
    let outcome = try b.pull(from: fresh)
    try b.foldAll()
    #expect(outcome.result.rows == 0 && b.store.stability.renewal == nil)
    try fresh.pull(from: b)
    #expect(try fresh.content("note") == b.content("note") && b.text("gone") == "a")
  }

  @Test func `with nothing of its own is new`() throws {
    let fresh = try TestReplica(7, schema: AnchorSite.schema)
    #expect(try fresh.store.isNew())
    #expect(try !b.store.isNew())
    try fresh.store.renewAsNew(to: a.store.stability.cleared)
    try fresh.pull(from: a)
    try fresh.foldAll()
    #expect(fresh.store.stability.standing == a.store.stability.standing)
    #expect(try fresh.content("note") == a.content("note"))
  }

  @Test func `goes on with what it has when nobody can help`() throws {
    let mark = a.store.stability.cleared
    try b.store.beginLife(
      .behind, origin: Origin(rawValue: 88), life: 88, run: 88, reissuingAbove: nil,
      renewingTo: mark, at: b.now)
    _ = try b.store.giveUpRenewal(at: b.now)
    try b.foldAll()
    #expect(b.store.stability.standing == CutStanding(whole: mark, cleared: mark))
    #expect(try b.text("gone") == "a")
    try site.site.meet()
    #expect(try site.site.isEqual)
  }

  @Test func `beside an anchor has its late edit judged as of a deleted row`() throws {
    let site = try CollectionSite("client-wins", appoints: true)
    let (a, b) = (site.site.a, site.site.b)
    try a.write("INSERT INTO note VALUES ('x', 'x')", at: 10)
    try site.site.meet()
    try a.write("DELETE FROM note WHERE id = 'x'", at: 20)
    site.members.remove(b.store.node)
    try #require(try site.collect([site.site.anchor, a]) == 2)
    try b.write("UPDATE note SET text = 'late' WHERE id = 'x'", at: 2_000)
    try site.comeBack(b)
    #expect(try site.site.isEqual)
    #expect(try b.text("x") == nil)
    #expect(try b.conflicts() == ["late lost to ?: already-deleted (client-wins)"])
  }

  @Test func `hands on what waits for the anchor here alone`() throws {
    let site = try CollectionSite("client-wins", appoints: true)
    let (a, b) = (site.site.a, site.site.b)
    try a.write("INSERT INTO note VALUES ('x', 'x')", at: 10)
    try site.site.meet()
    try b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 30)
    try a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 40)
    try b.pull(from: a)
    #expect(try b.pendingTexts == ["of b"])
    try a.write("DELETE FROM note WHERE id = 'x'", at: 50)
    site.members.remove(b.store.node)
    try #require(try site.collect([site.site.anchor, a]) == 2)
    try site.comeBack(b)
    #expect(try site.site.isEqual)
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
    #expect(try a.text() == "of b")
    #expect(try b.verdicts(of: "r") == ["accepted client-wins"])
    #expect(try b.text("x") == nil)
  }

  @Test func `has no verdict to wait for of an edit that it has written over since`() throws {
    let site = try CollectionSite("newest-wins", appoints: true)
    let (a, b) = (site.site.a, site.site.b)
    try a.write("INSERT INTO note VALUES ('x', 'x')", at: 10)
    try site.site.meet()
    try b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 30)
    try a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 40)
    try b.pull(from: a)
    try a.write(
      "UPDATE note SET text = 'newer' WHERE id = 'r'; DELETE FROM note WHERE id = 'x'", at: 90)
    site.members.remove(b.store.node)
    try #require(try site.collect([site.site.anchor, a]) == 2)
    let mark = a.store.stability.cleared
    try b.store.beginLife(
      .behind, origin: Origin(rawValue: 88), life: 88, run: 88, reissuingAbove: nil,
      renewingTo: mark, at: b.now)
    try b.write("UPDATE note SET text = 'again' WHERE id = 'r'", at: 60)
    try a.store.stability.news.map {
      try b.store.deletions.hear($0, from: a.store.node, isLeaf: false)
    }
    try b.pull(from: a)
    try b.foldAll()
    try site.site.meet()
    #expect(try site.site.isEqual && b.text() == "newer")
    #expect(try b.store.verdicts.openCount() == 0)
    #expect(
      try b.verdicts(of: "r") == ["superseded", "rejected older newest-wins"])
  }

  @Test func `takes office when it has all that the site has`() throws {
    let mark = a.store.stability.cleared
    try b.store.beginLife(
      .behind, origin: Origin(rawValue: 88), life: 88, run: 88, reissuingAbove: nil,
      renewingTo: mark, at: b.now)
    try site.site.appoint(b, isForced: true)
    #expect(b.store.currentOffice.part == .waiting)
    #expect(try b.version("gone")?.isTentative == true)
    try a.store.stability.news.map {
      try b.store.deletions.hear($0, from: a.store.node, isLeaf: false)
    }
    try b.pull(from: a)
    try b.foldAll()
    #expect(b.store.currentOffice.part == .judging)
    try site.site.meet()
    #expect(try site.site.isEqual)
    #expect(try b.text("gone") == nil)
    #expect(try a.version("stays")?.isTentative == false)
  }
}
