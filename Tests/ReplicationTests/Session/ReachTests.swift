import Replication
import Testing

@Suite struct `A session where members sign how far they have come` {
  private static let (own, theirs) = (Conversation.own, Conversation.peerOrigin)
  private static let third = Samples.origin(30)
  private static let (node, peer) = (Conversation.node, Conversation.peerNode)

  /// Signed are those whose signature begins with 1; of a node 99 nobody knows.
  private static func surety(_ exempt: Set<Origin>?) -> Surety {
    Surety(exempt: { exempt }) { $0.node.low == 99 ? nil : $0.signature.first == 1 }
  }

  private static func reach(
    _ origin: Origin, _ node: Identity, _ seq: UInt64, run: UInt64 = 1, isSigned: Bool = true
  ) -> Reach {
    Reach(
      origin: origin, node: node, life: 0, seq: seq, run: run,
      signature: [isSigned ? 1 : 0] + Array(repeating: 0, count: 63))
  }

  /// With a peer that holds nothing; this side holds five own edits and two of a third node.
  private static func conversation(
    knowing reaches: [Reach] = [], exempt: Set<Origin>? = nil, surety: Surety? = nil
  ) -> Conversation {
    let frontier = Frontier([own: 5, third: 2])
    var it = Conversation(holding: frontier) { configuration in
      configuration.surety = surety ?? Self.surety(exempt)
      configuration.runs = RunLog([RunLog.Entry(first: 1, origin: own, run: 1)])
      configuration.position.reaches = ReachBook(reaches)
    }
    it.feed(.connected)
    it.hear(.hello(it.peerHello()))
    it.feed(.mayPull(resume: Frontier()))
    it.hear(.have(it.have(frontier)))
    return it
  }

  private static func take(
    _ kind: Begin.Kind, _ reaches: [Reach], in it: inout Conversation
  ) -> [Session.Directive] {
    it.hear(.begin(Begin(kind, rows: 1)))
    if !reaches.isEmpty {
      let directives = it.hear(reaches: reaches)
      if !directives.isEmpty { return directives }
    }
    it.hear(rows: [1])
    return it.hear(.end(End(rows: 1, check: 0)))
  }

  @Test func `counts as covered what an owner has signed for, and no more`() throws {
    let covers = Frontier([Self.theirs: 9, Self.third: 40, Self.own: 1 << 40])
    let reaches = [Self.reach(Self.theirs, Self.peer, 7)]
    let known = Self.reach(Self.third, Identity(high: 0, low: 30), 30)
    var it = Self.conversation(knowing: [known])
    let merge = try #require(Self.take(.full(covers: covers), reaches, in: &it).merges.first)
    #expect(merge.kind.covers == Frontier([Self.theirs: 7, Self.third: 30, Self.own: 5]))
    #expect(merge.reaches == reaches)
    #expect(merge.sealed?.holds(Dot(Self.theirs, 8)) == false)
    #expect(
      it.feed(.merged(MergeResult(rows: 1, check: 0))).first
        == .peerHolds(Frontier([Self.theirs: 7, Self.third: 30, Self.own: 5])))
  }

  @Test func `takes nothing under an origin for which nobody has signed, if the site is closed`()
    throws
  {
    let covers = Frontier([Self.theirs: 9, Self.third: 40])
    let cases: [(exempt: Set<Origin>?, wanted: Frontier)] = [
      (exempt: nil, wanted: covers), (exempt: [], wanted: Frontier([Self.third: 2])),
      (exempt: [Self.third], wanted: Frontier([Self.third: 40])),
    ]
    for (exempt, wanted) in cases {
      var it = Self.conversation(exempt: exempt)
      let merge = try #require(Self.take(.full(covers: covers), [], in: &it).merges.first)
      #expect(merge.kind.covers == wanted)
    }
  }

  @Test func `ends over a signature that is none, and over a push without one`() {
    var it = Self.conversation()
    let forged = [Self.reach(Self.theirs, Self.peer, 7, isSigned: false)]
    #expect(Self.take(.full(covers: Frontier()), forged, in: &it).bye == .badMessage)
    let known = Self.reach(Self.theirs, Self.peer, 1)
    it = Self.conversation(knowing: [known])
    let push = Begin.Kind.push(origin: Self.theirs, from: 0, to: 2)
    #expect(Self.take(push, [], in: &it).bye == .badMessage)
    it = Self.conversation(knowing: [known])
    #expect(Self.take(push, [Self.reach(Self.theirs, Self.peer, 2)], in: &it).merges.count == 1)
    // Whose key nobody knows says nothing.
    it = Self.conversation()
    let unknown = [Self.reach(Self.theirs, Identity(high: 0, low: 99), 7)]
    #expect(Self.take(.repair, unknown, in: &it).merges.first?.reaches == [])
    it = Self.conversation()
    #expect(it.hear(reaches: [known]).bye == .badMessage)
  }

  @Test func `doubts its file by its own signature alone`() {
    var it = Self.conversation()
    // What a member claims of it is cut to what it has.
    let claim = it.have(Frontier([Self.own: 1 << 40]))
    #expect(it.hear(.have(claim)).contains(.peerHolds(Frontier([Self.own: 5, Self.third: 2]))))
    let (lost, past) = (Self.reach(Self.own, Self.node, 9), Self.reach(Self.own, Self.node, 4))
    #expect(Self.take(.repair, [lost], in: &it) == [.doubted(lost)])
    for (reach, isDoubt) in [
      (lost, true), (past, false),
      (Self.reach(Self.own, Self.peer, 9), false),
      // Signed in a run that the file has never heard of.
      (Self.reach(Self.own, Self.node, 4, run: 7), true),
    ] {
      it = Self.conversation()
      var have = it.have(Frontier([Self.own: 1 << 40]))
      have.testimony = reach
      #expect(it.hear(.have(have)).contains(.contradicted(have)) == isDoubt, "\(reach)")
    }
  }

  @Test func `shows all that is signed at first, and then what the peer may lack`() {
    let mine = Self.reach(Self.own, Self.node, 5)
    let known = Self.reach(Self.third, Identity(high: 0, low: 30), 2)
    var it = Self.conversation(knowing: [mine, known])
    it.feed(.ask)
    let covers = Frontier([Self.own: 5, Self.third: 2])
    let first = it.feed(.exportOpened(covers: covers, rows: 0)).sent
    #expect(first.count == 2 && first.last == .reaches(number: 1, [mine, known]))
    it.feed(.exportDone)
    var position = Position(
      frontier: Frontier([Self.own: 6, Self.third: 2]), digest: Digest(), own: Self.own)
    let next = Self.reach(Self.own, Self.node, 6)
    position.reaches = ReachBook([next, known])
    var push = Push(origin: Self.own, from: 5, to: 6, batch: [1], rows: 1, check: 1)
    push.reach = next
    #expect(it.feed(.folded(push)).sent.contains(.reaches(number: 4, [next])))
    it.feed(.advanced(position))
    it.feed(.ask)
    #expect(it.feed(.exportOpened(covers: position.frontier, rows: 0)).sent.count == 1)
  }

  /// The peer left it out, and asks for it when it knows that it counts.
  @Test func `shows the first signature of what it has told without one`() {
    let mine = Self.reach(Self.own, Self.node, 5)
    let later = Self.reach(Self.third, Identity(high: 0, low: 30), 4)
    var position = Position(
      frontier: Frontier([Self.own: 5, Self.third: 4]), digest: Digest(), own: Self.own, age: 1)
    // It may come while the edits are on their way, or when all were sent.
    for isLate in [false, true] {
      var it = Self.conversation(knowing: [mine], exempt: [])
      position.reaches = ReachBook([mine])
      it.feed(.advanced(position))
      it.feed(.ask)
      it.feed(.exportOpened(covers: position.frontier, rows: 0))
      if isLate { #expect(!it.feed(.exportDone).opensExport) }
      position.reaches = ReachBook([mine, later])
      let told = it.feed(.advanced(position))
      #expect(told.opensExport == isLate)
      if !isLate { #expect(it.feed(.exportDone).opensExport) }
      let shown = it.feed(.exportOpened(covers: position.frontier, rows: 0)).sent
      #expect(shown.contains { if case .reaches(_, [later]) = $0 { true } else { false } })
      #expect(!it.feed(.exportDone).opensExport)
    }
  }

  private static func leaveOut(_ it: inout Conversation) {
    it.feed(.merged(MergeResult(rows: 1, check: 0, leftOut: [third: Omission(from: 3)])))
  }

  @Test func `covers nothing of what it has left out, whatever it hears later`() throws {
    var it = Self.conversation(exempt: [])
    let covers = Frontier([Self.third: 4, Self.theirs: 1])
    let known = Self.reach(Self.theirs, Self.peer, 1)
    it.hear(.begin(Begin(.full(covers: covers), rows: 5_000)))
    it.hear(reaches: [known])
    it.hear(rows: [1])
    Self.leaveOut(&it)
    // The signature comes with the rest, and the rows that came before it are not here.
    it.hear(reaches: [Self.reach(Self.third, Self.peer, 4)])
    it.hear(rows: [1])
    let merge = try #require(it.hear(.end(End(rows: 2, check: 0))).merges.last)
    #expect(merge.claim(beside: Frontier([Self.third: 2])) == Frontier([Self.theirs: 1]))
    var slice = merge
    (slice.movesFrontier, slice.end) = (false, nil)
    let progress = slice.progress(after: Dot(Origin(rawValue: .max), 1), beside: Frontier())
    #expect(progress?[Self.third] == 0)
  }

  @Test func `begins anew when what it has left out would count`() {
    let exempt = Exempt()
    exempt.origins = []
    let nodes = Exempt()
    let surety = Surety(exempt: { exempt.origins }) { reach in
      nodes.keys.contains(reach.node) ? reach.signature.first == 1 : nil
    }
    func left(_ reaches: [Reach] = []) -> Conversation {
      var it = Self.conversation(surety: surety)
      _ = Self.take(.full(covers: Frontier([Self.third: 4])), reaches, in: &it)
      Self.leaveOut(&it)
      return it
    }
    func position(_ reaches: [Reach]) -> Position {
      var position = Position(
        frontier: Frontier([Self.own: 5, Self.third: 2]), digest: Digest(), own: Self.own, age: 1)
      position.reaches = ReachBook(reaches)
      return position
    }
    // A signature that goes as far as what was left out.
    for (seq, isEnough) in [(2, false), (3, true)] as [(UInt64, Bool)] {
      var it = left()
      let news = position([Self.reach(Self.third, Self.peer, seq)])
      #expect((it.feed(.advanced(news)).bye == .other) == isEnough)
    }
    // An exemption.
    var it = left()
    #expect(it.feed(.advanced(position([]))).bye == nil)
    exempt.origins = [Self.third]
    #expect(it.feed(.advanced(position([]))).bye == .other)
    // A key that was not known.
    exempt.origins = []
    it = left([Self.reach(Self.third, Self.peer, 4)])
    #expect(it.feed(.advanced(position([]))).bye == nil)
    nodes.keys = [Self.peer]
    #expect(it.feed(.advanced(position([]))).bye == .other)
  }

  @Test func `begins anew when an appointment comes for what it has left out`() {
    let known = Exempt()
    let surety = Surety(appointees: { Appointees(known.appointments) }) { _ in true }
    let term = Term(number: 2, incarnation: 3)
    func appoint(_ node: Identity, _ term: Term) {
      known.appointments.append(Appointment(term: term, node: node, isForced: false))
    }
    var position = Position(
      frontier: Frontier([Self.own: 5, Self.third: 2]), digest: Digest(), own: Self.own, age: 1)
    position.reaches = ReachBook([Self.reach(Self.third, Self.peer, 9)])
    for part in [.edit, .verdict] as [TermClaim.Part] {
      known.appointments = []
      var it = Self.conversation(surety: surety)
      it.feed(.advanced(position))
      _ = Self.take(.full(covers: Frontier([Self.third: 4])), [], in: &it)
      let claim = TermClaim(term: term, part: part)
      let leftOut = [Self.third: Omission(from: 3, for: claim)]
      it.feed(.merged(MergeResult(rows: 1, check: 0, leftOut: leftOut)))
      #expect(it.feed(.advanced(position)).bye == nil)
      appoint(Self.peer, Term(number: 2, incarnation: 4))
      #expect(it.feed(.advanced(position)).bye == nil)
      // Anybody may write over what an anchor has certified, and no other node certifies.
      appoint(part == .verdict ? Self.peer : Self.node, term)
      #expect(it.feed(.advanced(position)).bye == .other)
    }
  }

  /// Else what this node writes next would have a verdict already.
  @Test func `has own edits judged that were made, and no others`() throws {
    let term = Term(number: 1, incarnation: 5)
    let surety = Surety(
      appointees: { Appointees([Appointment(term: term, node: Self.peer, isForced: false)]) }
    ) { _ in true }
    var it = Self.conversation(surety: surety)
    var begin = Begin(.full(covers: Frontier()), rows: 0)
    begin.judged = Judged(
      term: term, frontier: Frontier([Self.third: 9, Self.own: 1 << 40]))
    it.hear(.begin(begin))
    let merge = try #require(it.hear(.end(End(rows: 0, check: 0))).merges.first)
    #expect(merge.judged?.frontier == Frontier([Self.third: 9, Self.own: 5]))
  }

  /// An anchor stands down for verdicts of a higher term.
  @Test func `a term that nobody was appointed for unseats no anchor`() throws {
    let known = Exempt()
    let own = Term(number: 1, incarnation: 5)
    known.appointments = [Appointment(term: own, node: Self.node, isForced: false)]
    let surety = Surety(appointees: { Appointees(known.appointments) }) { _ in true }
    for number in [1, 2, 18, 1 << 32, 1 << 62] as [UInt64] {
      for term in [Term(number: number, incarnation: 1), own] {
        known.appointments.removeAll { $0.term != own }
        var it = Self.conversation(surety: surety)
        let judged = Judged(term: term, frontier: Frontier([Self.third: 1]))
        var begin = Begin(.full(covers: Frontier()), rows: 0)
        begin.judged = judged
        it.hear(.begin(begin))
        let merge = try #require(it.hear(.end(End(rows: 0, check: 0))).merges.first)
        #expect(merge.judged == (term == own ? judged : nil))
        let position = Position(
          frontier: Frontier([Self.own: 5, Self.third: 2]), digest: Digest(), own: Self.own,
          age: 1)
        #expect(it.feed(.advanced(position)).bye == nil)
        // When somebody is, they come again.
        known.appointments.append(Appointment(term: term, node: Self.peer, isForced: false))
        let bye = it.feed(.advanced(position)).bye
        #expect(bye == (term == own ? nil : .other))
      }
    }
  }

  /// Whatever comes of its own edits is no reason: it writes on.
  @Test func `does not begin anew for its own edits`() {
    var it = Self.conversation(exempt: [])
    _ = Self.take(.repair, [], in: &it)
    it.feed(.merged(MergeResult(rows: 1, check: 0, leftOut: [Self.own: Omission(from: 6)])))
    let next = Position(
      frontier: Frontier([Self.own: 7, Self.third: 2]), digest: Digest(), own: Self.own, age: 1)
    #expect(it.feed(.advanced(next)).bye == nil)
  }

  @Test func `goes by what is exempt now, not when the session began`() throws {
    let exempt = Exempt()
    let surety = Surety(exempt: { exempt.origins }) { $0.signature.first == 1 }
    var it = Self.conversation(surety: surety)
    exempt.origins = []
    let covers = Frontier([Self.third: 40])
    let merge = try #require(Self.take(.full(covers: covers), [], in: &it).merges.first)
    #expect(merge.kind.covers == Frontier([Self.third: 2]) && merge.sealed?.exempt == [])
  }

  private final class Exempt: @unchecked Sendable {
    var origins: Set<Origin>?
    var keys: Set<Identity> = []
    var appointments: [Appointment] = []
  }

  @Test func `begins anew when less counts than was said, and covers nothing by that`() throws {
    var it = Self.conversation()
    it.hear(.begin(Begin(.full(covers: Frontier([Self.third: 2, Self.theirs: 1])), rows: 1)))
    let merge = try #require(it.hear(.end(End(rows: 0, check: 0))).merges.first)
    #expect(merge.claim(beside: Frontier([Self.third: 2])) == merge.kind.covers)
    #expect(merge.claim(beside: Frontier()) == Frontier([Self.theirs: 1]))
    let less = Position(
      frontier: Frontier([Self.own: 5]), digest: Digest(), own: Self.own, age: 1)
    #expect(it.feed(.advanced(less)).bye == .other)
  }

  /// Its machine was put back to 4 and came to 5 in another run, of which this side heard later.
  @Test func `shows the peer what it signed in runs before`() {
    let before = Reach(
      origin: Self.theirs, node: Self.peer, life: 0, seq: 9, run: 1,
      signature: Self.reach(Self.theirs, Self.peer, 9).signature)
    let last = Self.reach(Self.theirs, Self.peer, 12, run: 3)
    var it = Conversation(holding: Frontier([Self.theirs: 12])) { configuration in
      configuration.surety = Self.surety(nil)
      configuration.position.reaches = ReachBook([before, last])
    }
    it.feed(.connected)
    it.hear(.hello(it.peerHello()))
    let shown = it.feed(.mayPull(resume: Frontier())).sent.compactMap { message in
      if case .have(let have) = message { have } else { nil }
    }
    #expect(shown.map(\.testimony) == [last, before])
    #expect(shown.last?.frontier == Frontier() && shown.last?.asks == false)
  }

  @Test func `looks at what it has signed itself, however far it has come since`() {
    let (last, lost) = (
      Self.reach(Self.own, Self.node, 5), Self.reach(Self.own, Self.node, 4, run: 7)
    )
    var it = Self.conversation(knowing: [last])
    it.hear(.begin(Begin(.repair, rows: 0)))
    #expect(it.hear(reaches: [lost]) == [.doubted(lost)])
  }

  @Test func `checks no more signatures than there are origins in a frame`() {
    var it = Self.conversation()
    it.hear(.begin(Begin(.repair, rows: 0)))
    let rising = (1...3).map { Self.reach(Self.theirs, Self.peer, $0) }
    #expect(it.hear(reaches: rising).bye == .badMessage)
    it = Self.conversation()
    var have = it.have(Frontier())
    have.testimony = Self.reach(Self.own, Self.node, 9, isSigned: false)
    #expect(it.hear(.have(have)).bye == .badMessage)
  }

  @Test func `checks so many signatures at once, and then one each millisecond`() {
    var it = Self.conversation()
    it.hear(.begin(Begin(.repair, rows: 0)))
    func show(_ seq: Int) -> Bye.Code? {
      it.hear(reaches: [Self.reach(Self.theirs, Self.peer, UInt64(seq))]).bye
    }
    let most = Limits.frontierEntries
    #expect((1...most).allSatisfy { show($0) == nil })
    it.wait(10)
    #expect((most + 1...most + 10).allSatisfy { show($0) == nil })
    #expect(show(most + 11) == .badMessage)
  }

  @Test func `pushes nothing without a signature`() {
    var it = Self.conversation()
    it.feed(.ask)
    it.feed(.exportOpened(covers: Frontier([Self.own: 5, Self.third: 2]), rows: 0))
    it.feed(.exportDone)
    let push = Push(origin: Self.own, from: 5, to: 6, batch: [1], rows: 1, check: 1)
    #expect(it.feed(.folded(push)).sent.isEmpty)
  }

  @Test func `counts what it has pushed as held, before it hears of the fold`() throws {
    var it = Self.conversation(exempt: [])
    it.feed(.ask)
    it.feed(.exportOpened(covers: Frontier([Self.own: 5, Self.third: 2]), rows: 0))
    it.feed(.exportDone)
    var push = Push(origin: Self.own, from: 5, to: 6, batch: [1], rows: 1, check: 1)
    push.reach = Self.reach(Self.own, Self.node, 6)
    #expect(!it.feed(.folded(push)).sent.isEmpty)
    let covers = Frontier([Self.own: 6, Self.third: 2])
    let merge = try #require(Self.take(.full(covers: covers), [], in: &it).merges.first)
    #expect(merge.kind.covers[Self.own] == 6)
    let claimed = Frontier([Self.own: 7])
    it.feed(.merged(MergeResult(rows: 1, check: 1)))
    let more = try #require(Self.take(.full(covers: claimed), [], in: &it).merges.first)
    #expect(more.kind.covers[Self.own] == 6)
  }
}

extension [Session.Directive] {
  fileprivate var opensExport: Bool {
    contains { if case .openExport = $0 { true } else { false } }
  }
}
