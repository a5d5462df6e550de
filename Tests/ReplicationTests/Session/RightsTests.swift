import Replication
import Testing

@Suite("A session between members with rights")
struct RightsTests {
  private static let reader = Rights(general: .read)
  private static let partial = Rights(tables: ["bills": .none, "notes": .read])
  private static let leafOrigin = Origin.of(
    Conversation.peerNode, life: 7, PlainNotary.notary)

  /// A session that is open with a peer that may do this.
  private func conversation(
    peer: Rights = .all, own: Rights = .all, holding frontier: Frontier = Frontier()
  ) -> Conversation {
    var it = Conversation(holding: frontier, own: own, peer: peer)
    it.feed(.connected)
    var hello = it.peerHello()
    hello.life = 7
    it.hear(.hello(hello))
    it.feed(.mayPull(resume: Frontier()))
    it.hear(.have(it.have(Frontier())))
    return it
  }

  private static func row(of origin: Origin) -> WireRow {
    let dot = Dot(origin, 1)
    let version = Version(
      dot: dot, created: dot, stamp: Stamp(rawValue: 1), hash: 1, isDeleted: false)
    return WireRow(table: 0, version: version, content: .values([.integer(1)]))
  }

  @Test("takes from a leaf nothing but edits under its own origin")
  func leafSends() {
    let other = Origin(rawValue: 5)
    for (kind, isGood) in [
      (Begin.Kind.push(origin: Self.leafOrigin, from: 0, to: 1), true),
      (.full(covers: Frontier([Self.leafOrigin: 3])), true),
      (.full(covers: Frontier()), true),
      (.push(origin: other, from: 0, to: 1), false),
      (.full(covers: Frontier([Self.leafOrigin: 3, other: 1])), false),
      (.repair, false),
    ] {
      var it = conversation(peer: Self.partial)
      let bye = it.hear(.begin(Begin(kind, rows: 1))).bye
      #expect(bye == (isGood ? nil : .notAllowed), "\(kind)")
      var whole = conversation()
      #expect(whole.hear(.begin(Begin(kind, rows: 1))).bye == nil)
    }
  }

  @Test("takes no claim at all from a reader")
  func readerClaims() {
    for (kind, isGood) in [
      (Begin.Kind.full(covers: Frontier()), true),
      (.full(covers: Frontier([Self.leafOrigin: 1 << 62])), false),
      (.push(origin: Self.leafOrigin, from: 0, to: 1), false),
    ] {
      var it = conversation(peer: Self.reader)
      #expect((it.hear(.begin(Begin(kind, rows: 0))).bye == nil) == isGood, "\(kind)")
    }
  }

  @Test("knows a leaf's origin by its key, not by what it says")
  func borrowedOrigin() {
    var it = Conversation(holding: Frontier(), own: .all, peer: Self.partial)
    it.feed(.connected)
    var hello = it.peerHello()
    hello.life = 8
    it.hear(.hello(hello))
    let begin = Begin(.push(origin: Self.leafOrigin, from: 0, to: 1), rows: 1)
    #expect(it.hear(.begin(begin)).bye == .notAllowed)
  }

  @Test("gives a merge the leave of the sender along")
  func licence() throws {
    let licence = LeafLicence(origin: Self.leafOrigin, rights: Self.partial)
    #expect(licence.allows(Self.row(of: Self.leafOrigin), in: "Patients"))
    #expect(!licence.allows(Self.row(of: Self.leafOrigin), in: "NOTES"))
    #expect(!licence.allows(Self.row(of: Self.leafOrigin), in: "bills"))
    #expect(!licence.allows(Self.row(of: Self.leafOrigin), in: "_flotilla_table"))
    #expect(!licence.allows(Self.row(of: Origin(rawValue: 5)), in: "patients"))
    var it = conversation(peer: Self.partial)
    it.hear(.begin(Begin(.full(covers: Frontier()), rows: 0)))
    let end = End(rows: 0, check: Begin.Kind.full(covers: Frontier()).check(number: 1))
    let merges = it.hear(.end(end)).compactMap { directive -> Merge? in
      if case .merge(let merge) = directive { merge } else { nil }
    }
    #expect(merges.map(\.licence) == [licence])
  }

  /// The beginning of a batch with rows of these tables.
  private func beginning(_ tables: String...) -> [UInt8] {
    var writer = RowBatchWriter()
    for (number, name) in tables.enumerated() {
      let shape = TableShape(name: name, keyCount: 1, columns: ["id"])
      let dot = Dot(Self.leafOrigin, UInt64(number + 1))
      let version = Version(dot: dot, created: dot, stamp: .zero, hash: 1, isDeleted: false)
      writer.add(shape, version, .values([.integer(1)]))
    }
    return writer.bytes
  }

  @Test("refuses the first frame of what a leaf may not write, and keeps nothing of it")
  func firstFrame() {
    let covers = Begin.Kind.full(covers: Frontier())
    let long = [UInt8](repeating: 0, count: 400_000)
    for (rights, batch, bye) in [
      (Self.reader, beginning("patients"), Bye.Code.notAllowed),
      (Self.partial, beginning("NOTES"), .notAllowed),
      (Self.partial, beginning("patients", "bills"), .notAllowed),
      (Self.partial, beginning("_flotilla_table"), .notAllowed),
      (Self.partial, beginning(), .badMessage),
      (Self.partial, Array(beginning("patients").prefix(4)), .badMessage),
      (Self.partial, beginning("patients"), nil),
      (.all, beginning("notes"), nil),
    ] {
      var it = conversation(peer: rights)
      it.hear(.begin(Begin(covers, rows: 1)))
      #expect(it.hear(part: batch + long).bye == bye, "\(rights)")
      var whole = conversation(peer: rights)
      whole.hear(.begin(Begin(covers, rows: 1)))
      #expect(whole.hear(rows: batch).bye == bye, "\(rights)")
      guard bye == nil else { continue }
      // Only the first frame of a batch names tables, and each batch has one.
      #expect(it.hear(part: long).bye == nil)
      #expect(it.hear(rows: long).bye == nil)
      if rights != .all { #expect(it.hear(part: beginning("notes")).bye == .notAllowed) }
    }
  }

  @Test("shows no digest to who may not read everything, and compares none with it")
  func digests() {
    let held = RepairTests.held
    for (peer, own, isShown) in [
      (Rights.all, Rights.all, true), (Self.reader, .all, true), (Self.partial, .all, false),
      (.all, Self.partial, false),
    ] {
      var it = Conversation(holding: held, digest: RepairTests.ours, own: own, peer: peer)
      it.feed(.connected)
      it.hear(.hello(it.peerHello()))
      let root = isShown ? RepairTests.ours.root : 0
      let told = it.feed(.mayPull(resume: Frontier())).sent.compactMap {
        if case .have(let have) = $0 { have.rootDigest } else { nil }
      }
      #expect(told == [root])
      #expect(it.hear(.have(it.have(held, root: 1))).sent.isEmpty != isShown)
      let theirs = Buckets(frontierHash: held.hash, digest: RepairTests.digest(differingIn: [3]))
      #expect(it.hear(.buckets(theirs)).isEmpty != isShown)
      // Nor do steps from one digest to the next tell anything.
      let after = it.advance(
        Frontier([Conversation.own: 2]), digest: RepairTests.digest(differingIn: [7]))
      let steps = (after + it.wait(100)).sent.compactMap {
        if case .have(let have) = $0 { have.rootDigest } else { nil }
      }
      #expect(steps.allSatisfy { ($0 == 0) != isShown }, "\(steps)")
    }
  }

  @Test("pushes nothing to who may not read everything, and exports what it may")
  func readerPeer() {
    let own = Conversation.own
    let push = Push(origin: own, from: 0, to: 1, batch: [1], rows: 1, check: 1)
    var whole = conversation(peer: Self.reader)
    #expect(!whole.feed(.folded(push)).sent.isEmpty)
    var partial = conversation(peer: Self.partial)
    #expect(partial.feed(.folded(push)).isEmpty)
    #expect(partial.advance(Frontier([own: 1])) == [.openExport(.above(Frontier()))])
    #expect(partial.session.exportFilter == ExportFilter(reader: Self.partial))
  }

  @Test("sends as a leaf only what it wrote itself; as a reader nothing")
  func leafOwns() {
    let (own, other) = (Conversation.own, Origin(rawValue: 77))
    var leaf = conversation(own: Self.partial)
    #expect(leaf.advance(Frontier([other: 4])).isEmpty)
    #expect(!leaf.wait(1_000).contains { if case .openExport = $0 { true } else { false } })
    #expect(
      leaf.advance(Frontier([other: 4, own: 1])).contains(.openExport(.above(Frontier()))))
    var reader = conversation(own: Self.reader)
    #expect(reader.advance(Frontier([other: 4, own: 1])).isEmpty)
  }

  @Test("gives another leaf nothing, which could not pass it on")
  func leaves() {
    let own = Conversation.own
    let push = Push(origin: own, from: 0, to: 1, batch: [1], rows: 1, check: 1)
    var leaf = conversation(peer: Self.reader, own: Rights(tables: ["notes": .read]))
    #expect(leaf.feed(.folded(push)).isEmpty)
    #expect(leaf.advance(Frontier([own: 1])).isEmpty)
    #expect(!leaf.session.exportFilter.sender.writes)
    #expect(!leaf.session.exportFilter.passes("patients"))
  }

  @Test("tells which tables are opened, known or not")
  func opening() {
    let hidden = Rights(tables: ["bills": .none])
    #expect(Rights.all.opens(beyond: hidden))
    #expect(Rights(tables: ["bills": .read]).opens(beyond: hidden))
    #expect(!hidden.opens(beyond: .all) && !hidden.opens(beyond: hidden))
    #expect(Rights.all.opens(beyond: Rights(general: .none)))
    #expect(!Rights.all.opens(beyond: Self.reader))
  }

  @Test("asks for rows by name, and gives them, if it is a whole member's place to")
  func wanting() {
    let names = [RowName(table: "t", key: [1]), RowName(table: "t", key: [2])]
    var asking = conversation(own: Self.reader)
    #expect(asking.feed(.want(names)) == [.send(.want(names))])
    var useless = conversation(peer: Self.partial, own: Self.reader)
    #expect(useless.feed(.want(names)).isEmpty)
    var giving = conversation(peer: Self.reader)
    #expect(giving.hear(.want(names)) == [.openExport(.rows(names))])
    let begin = giving.feed(.exportOpened(covers: Frontier(), rows: 2)).sent.first
    guard case .begin(let opened)? = begin else {
      Issue.record("\(String(describing: begin))")
      return
    }
    #expect(opened.kind == .repair)
    var leaf = conversation(own: Self.partial)
    #expect(leaf.hear(.want(names)).isEmpty)
  }

  @Test("goes on with the next rows that were asked for where an export of some pauses")
  func pausing() {
    let names = (0..<600 as Range<UInt16>).map {
      RowName(table: "t", key: [UInt8($0 >> 8), UInt8($0 & 255)])
    }
    var it = conversation(peer: Self.reader)
    it.hear(.want(Array(names.prefix(256))))
    it.hear(.want(Array(names[256..<512])))
    it.hear(.want(Array(names[512...])))
    for _ in 0..<2 {
      it.feed(.exportOpened(covers: Frontier(), rows: 256))
      guard case .openExport(.rows)? = it.feed(.exportPaused(progress: Frontier())).last else {
        Issue.record("they are never sent")
        return
      }
    }
    it.feed(.exportOpened(covers: Frontier(), rows: 88))
    #expect(it.feed(.exportPaused(progress: Frontier())).last == .closeExport)
  }

  @Test("asks for rows with long keys in frames that fit")
  func longKeys() {
    var it = conversation(own: Self.reader)
    let names = (0..<5 as Range<UInt8>).map {
      RowName(table: "t", key: [UInt8](repeating: $0, count: 400_000))
    }
    let sent = it.feed(.want(names)).sent
    #expect(sent.count == 3 && sent.allSatisfy { $0.frame.count <= Limits.frame + 4 })
  }

  @Test("filters by reader, sender and table")
  func filter() {
    let filter = ExportFilter(reader: Self.partial)
    #expect(filter.passes("patients") && filter.passes("notes") && filter.passes("_flotilla_table"))
    #expect(!filter.passes("Bills") && !filter.isOpen && ExportFilter.none.isOpen)
    let leaf = ExportFilter(sender: Self.partial)
    #expect(leaf.passes("patients") && !leaf.passes("notes") && !leaf.passes("_flotilla_table"))
    #expect(Rights(bytes: Self.partial.bytes) == Self.partial)
    #expect(Rights(bytes: [9, 9]) == Rights(general: .none))
  }
}

extension LeafLicence {
  /// Whether a whole row may come from it.
  func allows(_ row: WireRow, in table: String) -> Bool {
    allows(row.version, isRuling: row.content.ruling != nil, in: table)
  }
}
