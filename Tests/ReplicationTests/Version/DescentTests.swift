import Replication
import Testing

/// How versions follow one another, and what their authors had seen.
@Suite struct `A version that follows another` {
  private static func origin(_ number: UInt64) -> Origin { Origin(rawValue: number) }
  private static func dot(_ number: UInt64, _ seq: UInt64) -> Dot { Dot(origin(number), seq) }

  private static func first(_ dot: Dot) -> Version {
    .edit(dot, over: nil, stamp: Stamp(rawValue: 10), hash: 1, isDeleted: false)
  }

  @Test func `knows of each origin the latest edit, and leaves out its own`() {
    var version = Self.first(Self.dot(1, 1))
    #expect(version.context.isEmpty && version.created == version.dot)
    for (number, seq) in [(2, 5), (3, 1), (2, 7), (1, 2)] as [(UInt64, UInt64)] {
      version = .edit(
        Self.dot(number, seq), over: version, stamp: Stamp(rawValue: 11), hash: 2,
        isDeleted: false)
      #expect(!version.context.dots.contains { $0.origin == Self.origin(number) })
    }
    #expect(version.context.dots == [Self.dot(3, 1), Self.dot(2, 7)])
    for (number, seq, isSeen) in [
      (1, 1, true), (1, 2, true), (1, 3, false), (2, 5, true), (2, 7, true), (2, 8, false),
      (3, 1, true), (4, 1, false),
    ] as [(UInt64, UInt64, Bool)] {
      #expect(version.hasSeen(Self.dot(number, seq)) == isSeen, "\(number) \(seq)")
    }
    #expect(version.created == Self.dot(1, 1))
  }

  /// A program gives a number that a row has which is parked, and which others have edited since.
  @Test func `has seen nothing of another row that was hidden under its number`() {
    var keys = KeyNote()
    keys.isNumbered = true
    let note = keys
    func edit(_ dot: Dot, over old: Version?, hash: UInt64, isSeen: Bool = true) -> Version {
      .edit(
        dot, over: old, isSeen: isSeen, keys: note, stamp: Stamp(rawValue: 10), hash: hash,
        isDeleted: false)
    }
    let made = edit(Self.dot(1, 3), over: nil, hash: 1)
    for editor in [Self.dot(1, 5), Self.dot(2, 5)] {
      let hidden = edit(editor, over: made, hash: 2)
      let other = edit(Self.dot(4, 1), over: hidden, hash: 3, isSeen: false)
      #expect(other.created == other.dot && !other.hasSeen(made.created), "\(editor)")
      #expect(other.collides(with: hidden), "\(editor)")
    }
  }

  @Test func `is the same edit if it is made again, under whichever number`() {
    let base = Self.first(Self.dot(1, 1))
    func edit(
      _ dot: Dot, over old: Version, again: Version? = nil, hash: UInt64, isSeen: Bool = true
    ) -> Version {
      .edit(
        dot, over: old, isSeen: isSeen, pending: again, again: again, stamp: Stamp(rawValue: 12),
        hash: hash, isDeleted: false)
    }
    let mine = edit(Self.dot(2, 5), over: base, hash: 2)
    #expect(mine.first == mine.dot)
    let again = edit(Self.dot(2, 7), over: base, again: mine, hash: 2)
    let thrice = edit(Self.dot(2, 9), over: base, again: again, hash: 2)
    #expect(again.first == mine.dot && thrice.first == mine.dot)
    // Who knows it under one number knows it; an earlier edit of its author is another one.
    let over = edit(Self.dot(3, 1), over: mine, hash: 3)
    #expect(over.hasSeen(again) && over.hasSeen(thrice) && !over.hasSeen(Self.dot(2, 7)))
    #expect(!edit(Self.dot(3, 1), over: base, hash: 3).hasSeen(again))
    let later = edit(Self.dot(2, 10), over: thrice, hash: 4)
    #expect(later.first == later.dot && !over.hasSeen(later))
    // What was written over it in that moment is no repetition, and nobody has seen what is parked.
    #expect(edit(Self.dot(2, 7), over: base, again: mine, hash: 5).first == Self.dot(2, 7))
    let beside = edit(Self.dot(3, 1), over: again, hash: 3, isSeen: false)
    #expect(!beside.hasSeen(again) && beside.hasSeen(Self.dot(2, 4)))
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `has not seen what is parked if that only shows an earlier edit`(maker: UInt64) {
    let earlier = Version.edit(
      Self.dot(1, 4), over: Self.first(Self.dot(1, 1)), stamp: .zero, hash: 2, isDeleted: false)
    var shown = Version.edit(
      Self.dot(maker, 6), over: earlier, stamp: .zero, hash: 3, isDeleted: false)
    shown.image = earlier.first
    for isSeen in [true, false] {
      let version = Version.edit(
        Self.dot(4, 1), over: shown, isSeen: isSeen, stamp: .zero, hash: 4, isDeleted: false)
      #expect(version.hasSeen(shown) == isSeen && version.hasSeen(earlier) == isSeen)
      #expect(version.hasSeen(Self.dot(1, 3)))
    }
  }

  @Test func `forgets who came first if there are more than eight`() {
    var version = Self.first(Self.dot(1, 1))
    for number in UInt64(2)...12 {
      version = .edit(
        Self.dot(number, 1), over: version, stamp: .zero, hash: 2, isDeleted: false)
    }
    #expect(version.context.dots == (4...11).map { Self.dot($0, 1) })
    #expect(!version.hasSeen(Self.dot(3, 1)) && version.hasSeen(Self.dot(4, 1)))
    // Who comes again is the latest.
    version.context.add(Self.dot(4, 9))
    version.context.add(Self.dot(13, 1))
    #expect(version.context.covers(Self.dot(4, 9)) && !version.context.covers(Self.dot(5, 1)))
    // One that came late does not undo what is known.
    version.context.add(Self.dot(4, 2))
    #expect(version.context.covers(Self.dot(4, 9)))
  }

  @Test func `knows the author's own edit that waits for the anchor, too`() {
    let waiting = Version.edit(
      Self.dot(1, 4), over: Self.first(Self.dot(3, 2)), stamp: .zero, hash: 3, isDeleted: false)
    let next = Version.edit(
      Self.dot(1, 5), over: Self.first(Self.dot(2, 1)), pending: waiting, stamp: .zero, hash: 4,
      isDeleted: false)
    for dot in [Self.dot(1, 4), Self.dot(2, 1), Self.dot(3, 2)] { #expect(next.hasSeen(dot)) }
  }

  @Test func `names edits, never certificates`() {
    let term = Term(number: 1, incarnation: 2)
    let certificate = Self.first(Self.dot(1, 1)).certified(
      Self.dot(9, 1), term: term, epoch: 3, at: Stamp(rawValue: 99))
    #expect(certificate.edit == Self.dot(1, 1) && !certificate.isTentative)
    #expect(certificate.stamp == Stamp(rawValue: 10) && certificate.session == 0)
    let again = certificate.certified(
      Self.dot(8, 1), term: Term(number: 2, incarnation: 0), epoch: 4, at: .zero)
    #expect(again.edit == certificate.edit)
    // The moment at which an anchor accepted it first is kept.
    #expect(again.certificate?.at == Stamp(rawValue: 99))
    let next = Version.edit(
      Self.dot(2, 1), over: certificate, stamp: .zero, hash: 5, isDeleted: false)
    #expect(next.context.dots == [Self.dot(1, 1)])
    #expect(next.hasSeen(again.edit) && !next.hasSeen(Self.dot(9, 1)))
    #expect(next.term == term && next.epoch == 3 && next.isTentative)
    #expect(next.rank > certificate.rank && next.rank < again.rank)
  }

  @Test func `on a deleted row is a new row, and on a row the same`() {
    let old = Self.first(Self.dot(1, 1))
    let gone = Version.edit(
      Self.dot(1, 2), over: old, stamp: Stamp(rawValue: 20), hash: 0, isDeleted: true)
    #expect(gone.created == old.dot && gone.createdAt == old.stamp)
    let next = Version.edit(
      Self.dot(2, 1), over: gone, stamp: Stamp(rawValue: 30), hash: 2, isDeleted: false)
    #expect(next.created == next.dot && next.createdAt == Stamp(rawValue: 30))
    #expect(next.hasSeen(gone.dot))
  }

  @Test func `of an edit that is issued again is kept, but for dots that are in doubt`() {
    let (old, new) = (Self.dot(1, 9), Self.dot(2, 10))
    var version = Version(
      dot: old, created: Self.dot(1, 7), createdAt: Stamp(rawValue: 70),
      stamp: Stamp(rawValue: 90), hash: 5, isDeleted: false)
    version.context.add(Self.dot(3, 4))
    let early = version.reissued(as: new, common: 7)
    #expect(early.created == Self.dot(1, 7) && early.createdAt == Stamp(rawValue: 70))
    #expect(early.hasSeen(Self.dot(1, 7)) && !early.hasSeen(Self.dot(1, 8)))
    #expect(early.hasSeen(Self.dot(3, 4)) && early.stamp == version.stamp && early.hash == 5)
    // Its creation may be another one elsewhere; what is its own has no other time of it.
    let late = version.reissued(as: new, common: 6)
    #expect(late.created == new && late.createdAt == late.stamp)
  }

  @Test(arguments: [1, 4] as [UInt64])
  func `when it is issued again stays above what the first one had replaced`(_ origin: UInt64) {
    // Both were made at one moment, and the origins decided.
    let (version, other) = (Self.first(Self.dot(3, 9)), Self.first(Self.dot(2, 8)))
    #expect(version.rank > other.rank)
    let again = version.reissued(as: Self.dot(origin, 10), common: 0)
    #expect(again.rank > version.rank && again.rank > other.rank)
    #expect(again.created == again.dot && again.createdAt == again.stamp)
  }

  @Test func `of a context that cannot be is none`() {
    #expect(RowContext((1...8).map { Self.dot($0, 1) }) != nil)
    #expect(RowContext((1...9).map { Self.dot($0, 1) }) == nil)
    #expect(RowContext([Self.dot(1, 1), Self.dot(1, 2)]) == nil)
  }

  /// Every combination of small fields, in the order in which they count.
  static let ranks: [Rank] = [(0, 0), (1, 1), (1, 2), (2, 0)].flatMap { (term: (UInt64, UInt64)) in
    (0...1).flatMap { (epoch: UInt64) in
      [false, true].flatMap { isTentative in
        (0...1).flatMap { (stamp: Int64) in
          (0...1).map { (origin: UInt64) in
            Rank(
              term: Term(number: term.0, incarnation: term.1), epoch: epoch,
              isTentative: isTentative, stamp: Stamp(rawValue: stamp),
              origin: Origin(rawValue: origin), content: 0)
          }
        }
      }
    }
  }

  @Test func `ranks by term, epoch, whether it is tentative, stamp and origin`() {
    #expect(Self.ranks.shuffled().sorted() == Self.ranks)
    #expect(Set(Self.ranks).count == Self.ranks.count)
  }
}
