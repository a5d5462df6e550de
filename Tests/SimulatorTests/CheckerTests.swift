import Replication
import Testing

@testable import Simulator

/// Each checker finds what it is there for.
@Suite struct `Checkers` {
  private let origin = Origin(rawValue: 1)
  private static let now = Instant(uptime: 0, wall: 1_900_000_000_000)

  private func version(_ seq: UInt64, stamp: Int64, hash: UInt64 = 7) -> Version {
    let dot = Dot(origin, seq)
    return Version(
      dot: dot, created: dot, stamp: Stamp(rawValue: stamp), hash: hash, isDeleted: false)
  }

  private func shown(
    _ versions: [RowNumber: Version], _ contents: [RowNumber: UInt64], seq: UInt64
  ) -> Observation {
    Observation(
      frontier: Frontier([origin: seq]), versions: versions,
      rows: contents.mapValues { Observation.Content(whole: $0, common: $0) })
  }

  private var history: History {
    var history = History()
    history.add(History.Made(row: 0, version: version(1, stamp: 10), content: 5))
    history.add(History.Made(row: 1, version: version(2, stamp: 20), content: 6))
    return history
  }

  @Test func `a frontier that claims too much`() {
    var history = history
    let after = shown([0: version(1, stamp: 10)], [0: 5], seq: 1)
    AnytimeFrontier.check(Observation(), after, &history, at: "n")
    #expect(history.faults == [])
    AnytimeFrontier.check(
      after, shown([0: version(1, stamp: 10)], [0: 5], seq: 2), &history, at: "n")
    #expect(history.faults.count == 1)
  }

  @Test func `a delete that nobody has, for others had forgotten the row`() {
    var history = History()
    var delete = version(1, stamp: 10)
    delete.isDeleted = true
    history.add(History.Made(row: 0, version: delete, content: nil))
    history.agree([delete])
    AnytimeFrontier.check(Observation(), shown([:], [:], seq: 1), &history, at: "n")
    #expect(history.faults == [])
  }

  @Test func `rows and frontiers that go back`() {
    var history = History()
    let (old, new) = (version(1, stamp: 10), version(2, stamp: 20))
    AnytimeForward.check(
      shown([0: old], [:], seq: 1), shown([0: new], [:], seq: 2), &history, at: "")
    #expect(history.faults == [])
    AnytimeForward.check(
      shown([0: new], [:], seq: 2), shown([0: old], [:], seq: 1), &history, at: "")
    #expect(history.faults.count == 2)
    AnytimeForward.check(shown([0: new], [:], seq: 2), shown([:], [:], seq: 2), &history, at: "")
    #expect(history.faults.count == 3)
  }

  @Test func `other content under a dot`() {
    var history = history
    let wrong = shown([0: version(1, stamp: 10)], [0: 99], seq: 1)
    AnytimeContent.check(wrong.news(since: Observation()), wrong, &history, at: "n", [0])
    #expect(history.faults == [])
    AnytimeContent.check(wrong.news(since: Observation()), wrong, &history, at: "n", [])
    #expect(history.faults.count == 1)
  }

  @Test func `replicas that differ, and rows that wait`() {
    var history = History()
    let one = shown([0: version(1, stamp: 10)], [0: 5], seq: 1)
    EventuallyEqual.check([("a", one), ("b", one)], &history)
    #expect(history.faults == [])
    var other = shown([0: version(1, stamp: 10)], [0: 6], seq: 1)
    EventuallyEqual.check([("a", one), ("b", other)], &history)
    #expect(history.faults.count == 1)
    other = one
    other.shelved = [0]
    EventuallyEqual.check([("a", one), ("b", other)], &history)
    #expect(history.faults.count == 2)
  }

  @Test func `rows that end below the newest version`() {
    var history = history
    let end = shown([0: version(1, stamp: 10)], [0: 5], seq: 2)
    FinallyNewest.check([("a", end)], &history)
    #expect(history.faults.count == 1)
  }

  /// Only of what a copy has written nobody may show the delete, and only where one is the newest
  /// somebody may hold nothing.
  @Test(arguments: [("node-1", 0), ("node-0", 1)])
  func `a row that nobody has, where deletes are let go of`(copy: String, faults: Int) {
    var (history, author) = (History(), Templates.origin(of: 1))
    (history.collects, history.copies) = (true, [copy, "node-3"])
    var made = version(1, stamp: 10)
    made.dot = Dot(author, 1)
    history.add(History.Made(row: 0, version: made, content: 5))
    let end = Observation(frontier: Frontier([author: 1]))
    FinallyNewest.check([("a", end)], &history)
    #expect(history.faults.count == faults)
    AnytimeFrontier.check(Observation(), end, &history, at: "n")
    #expect(history.faults.count == faults + 1)
    (made.dot, made.isDeleted, author) = (Dot(author, 2), true, made.dot.origin)
    made.stamp = Stamp(rawValue: 11)
    history.add(History.Made(row: 0, version: made, content: nil))
    let later = Observation(frontier: Frontier([author: 2]))
    AnytimeFrontier.check(Observation(), later, &history, at: "n")
    FinallyNewest.check([("a", later)], &history)
    #expect(history.faults.count == faults + 1)
  }

  @Test func `an edit that was brought and numbered anew`() {
    var history = history
    let (old, other) = (version(2, stamp: 20), Origin(rawValue: 0))
    var new = old
    new.dot = Dot(other, 1)
    history.add(History.Made(row: 1, version: new, content: 6))
    history.bring(Frontier([origin: 2]), from: "a")
    history.renumber([1: old], as: [1: new], at: "a")
    var end = shown([0: version(1, stamp: 10), 1: new], [0: 5, 1: 6], seq: 1)
    FinallyNewest.check([("a", end)], &history)
    #expect(history.faults == [])
    // Nobody has it under either number.
    end.versions[1] = nil
    FinallyNewest.check([("a", end)], &history)
    #expect(history.faults.count == 1)
  }

  @Test func `edits that vanish`() {
    var history = History()
    var witness = Witness()
    let content = Observation.Content(whole: 1, common: 1)
    witness.begin(Observation())
    witness.written([0: content], before: [:], touching: [0], own: origin, at: 1_900_000_000_000)
    witness.check(
      Observation(), own: origin, isFolded: true, at: "n", Self.now, &history)
    #expect(history.faults.count == 1)
  }

  @Test func `a row that gives way to one that was deleted and put back is parked, not lost`() {
    let committed = Self.now.wall - 1_000
    let edit = [0: Witness.Edit(content: Observation.Content(5), moment: committed)]
    func faults(stamped moment: Int64, hidden: Set<RowNumber>) -> Int {
      var history = History()
      let stamp = Stamp(millisecondsSince1970: moment).rawValue
      var now = shown([0: version(1, stamp: stamp)], [:], seq: 1)
      now.hidden = hidden
      now.office = OfficeView()
      FinallyKept.check(edit, now, own: origin, &history, at: "n")
      return history.faults.count
    }
    #expect(faults(stamped: committed, hidden: [0]) == 0)
    #expect(faults(stamped: committed, hidden: []) == 1)
    // What was parked before is another edit.
    #expect(faults(stamped: committed - 1, hidden: [0]) == 1)
  }

  @Test func `stamps of the future, without time, and out of order`() {
    var history = History()
    history.isDated = true
    history.add(History.Made(row: 0, version: version(1, stamp: 10), content: 5))
    let site = Self.now.wall
    let stamp = Stamp(millisecondsSince1970: site).rawValue
    func check(_ seq: UInt64, _ stamp: Int64, at site: Int64?) -> Int {
      AnytimeDated.check(
        0, version(seq, stamp: stamp), site, isRecalled: false, &history, at: "n")
      return history.faults.count
    }
    #expect(check(3, stamp, at: site) == 0)
    #expect(check(3, stamp + 1 << 16, at: site) == 1)
    #expect(check(3, stamp, at: nil) == 2)
    #expect(check(3, 11, at: nil) == 2)
    #expect(check(3, 9, at: site) == 3)
  }

  @Test func `an edit over a later word of the anchor is stamped by the clock alone`() {
    let stamp = Stamp(millisecondsSince1970: Self.now.wall).rawValue
    func faults(epoch: UInt64, behind: Int64 = 0, isRecalled: Bool = false) -> Int {
      var history = History()
      history.isDated = true
      let earlier = version(1, stamp: stamp + 7 + behind << 16)
      history.add(History.Made(row: 0, version: earlier, content: 5))
      var next = version(2, stamp: stamp)
      next.epoch = epoch
      AnytimeDated.check(
        0, next, Self.now.wall, isRecalled: isRecalled, &history, at: "n")
      return history.faults.count
    }
    #expect(faults(epoch: 1) == 0)
    #expect(faults(epoch: 0) == 1)
    #expect(faults(epoch: 1, behind: 2_000) == 1)
    #expect(faults(epoch: 1, behind: 2_000, isRecalled: true) == 0)
    #expect(faults(epoch: 0, behind: 2_000, isRecalled: true) == 1)
    #expect(faults(epoch: 1, behind: 2_001, isRecalled: true) == 1)
  }

  @Test func `verdicts out of the order of the stamps, but for looks in between`() {
    let (anchor, term) = (Origin(rawValue: 2), Term(number: 1, incarnation: 1))
    for (waited, count) in [([], 1), ([3], 1), ([4], 0), ([5], 1)] as [([UInt64], Int)] {
      var history = History()
      var now = Observation(office: OfficeView())
      for (row, seq) in [UInt64(2), 1].enumerated() {
        let made = version(seq, stamp: Int64(seq))
        history.lineage.note(
          Observation(office: OfficeView()),
          Observation(versions: [row: made], office: OfficeView()), own: origin)
        now.office?.rulings.append(
          OfficeView.Ruled(
            dot: Dot(anchor, 4 + UInt64(row)), kind: 1, edit: made.dot, term: term))
      }
      AnytimeJudged.check(
        Observation(office: OfficeView()), now, own: anchor, waited: waited, &history, at: "n")
      #expect(history.faults.count == count, "\(waited)")
    }
  }

  /// Each edit is of an author, by its number and its stamp.
  @Test(
    arguments: [
      ([(1, 1, 9), (1, 2, 3)], 0), ([(1, 2, 9), (1, 1, 3)], 1), ([(1, 1, 9), (5, 1, 3)], 1),
      ([(1, 1, 9), (1, 2, 3), (5, 1, 5)], 1), ([(1, 1, 3), (5, 1, 5), (1, 2, 9)], 0),
    ] as [([(UInt64, UInt64, Int64)], Int)])
  func `verdicts of one author may go by its numbers`(
    edits: [(author: UInt64, seq: UInt64, stamp: Int64)], count: Int
  ) {
    let (anchor, term) = (Origin(rawValue: 2), Term(number: 1, incarnation: 1))
    var history = History()
    var now = Observation(office: OfficeView())
    for (row, edit) in edits.enumerated() {
      let dot = Dot(Origin(rawValue: edit.author), edit.seq)
      let made = Version(
        dot: dot, created: dot, stamp: Stamp(rawValue: edit.stamp), hash: 7, isDeleted: false)
      history.lineage.note(
        Observation(office: OfficeView()),
        Observation(versions: [row: made], office: OfficeView()), own: dot.origin)
      now.office?.rulings.append(
        OfficeView.Ruled(dot: Dot(anchor, 4 + UInt64(row)), kind: 1, edit: dot, term: term))
    }
    AnytimeJudged.check(
      Observation(office: OfficeView()), now, own: anchor, &history, at: "n")
    #expect(history.faults.count == count)
  }

  @Test func `an edit that was rejected and is taken for accepted`() {
    var history = History()
    let (edit, term) = (Dot(origin, 1), Term(number: 1, incarnation: 1))
    var (anchor, before) = (OfficeView(), OfficeView())
    anchor.rulings = [
      OfficeView.Ruled(dot: Dot(Origin(rawValue: 2), 1), kind: 1, edit: edit, term: term)
    ]
    history.lineage.note(
      Observation(office: OfficeView()), Observation(office: anchor), own: Origin(rawValue: 2))
    before.verdicts = [1: nil]
    for (verdict, count) in [("rejected", 0), ("accepted", 1)] {
      var after = before
      after.judged = Judged(term: term, frontier: Frontier([origin: 1]))
      after.verdicts = [1: verdict]
      AnytimeJudged.check(
        Observation(office: before), Observation(office: after), own: origin, &history, at: "n")
      #expect(history.faults.count == count)
    }
  }

  @Test func `one number given twice to one content, where a machine was put back`() {
    let one = shown([0: version(1, stamp: 10)], [0: 5], seq: 1)
    let again = shown([0: version(1, stamp: 20)], [0: 5], seq: 1)
    let other = shown([0: version(1, stamp: 20, hash: 8)], [0: 5], seq: 1)
    func faults(_ shown: Observation, forks: Bool) -> Int {
      var history = History()
      if forks { history.fork(Origin(rawValue: 1), above: 0) }
      EventuallyEqual.check([("a", one), ("b", shown)], &history)
      return history.faults.count
    }
    #expect(faults(again, forks: true) == 0)
    #expect(faults(again, forks: false) == 1 && faults(other, forks: true) == 1)
  }

  @Test func `what was logged before the application wrote in the middle of the work`() {
    var history = History()
    var witness = Witness()
    var aside = Lineage()
    let (other, edit) = (Origin(rawValue: 2), version(1, stamp: 10))
    var before = shown([0: edit], [0: 5], seq: 1)
    before.office = OfficeView()
    witness.begin(before)
    var dot = edit
    (dot.dot, dot.created) = (Dot(other, 1), Dot(other, 1))
    var now = shown([0: dot], [0: 6], seq: 1)
    now.office = OfficeView()
    now.log = [
      Observation.Logged(row: 0, reason: "unseen", loser: edit.dot, winner: dot.dot, isWhole: true)
    ]
    let ruling = OfficeView.Ruled(dot: Dot(other, 2), kind: 1, edit: edit.dot, term: .none)
    now.office?.rulings = [ruling]
    witness.glance(now, own: origin, &aside)
    history.lineage.join(&aside)
    witness.check(now, own: origin, isFolded: true, at: "n", Self.now, &history)
    #expect(history.lineage.logged[edit.dot]?.winner == dot.dot)
    #expect(history.lineage.rejected.values.contains(ruling.dot))
    // The application writes what another one has written as well, or something else.
    for (content, isMeant) in [(8, true), (9, false)] as [(UInt64, Bool)] {
      let written = Observation.Content(whole: content, common: content)
      witness.written([0: written], before: now.rows, touching: [0], own: origin, at: 0)
      now.rows[0] = Observation.Content(whole: 8, common: 8)
      witness.check(now, own: origin, isFolded: true, at: "n", Self.now, &history)
      #expect(history.lineage.removed.isEmpty != isMeant)
      history.lineage = Lineage()
    }
  }

  @Test func `rulings are new by their names, wherever they are kept`() {
    func ruling(_ seq: UInt64, on edit: UInt64) -> OfficeView.Ruled {
      OfficeView.Ruled(
        dot: Dot(origin, seq), kind: 1, edit: Dot(Origin(rawValue: 2), edit), term: .none)
    }
    var (before, now) = (OfficeView(), OfficeView())
    before.rulings = [ruling(1, on: 2)]
    now.rulings = [ruling(2, on: 1), ruling(1, on: 2)]
    #expect(now.rulings(since: before).map(\.dot.seq) == [2])
    #expect(now.rulings(since: now).isEmpty && now.rulings(since: nil).count == 2)
  }

  @Test(arguments: [(997, 0), (995, 1)])
  func `an edit is placed by the clock as it was`(stamp: Int64, faults: Int) {
    var history = History()
    var witness = Witness()
    witness.begin(Observation())
    let start: Int64 = 1_900_000_000_000
    witness.compareClocks(at: Instant(uptime: 1_000, wall: start))
    let content = Observation.Content(whole: 1, common: 1)
    witness.written(
      [0: content], before: [:], touching: [0], own: Origin(rawValue: 2), at: start + 999)
    // Uptime says that it was written two ms before.
    witness.compareClocks(at: Instant(uptime: 2_001, wall: start + 999))
    let other = version(1, stamp: Stamp(millisecondsSince1970: start + stamp).rawValue)
    witness.check(
      shown([0: other], [0: 9], seq: 1), own: Origin(rawValue: 2), isFolded: true, at: "n",
      Instant(uptime: 2_001, wall: start + 999), &history)
    #expect(history.faults.count == faults)
  }

  @Test(arguments: [(0, 0), (1, 1)])
  func `an edit that somebody has written over is history`(row: RowNumber, faults: Int) {
    var history = History()
    var witness = Witness()
    var begin = Observation()
    (begin.office, begin.log) = (OfficeView(), [])
    witness.begin(begin)
    let content = Observation.Content(whole: 7, common: 7)
    witness.written([0: content], before: [:], touching: [0], own: origin, at: 1_900_000_000_000)
    // Another one has deleted the row, having seen the edit, or one of another row.
    let other = Origin(rawValue: 2)
    var (made, deleted) = (shown([row: version(1, stamp: 10)], [:], seq: 1), begin)
    made.office = OfficeView()
    history.lineage.note(begin, made, own: origin)
    var delete = version(1, stamp: 20)
    (delete.dot, delete.isDeleted) = (Dot(other, 1), true)
    deleted.versions[0] = delete
    history.lineage.note(made, deleted, own: other)
    var now = shown([0: delete], [:], seq: 1)
    (now.office, now.log) = (OfficeView(), [])
    witness.check(now, own: origin, isFolded: true, at: "n", Self.now, &history)
    #expect(history.faults.count == faults)
  }

  @Test func `times of the site that differ in the end`() {
    var history = History()
    let one = Founding(source: .clock, generation: 1, id: 1)
    let two = Founding(source: .memory, generation: 2, id: 2)
    EventuallyTimed.check([("a", one, 5_000), ("b", one, 7_999)], &history)
    #expect(history.faults == [])
    EventuallyTimed.check([("a", one, 5_000), ("b", one, 9_000)], &history)
    #expect(history.faults.count == 1)
    EventuallyTimed.check([("a", one, 5_000), ("b", two, 5_000)], &history)
    #expect(history.faults.count == 2)
    EventuallyTimed.check([("a", one, 5_000), ("b", one, nil)], &history)
    #expect(history.faults.count == 3)
  }

  @Test func `no edit in rows that came before all tables were there`() {
    var history = History()
    var witness = Witness()
    let content = Observation.Content(whole: 1, common: 1)
    let own = Observation.Content(whole: 2, common: 2)
    witness.begin(Observation())
    witness.wait([:], [:], own: Origin(rawValue: 2))
    // Row 0 has come before the application wrote row 1.
    witness.written(
      [0: content, 1: own], before: [0: content], touching: [1], own: Origin(rawValue: 2),
      at: 1_900_000_000_000)
    // Row 0 is replaced by its author's next version, of an earlier moment than that of the edit.
    let now = shown([0: version(2, stamp: 20)], [0: 9, 1: 2], seq: 2)
    witness.check(
      now, own: Origin(rawValue: 2), isFolded: true, at: "n", Self.now, &history)
    #expect(history.faults == [])
  }

  @Test func `edits without a right that stand, or are in no log`() {
    let content = Observation.Content(whole: 9, common: 9)
    let edits = [0: Witness.Edit(content: content, moment: 1_900_000_000_000)]
    let own = Origin(rawValue: 2)
    func faults(_ now: Observation) -> Int {
      var history = History()
      FinallyRefused.check(edits, Observation(refused: [0: 1]), now, own: own, &history, at: "n")
      return history.faults.count
    }
    var now = shown([:], [0: 9], seq: 0)
    #expect(faults(now) == 1)
    now = shown([:], [:], seq: 0)
    now.refused = [0: 1]
    #expect(faults(now) == 1)
    now.refused = [0: 2]
    #expect(faults(now) == 0)
    now = shown([0: version(1, stamp: 10)], [0: 9], seq: 1)
    now.waiting = [0]
    #expect(faults(now) == 1)
    now.refused = [0: 2]
    #expect(faults(now) == 0)
  }

  @Test func `rows that are sent to who may not read them`() {
    var history = History()
    let own = Origin(rawValue: 2)
    let held = version(1, stamp: 10)
    AnytimeHidden.check([0: held], [0: held], own: own, &history, from: "a", to: "b")
    AnytimeHidden.check([:], [0: held], own: origin, &history, from: "a", to: "b")
    #expect(history.faults == [])
    AnytimeHidden.check([:], [0: held], own: own, &history, from: "a", to: "b")
    #expect(history.faults.count == 1)
  }

  @Test func `a leaf that lacks what it may read, and one that waits`() {
    var history = History()
    let whole = shown([0: version(1, stamp: 10), 1: version(2, stamp: 20)], [0: 5, 1: 6], seq: 2)
    var leaf = shown([0: version(1, stamp: 10)], [0: 5], seq: 2)
    EventuallyReadable.check(("l", leaf), ("w", whole), mayRead: { $0 == 0 }, &history)
    #expect(history.faults == [])
    EventuallyReadable.check(("l", leaf), ("w", whole), mayRead: { _ in true }, &history)
    #expect(history.faults.count == 1)
    leaf.waiting = [0]
    EventuallyReadable.check(("l", leaf), ("w", whole), mayRead: { $0 == 0 }, &history)
    #expect(history.faults.count == 2)
  }

  @Test func `a version that is taken back though it is not its node's own`() {
    var history = history
    var witness = Witness()
    let held = version(1, stamp: 10)
    witness.begin(shown([0: held], [0: 5], seq: 1))
    let change = Witness.Change(
      held: [:], opened: [], changed: ["t"], hidden: [], delivered: 0)
    var other = witness
    witness.follow(
      change, shown([:], [:], seq: 1), own: Origin(rawValue: 2), table: { _ in "t" }, &history,
      at: "n")
    #expect(history.faults.count == 1)
    #expect(history.withdrawn.isEmpty)
    other.follow(
      change, shown([:], [:], seq: 1), own: origin, table: { _ in "t" }, &history, at: "n")
    #expect(history.faults.count == 1)
    #expect(history.withdrawn == [held.dot])
  }

  private static let closed = Witness.Change(
    held: [:], opened: [], changed: ["t"], closed: ["t"], hidden: [], delivered: 0)

  @Test func `what a node takes back before it has all tables`() {
    var history = History()
    var witness = Witness()
    let edit = version(1, stamp: 10)
    witness.wait([:], [0: edit], own: origin)
    #expect(!history.isWithdrawn(edit.dot, 0))
    witness.follow(
      Self.closed, Observation(), own: origin, table: { _ in "t" }, &history, at: "n")
    #expect(history.isWithdrawn(edit.dot, 0))
    #expect(history.faults == [])
  }

  @Test func `a row that a leaf wrote over what no whole member knows`() {
    func faults(known: UInt64, waits: Bool, isReplaced: Bool = false) -> Int {
      let other = Origin(rawValue: 2)
      var history = History()
      history.add(History.Made(row: 0, version: version(1, stamp: 10), content: 5))
      if isReplaced {
        history.leaves = [origin]
        var later = version(1, stamp: 20)
        later.dot = Dot(other, 1)
        history.add(History.Made(row: 0, version: later, content: 6))
      }
      var witness = Witness()
      witness.begin(shown([0: version(1, stamp: 10)], [0: 5], seq: 1))
      var leaf = shown([:], [0: 6], seq: known)
      leaf.waiting = waits ? [0] : []
      witness.follow(
        Self.closed, Observation(waiting: [0]), own: other, table: { _ in "t" }, &history, at: "l")
      EventuallyReadable.check(
        ("l", leaf), ("w", shown([:], [:], seq: known)), mayRead: { _ in true }, &history)
      return history.faults.count
    }
    #expect(faults(known: 0, waits: true) == 0)
    #expect(faults(known: 0, waits: false) == 1)
    #expect(faults(known: 1, waits: true) == 1)
    #expect(faults(known: 1, waits: true, isReplaced: true) == 0)
  }

  @Test func `a row that is parked at a leaf beside one that others do not have`() {
    func faults(isWithdrawn: Bool, rivals: [RowNumber: RowNumber]) -> Int {
      var history = history
      if isWithdrawn { history.withdraw(0, of: origin, above: 0) }
      let held = version(2, stamp: 20)
      var leaf = shown([0: version(1, stamp: 10), 1: held], [0: 5], seq: 2)
      (leaf.shelved, leaf.rivals) = ([1], rivals)
      let whole = shown([1: held], [1: 6], seq: 2)
      EventuallyReadable.check(("l", leaf), ("w", whole), mayRead: { $0 == 1 }, &history)
      return history.faults.count
    }
    #expect(faults(isWithdrawn: true, rivals: [1: 0]) == 0)
    #expect(faults(isWithdrawn: false, rivals: [1: 0]) == 1)
    #expect(faults(isWithdrawn: true, rivals: [:]) == 1)
  }

  @Test func `a delete that its author took back and one member had got`() {
    func faults(isDeleted: Bool, isWithdrawn: Bool) -> Int {
      var history = history
      if isWithdrawn { history.withdraw(0, of: origin, above: 0) }
      var one = version(1, stamp: 10)
      one.isDeleted = isDeleted
      let (some, others) = (shown([0: one], [:], seq: 1), shown([:], [:], seq: 1))
      EventuallyEqual.check([("a", some), ("b", others)], &history)
      return history.faults.count
    }
    #expect(faults(isDeleted: true, isWithdrawn: true) == 0)
    #expect(faults(isDeleted: true, isWithdrawn: false) == 1)
    #expect(faults(isDeleted: false, isWithdrawn: true) == 1)
  }
}
