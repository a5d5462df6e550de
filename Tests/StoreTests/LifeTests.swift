import Replication
import SQLite
import Testing

@testable import Store

/// Files that were put back to an earlier state, and the lives that follow.
@Suite struct `A replica that begins a new life` {
  private let site: AnchorSite
  private var a: TestReplica { site.a }
  private var b: TestReplica { site.b }

  init() throws { site = try AnchorSite("newest-wins", appoints: false) }

  @discardableResult
  private func begin(
    _ replica: TestReplica, _ doubt: Doubt = .restored, above common: UInt64? = nil,
    number: UInt64 = 77
  ) throws -> Origin {
    let origin = Origin(rawValue: number)
    try replica.store.beginLife(
      doubt, origin: origin, life: number, run: number, reissuingAbove: common, at: replica.now)
    return origin
  }

  @Test func `keeps what others have and what was written since`() throws {
    try b.write("INSERT INTO note VALUES ('kept', 'kept')", at: 10)
    let copy = try b.backUp()
    try b.write("INSERT INTO note VALUES ('later', 'later')", at: 20)
    try b.write("UPDATE note SET text = 'of before' WHERE id = 'r'", at: 30)
    try site.meet()
    let told = b.store.position.frontier[b.origin]
    try b.restore(copy)
    // Nobody has folded this yet.
    try b.write("INSERT INTO note VALUES ('since', 'since')")
    try b.write("UPDATE note SET text = 'since' WHERE id = 'r'")
    try b.write("UPDATE _flotilla_journal SET at = \(b.clock)")
    let held = b.store.position.frontier[b.origin]
    let origin = try begin(b)
    #expect(b.store.own == origin)
    for other in [a, site.anchor] { other.store.departed = [b.origin] }
    try site.meet()
    #expect(try site.isEqual)
    #expect(
      try b.text("kept") == "kept" && b.text("later") == "later" && b.text("since") == "since")
    // The edit that the restored file had forgotten lost unseen: whoever has it keeps it.
    #expect(try a.text() == "since")
    #expect(try a.conflicts() == ["of before lost to since: older (newest-wins)"])
    // Nothing was given a number of the old origin again.
    #expect(held < told)
    #expect(a.store.position.frontier[b.origin] == told)
    #expect(try a.version("since")?.dot.origin == origin)
    #expect(try b.store.lives.story()?.doubt == .restored)
  }

  @Test func `counts its own edits that wait, though the restored file did not know them`() throws {
    try site.appoint(site.anchor)
    try site.meet()
    let copy = try b.backUp()
    try b.write("INSERT INTO note VALUES ('later', 'later')", at: 20)
    try b.write("UPDATE note SET text = 'waits' WHERE id = 'r'", at: 30)
    try a.pull(from: b)
    #expect(try b.store.survey.figures().unjudged == 2 && a.store.survey.figures().unjudged == 2)
    try b.restore(copy)
    try begin(b)
    try b.pull(from: a)
    #expect(try b.text("later") == "later" && b.text() == "waits")
    #expect(try b.store.survey.figures().unjudged == 2)
    try site.meet()
    #expect(try b.store.survey.figures().unjudged == 0 && a.store.survey.figures().unjudged == 0)
  }

  @Test func `issues again what others may know for something else`() throws {
    let copy = try b.backUp()
    let common = b.store.position.frontier[b.origin]
    try b.write("UPDATE note SET text = 'of before' WHERE id = 'r'", at: 10)
    try b.write("INSERT INTO note VALUES ('later', 'later')", at: 20)
    try site.meet()
    try b.restore(copy)
    // The same numbers, for other edits.
    try b.write("INSERT INTO note VALUES ('other', 'other')", at: 30)
    try b.write("UPDATE note SET text = 'since' WHERE id = 'r'", at: 40)
    try b.write(
      "INSERT INTO note VALUES ('third', 'third'); DELETE FROM note WHERE id = 'other'", at: 50)
    let claim = Have(
      frontier: a.store.position.frontier, frontierHash: 0, rootDigest: 0,
      testimony: Reach(
        origin: b.origin, node: b.store.node, life: 0, seq: common + 2, run: 5))
    // No run was noted that could have told the peer so much.
    try b.store.lives.begin(run: 9)
    #expect(b.store.lives.isContradicted(by: claim))
    let origin = try begin(b, .unknown, above: common)
    #expect(b.store.position.frontier[b.origin] == common)
    #expect(try b.store.lives.story()?.reissued == 3)
    try b.pull(from: a)
    try site.meet()
    #expect(try site.isEqual)
    #expect(try a.text("later") == "later" && a.text("third") == "third" && a.text() == "since")
    #expect(try a.text("other") == nil)
    #expect(try b.conflicts() == ["of before lost to since: older (newest-wins)"])
    #expect(try a.version("third")?.created.origin == origin)
  }

  @Test(arguments: [false, true])
  func `hangs under the rows that it wrote what it has hung there`(isFolded: Bool) throws {
    let replicas = try KeysTests.site(2, beginning: "INSERT INTO patient VALUES (1, 'Old')")
    let (one, two) = (replicas[0], replicas[1])
    let common = two.store.position.frontier[two.store.own]
    let copy = try two.backUp()
    try two.write(
      "INSERT INTO patient VALUES (7, 'Carl'); INSERT INTO lab VALUES (1, 7, 'Carl-1')", at: 10)
    try KeysTests.settle(replicas)
    try two.restore(copy)
    // The same numbers for another row, and for what hangs under it; one of them moves since.
    let lab = "INSERT INTO lab VALUES (2, 7, 'Dora-1'), (3, 1, 'Old-1')"
    if isFolded {
      try two.write("INSERT INTO patient VALUES (7, 'Dora')", at: 20)
      try two.write(lab, at: 30)
    } else {
      try two.write("INSERT INTO patient VALUES (7, 'Dora'); \(lab)", at: 20)
    }
    try begin(two, .unknown, above: common)
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(
        try KeysTests.hanging(replica) == ["Carl Carl-1", "Dora Dora-1", "Old Old-1"])
      #expect(try replica.content("patient") == one.content("patient"))
      #expect(try replica.value("SELECT count(*) FROM _flotilla_shelf") == .integer(0))
    }
  }

  /// Whoever has written in a row knows it by its name.
  @Test func `leaves a row its name that others have written in`() throws {
    let replicas = try KeysTests.site(3, beginning: "INSERT INTO patient VALUES (1, 'Old')")
    let (two, three) = (replicas[1], replicas[2])
    let common = two.store.position.frontier[two.store.own]
    try two.write("INSERT INTO patient VALUES (7, 'Dora')", at: 10)
    try three.pull(from: two)
    try three.write("UPDATE patient SET name = 'Dora T' WHERE id = 7", at: 20)
    try two.pull(from: three)
    try two.write(
      """
      UPDATE patient SET name = 'Dora Two' WHERE id = 7; INSERT INTO lab VALUES (1, 7, 'r')
      """, at: 30)
    try begin(two, .unknown, above: common)
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(try KeysTests.hanging(replica) == ["Dora Two r"])
      #expect(try replica.value("SELECT count(*) FROM patient") == .integer(2))
    }
  }

  /// The copy knows a row under a number that it had to leave since.
  @Test(arguments: [false, true])
  func `makes no row again that has moved already`(isEarly: Bool) throws {
    let replicas = try KeysTests.site(2, beginning: "INSERT INTO patient VALUES (1, 'Old')")
    let (one, two) = (replicas[0], replicas[1])
    try one.write("INSERT INTO patient VALUES (7, 'Ann')")
    try one.foldAll()
    KeysTests.later(two, than: replicas)
    try two.write("INSERT INTO patient VALUES (7, 'Bob'); INSERT INTO lab VALUES (1, 7, 'Bob-1')")
    try two.foldAll()
    let copy = try two.backUp()
    try KeysTests.settle(replicas)
    try two.restore(copy)
    try two.write("INSERT INTO patient VALUES (8, 'Eve')")
    try two.write("UPDATE _flotilla_journal SET at = \(isEarly ? 1 : two.clock)")
    try begin(two)
    // The winner comes in one slice, and what has moved in a later one.
    let (covers, batches, judged) = try one.wholeExport(.above(two.store.position.frontier))
    let key = try #require(Key([.integer(7)], collations: [.binary]))
    let winner = Replication.RowName(table: "patient", key: key.bytes)
    try two.mergeSlice(one.export(.rows([winner])).1, covers: covers, from: one)
    try two.merge(batches, .full(covers: covers), from: one, judged: judged)
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(try KeysTests.hanging(replica) == ["Bob Bob-1"])
      #expect(try replica.content("patient") == one.content("patient"))
      #expect(try replica.value("SELECT count(*) FROM patient WHERE name = 'Bob'") == .integer(1))
    }
  }

  @Test func `goes on with numbers of its own, and verdicts of both lives come`() throws {
    try site.appoint(site.anchor)
    try b.write("UPDATE note SET text = 'first life' WHERE id = 'r'", at: 10)
    let last = b.store.position.frontier[b.origin]
    try b.store.lives.begin(run: 1)
    let origin = try begin(b, .replaced)
    try b.write("INSERT INTO note VALUES ('n', 'second life')", at: 20)
    #expect(b.store.position.frontier[origin] == last + 1)
    #expect(try b.verdicts() == ["pending", "pending"])
    try site.meet()
    #expect(try b.verdicts().allSatisfy { $0.hasPrefix("accepted") })
    #expect(try b.store.verdicts.unjudgedCount() == 0)
    #expect(try site.isEqual)
  }

  @Test func `does not know what became of an edit that it went on to write over`() throws {
    try site.appoint(site.anchor)
    try b.write("UPDATE note SET text = 'kept' WHERE id = 'r'", at: 10)
    try b.write("INSERT INTO note VALUES ('n', 'kept')", at: 11)
    let copy = try b.backUp()
    try a.write("UPDATE note SET text = 'beside it' WHERE id = 'r'", at: 20)
    try site.meet([a, b])
    try b.write("UPDATE note SET text = 'over both' WHERE id = 'r'", at: 30)
    try site.meet([a, b])
    try b.restore(copy)
    try b.store.lives.begin(run: 1)
    try begin(b)
    try site.meet()
    #expect(try site.isEqual && b.text() == "over both")
    #expect(try b.verdicts(of: "r") == ["unknown newest-wins"])
    #expect(try b.verdicts(of: "n") == ["accepted newest-wins"])
  }

  @Test func `is the anchor no more until it is appointed again`() throws {
    try site.appoint(site.anchor)
    let copy = try site.anchor.backUp()
    try site.anchor.write("UPDATE note SET text = 'certified' WHERE id = 'r'", at: 10)
    try site.meet()
    try site.anchor.restore(copy)
    try begin(site.anchor)
    #expect(site.anchor.store.currentOffice.part == .none)
    try a.write("INSERT INTO note VALUES ('n', 'waits')", at: 20)
    try site.meet()
    #expect(try site.isEqual)
    #expect(try a.text() == "certified")
    #expect(try a.store.verdicts.unjudgedCount() == 1)
    // Opened again it is still none, and the same appointment changes nothing.
    try site.anchor.reopen()
    try site.hear(site.anchor)
    #expect(site.anchor.store.currentOffice.part == .none)
    try site.appoint(site.anchor)
    try site.meet()
    #expect(site.anchor.store.currentOffice.part == .judging)
    #expect(try a.store.verdicts.unjudgedCount() == 0)
    #expect(try site.isEqual)
  }

  @Test func `counts what it has certified and hands on as an edit, once it is the anchor no more`()
    throws
  {
    try site.appoint(site.anchor)
    try site.meet()
    let common = site.anchor.store.position.frontier[site.anchor.origin]
    let copy = try site.anchor.backUp()
    try site.anchor.write("INSERT INTO note VALUES ('k', 'known elsewhere')", at: 10)
    try a.pull(from: site.anchor)
    try site.anchor.restore(copy)
    // The same number for another edit.
    try site.anchor.write("INSERT INTO note VALUES ('n', 'waits')", at: 20)
    #expect(try site.anchor.version("n")?.isTentative == false)
    try begin(site.anchor, .unknown, above: common)
    #expect(try site.anchor.store.survey.figures().unjudged == 1)
    try site.meet()
    #expect(try site.isEqual && site.anchor.version("n")?.isTentative == true)
    #expect(try site.replicas.map { try $0.store.survey.figures().unjudged } == [1, 1, 1])
    try site.appoint(site.anchor)
    try site.meet()
    #expect(try site.replicas.map { try $0.store.survey.figures().unjudged } == [0, 0, 0])
  }

  @Test func `is refused what another copy of it has written`() throws {
    let kind = Begin.Kind.full(covers: Frontier([b.origin: 1_000]))
    let error = #expect(throws: StoreError.self) { try b.merge([], kind, from: a) }
    #expect(error?.code == .wire)
  }

  @Test func `notices that its file was put back while it was open`() throws {
    let copy = try b.backUp()
    try b.write("INSERT INTO note VALUES ('later', 'later')", at: 20)
    try site.meet()
    // What `.restore` does: one transaction of another program.
    try b.write(
      """
      ATTACH '\(copy)' AS old; BEGIN; DELETE FROM note; INSERT INTO note SELECT * FROM old.note;
      DELETE FROM _flotilla_origin;
      INSERT INTO _flotilla_origin SELECT * FROM old._flotilla_origin; COMMIT; DETACH old
      """)
    let error = #expect(throws: StoreError.self) { try b.foldAll() }
    #expect(error?.code == .putBack)
  }
}
