import Testing

@testable import Replication

@Suite struct `What owners have signed` {
  private static let (known, other, own) = (
    Origin(rawValue: 1), Origin(rawValue: 2), Origin(rawValue: 3)
  )

  private func sealed(exempt: Set<Origin>? = nil) -> Sealed {
    let reach = Reach(
      origin: Self.known, node: Identity(high: 1, low: 1), life: 0, seq: 5, run: 1)
    return Sealed(
      [Self.known: reach], own: Self.own, last: 7, held: Frontier([Self.other: 2]),
      exempt: exempt)
  }

  private func version(_ origin: Origin, _ seq: UInt64) -> Version {
    let dot = Dot(origin, seq)
    return Version(dot: dot, created: dot, stamp: .zero, hash: 1, isDeleted: false)
  }

  @Test func `is all that counts of a frontier`() {
    let claim = Frontier([Self.known: 1 << 40, Self.other: 9, Self.own: 1 << 40])
    #expect(sealed().limit(claim) == Frontier([Self.known: 5, Self.other: 9, Self.own: 7]))
    let less = Frontier([Self.known: 3, Self.own: 1])
    #expect(sealed().limit(less) == less)
  }

  @Test func `is what is held of others where the site is closed`() {
    let unknown = Origin(rawValue: 4)
    let claim = Frontier([Self.known: 9, Self.other: 9, unknown: 9])
    #expect(sealed(exempt: []).limit(claim) == Frontier([Self.known: 5, Self.other: 2]))
    #expect(!sealed(exempt: []).holds(Dot(unknown, 1)) && sealed().holds(Dot(unknown, 1)))
    #expect(sealed(exempt: [unknown]).holds(Dot(unknown, 1)))
  }

  @Test func `bounds which rows are taken`() {
    var merge = Merge(
      sender: Identity(high: 1, low: 1), kind: .repair, batches: [], rowsBefore: 0,
      checkBefore: 0, end: nil, movesFrontier: false)
    #expect(!merge.isUnsigned(row(version(Self.known, 6))))
    merge.sealed = sealed()
    #expect(
      merge.isUnsigned(row(version(Self.known, 6)))
        && !merge.isUnsigned(row(version(Self.known, 5))))
    #expect(
      merge.isUnsigned(row(version(Self.own, 8))) && !merge.isUnsigned(row(version(Self.other, 8))))
  }

  /// A row that says nothing but what its version does, or a word of an anchor.
  private func row(_ version: Version, _ ruling: Ruling? = nil) -> WireRow {
    let content = ruling.map { WireRow.Content.ruling($0, key: [.integer(1)]) }
    return WireRow(table: 0, version: version, content: content ?? .deleted(key: [.integer(1)]))
  }

  @Test func `lets the anchor of a term alone say what an anchor says`() {
    let (anchor, node) = (Identity(high: 1, low: 1), Identity(high: 2, low: 2))
    let terms = (1...3).map { Term(number: $0, incarnation: 7) }
    var sealed = sealed()
    var version = version(Self.known, 5)
    version.term = terms[2]
    #expect(sealed.allows(row(version)))
    sealed.appointees = Appointees([
      Appointment(term: terms[0], node: anchor, isForced: false),
      Appointment(term: terms[1], node: node, isForced: false),
    ])
    sealed.node = node
    #expect(!sealed.allows(row(version)), "nobody was appointed")
    let rejection = Ruling(.rejected(.older), edit: version.dot, rule: "newest-wins")
    let resignation = Ruling(.stoodDown, edit: version.dot, rule: anchor.description)
    for (term, isTheirs) in [(terms[0], true), (terms[1], false)] {
      version.term = term
      version.dot = Dot(Self.known, 5)
      version.certificate = nil
      #expect(sealed.allows(row(version)), "an edit follows whatever stands")
      #expect(sealed.allows(row(version, rejection)) == isTheirs)
      #expect(sealed.allows(row(version, resignation)), "it may resign for a later anchor")
      version.certificate = Version.Certificate(edit: version.dot, at: .zero)
      #expect(sealed.allows(row(version)) == isTheirs)
      version.dot = Dot(Self.own, 7)
      #expect(sealed.allows(row(version)) == !isTheirs)
      #expect(!sealed.allows(row(version, resignation)), "nobody resigns for another one")
      version.dot = Dot(Self.other, 2)
      #expect(sealed.allows(row(version)), "nobody knows whose it is")
    }
    (version.term, version.certificate) = (terms[1], nil)
    let stranger = Ruling(
      .stoodDown, edit: version.dot, rule: Identity(high: 7, low: 7).description)
    sealed.news = [
      Self.known: Reach(
        origin: Self.known, node: Identity(high: 7, low: 7), life: 0, seq: 9, run: 1)
    ]
    version.dot = Dot(Self.known, 5)
    #expect(!sealed.allows(row(version, stranger)), "who never was the anchor does not resign")
    sealed.news = [:]
    version.term = .none
    #expect(!sealed.allows(row(version, rejection)), "no anchor, no word of it")
    let rival = Term(number: 1, incarnation: 8)
    (version.term, version.dot) = (rival, Dot(Self.known, 5))
    #expect(!sealed.allows(row(version)), "a rival of the same number was not appointed")
    version.term = .none
    version.certificate = nil
    #expect(sealed.allows(row(version)))
  }

  /// Another word under a number that the anchor has used for something else.
  @Test func `takes no word of an anchor under a number of which all is here`() {
    var merge = Merge(
      sender: Identity(high: 1, low: 1), kind: .repair, batches: [], rowsBefore: 0,
      checkBefore: 0, end: nil, movesFrontier: false)
    merge.sealed = sealed()
    merge.sealed?.held = Frontier([Self.known: 3])
    for (seq, isLeftOut) in [(3, true), (4, false)] as [(UInt64, Bool)] {
      var version = version(Self.known, seq)
      version.term = Term(number: 1, incarnation: 7)
      let word = row(version, Ruling(.rejected(.older), edit: Dot(Self.other, 9), rule: ""))
      let edit = row(version)
      let (isWordOut, isEditOut) = (merge.leavesOut(word), merge.leavesOut(edit))
      #expect(isWordOut == isLeftOut && !isEditOut)
    }
    #expect(merge.leftOut.isEmpty)
  }

  @Test func `leaves out what is of no term, and says for what`() {
    var merge = Merge(
      sender: Identity(high: 1, low: 1), kind: .repair, batches: [], rowsBefore: 0,
      checkBefore: 0, end: nil, movesFrontier: false)
    merge.sealed = sealed()
    merge.sealed?.appointees = Appointees([])
    var version = version(Self.known, 4)
    let claim = TermClaim(term: Term(number: 1, incarnation: 7), part: .edit)
    version.term = claim.term
    let isLeftOut = merge.leavesOut(row(version))
    #expect(isLeftOut && merge.leftOut == [Self.known: Omission(from: 4, for: claim)])
    version.dot = Dot(Self.known, 3)
    version.term = .none
    let isLeftOutToo = merge.leavesOut(row(version))
    #expect(!isLeftOutToo)
    merge.leaveOut([Self.known: Omission(from: 2)])
    #expect(merge.leftOut == [Self.known: Omission(from: 2, for: claim)])
  }

  @Test func `is signed as one thing, and nothing else is`() {
    let reach = Reach(
      origin: Self.known, node: Identity(high: 1, low: 2), life: 3, seq: 4, run: 5)
    let site = Identity(high: 9, low: 9)
    var others = [reach, reach, reach, reach]
    others[0].node = Identity(high: 1, low: 3)
    others[1].life += 1
    others[2].seq += 1
    others[3].run += 1
    #expect(others.allSatisfy { $0.text(in: site) != reach.text(in: site) })
    #expect(reach.text(in: Identity(high: 9, low: 8)) != reach.text(in: site))
  }
}
