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
    #expect(!merge.isUnsigned(version(Self.known, 6)))
    merge.sealed = sealed()
    #expect(merge.isUnsigned(version(Self.known, 6)) && !merge.isUnsigned(version(Self.known, 5)))
    #expect(merge.isUnsigned(version(Self.own, 8)) && !merge.isUnsigned(version(Self.other, 8)))
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
