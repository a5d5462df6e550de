import Replication
import Testing

@Suite("The time of the site") struct SiteClockTests {
  private static let boot = Identity(high: 7, low: 1)
  private static let start: Int64 = 1_790_000_000_000
  private static let hour: Int64 = 3_600_000

  /// A node at a moment of the world, with a wall clock that is ahead by so much.
  private struct Node {
    var clock: SiteClock
    var ahead: Int64 = 0
    var isKept = true
    var bootedAt: Int64 = 0
    let id: Identity

    init(_ number: UInt64, ahead: Int64 = 0, isKept: Bool = true) {
      id = Identity(high: number, low: 0)
      clock = SiteClock(node: id)
      (self.ahead, self.isKept) = (ahead, isKept)
    }

    func reading(_ time: Int64) -> ClockReading {
      ClockReading(
        uptime: time - bootedAt, wall: SiteClockTests.start + time + ahead, isKept: isKept)
    }

    @discardableResult
    mutating func feed(_ input: SiteClock.Input, _ time: Int64) -> [SiteClock.Directive] {
      clock.receive(input, at: reading(time))
    }

    func view(_ time: Int64) -> ClockView {
      clock.standing(at: reading(time)).view(at: clock.instant(reading(time)))
    }

    /// By how much site time differs from true time; nil while it is not known.
    func error(_ time: Int64) -> Int64? {
      clock.site(at: time - bootedAt).map { $0 - SiteClockTests.start - time }
    }

    mutating func reboot(_ time: Int64, _ number: UInt64) {
      feed(.looked, time)
      let bytes = clock.bytes(boot: SiteClockTests.boot, at: reading(time))
      bootedAt = time
      clock = SiteClock(
        node: id, bytes, boot: Identity(high: 7, low: number), at: reading(time))
    }

    /// Asks another node, if it is to; the answer takes 20 ms.
    mutating func ask(_ other: Node, _ time: Int64) {
      let answer = other.view(time - 10)
      feed(
        .measured(other.id, answer, roundTrip: 20, at: time - bootedAt), time)
    }
  }

  private func founded(_ node: Node) -> Node {
    var node = node
    node.feed(.counted(isAlone: true), 0)
    node.feed(.counted(isAlone: false), 0)
    return node
  }

  @Test func `is founded by who is alone, and taken over by who joins`() {
    var first = Node(1)
    #expect(first.error(0) == nil)
    #expect(first.feed(.counted(isAlone: true), 0) == [.changed])
    #expect(first.error(0) == 0)
    #expect(
      first.clock.founding
        == Founding(
          source: .clock, generation: 1, id: first.clock.founding?.id ?? 0))
    var second = Node(2, ahead: 24 * Self.hour)
    second.feed(.counted(isAlone: false), 100)
    #expect(second.feed(.heard(first.id, first.view(100)), 100) == [.ask(first.id)])
    second.ask(first, 200)
    #expect(second.error(200) == 0 && second.clock.founding == first.clock.founding)
    // Its own clock goes on to be wrong, and nobody minds.
    second.ahead -= Self.hour
    #expect(second.feed(.looked, 300) == [.stepped(-Self.hour)])
    #expect(second.error(300) == 0)
  }

  @Test func `goes on in one boot, and is unknown in the next`() {
    let node = founded(Node(1))
    let bytes = node.clock.bytes(boot: Self.boot, at: node.reading(500))
    let again = SiteClock(node: node.id, bytes, boot: Self.boot, at: node.reading(9_000))
    #expect(again.site(at: 9_000) == Self.start + 9_000)
    var next = node
    next.reboot(500, 2)
    #expect(next.error(500) == nil && next.clock.last == Self.start + 500)
    // A machine that was put back to an earlier state.
    let early = SiteClock(node: node.id, bytes, boot: Self.boot, at: node.reading(499))
    #expect(early.site(at: 499) == nil)
    for count in 0..<bytes.count {
      let cut = SiteClock(
        node: node.id, Array(bytes.prefix(count)), boot: Self.boot, at: node.reading(600))
      #expect(cut.course == nil && cut.last == nil)
    }
  }

  @Test func `small differences are slewed, and what cannot be measured is left`() {
    var (first, second) = (founded(Node(1)), Node(2))
    second.ask(first, 1_000)
    var off = first.view(2_000)
    off.site? += 5
    second.feed(.measured(first.id, off, roundTrip: 20, at: 2_010), 2_010)
    #expect(second.error(2_010) == 0)
    off.site? += 995
    second.feed(.measured(first.id, off, roundTrip: 20, at: 2_010), 2_010)
    #expect(second.error(2_010) == 0)
    #expect(second.error(52_010) == 500)
    #expect(second.error(200_000) == 1_000)
    // The one that has known it longer does not follow.
    first.ask(second, 200_000)
    #expect(first.error(400_000) == 0)
  }

  @Test func `two who have known it for long agree through one who follows both`() {
    var (first, third) = (founded(Node(1)), Node(3))
    // They met for a moment, and one of them got it wrong.
    var off = first.view(2_000)
    off.site? += 5_000
    third.feed(.measured(first.id, off, roundTrip: 0, at: 2_000), 2_000)
    #expect(third.error(2_000) == 5_000)
    var second = Node(2)
    second.ask(third, 100_000)
    #expect(second.error(100_000) == 5_000)
    second.ask(first, 101_000)
    #expect(second.error(101_000) == 0)
    second.ask(third, 102_000)
    #expect(second.error(102_000) == 0)
    third.ask(second, 103_000)
    #expect(third.error(103_000) == 0)
    // Nobody follows its own followers.
    first.ask(second, 104_000)
    #expect(first.view(104_000).held > second.view(104_000).held)
    #expect(second.view(104_000).held > third.view(104_000).held)
  }

  @Test func `where two foundings meet, that with a clock and then the older holds`() {
    let clock = Founding(source: .clock, generation: 2, id: 5)
    let older = Founding(source: .clock, generation: 1, id: 9)
    let blind = Founding(source: .memory, generation: 1, id: 1)
    let person = Founding(reign: 1, source: .person, generation: 7, id: 9)
    let order = [person, older, clock, blind]
    for (index, one) in order.enumerated() {
      for other in order[(index + 1)...] {
        #expect(one.holds(over: other) && !other.holds(over: one))
      }
      #expect(!one.holds(over: one))
    }
  }

  /// All were off; the clock of the first has no battery.
  private func afterPowerCut() -> (Node, Node) {
    var (first, second) = (founded(Node(1)), Node(2))
    second.ask(first, 1_000)
    first.feed(.looked, 10_000)
    second.feed(.looked, 10_000)
    first.reboot(10_000, 2)
    second.reboot(10_000, 2)
    first.isKept = false
    first.ahead = -Self.start
    first.bootedAt = 2 * Self.hour
    second.bootedAt = 2 * Self.hour
    return (first, second)
  }

  @Test func `after a power cut it is founded anew, by what a clock with a battery says`() {
    var (first, second) = afterPowerCut()
    let time = 2 * Self.hour + 1_000
    #expect(first.feed(.heard(second.id, second.view(time)), time).isEmpty)
    #expect(second.feed(.heard(first.id, first.view(time)), time).isEmpty)
    #expect(first.clock.deadline == 1_000 + SiteClock.grace)
    #expect(first.feed(.looked, time + 4_999).isEmpty && first.error(time + 4_999) == nil)
    #expect(first.feed(.looked, time + 5_000) == [.changed])
    #expect(first.error(time + 5_000) == 0)
    #expect(first.clock.founding?.source == .clock && first.clock.founding?.generation == 2)
    #expect(second.feed(.looked, time + 5_000).isEmpty && second.error(time + 5_000) == nil)
    // Told of it, it waits for the answer and founds nothing itself.
    #expect(
      second.feed(.heard(first.id, first.view(time + 5_500)), time + 5_500) == [.ask(first.id)])
    #expect(second.feed(.looked, time + 5_600).isEmpty && second.clock.deadline == nil)
    second.ask(first, time + 6_000)
    #expect(second.error(time + 6_000) == 0)
  }

  @Test func `without any clock it goes on from the last time, until one comes`() {
    var (first, third) = (afterPowerCut().0, Node(3, ahead: -Self.start, isKept: false))
    let time = 2 * Self.hour + 1_000
    first.feed(.heard(third.id, third.view(time)), time)
    #expect(first.feed(.looked, time + 5_000) == [.changed])
    #expect(first.clock.founding?.source == .memory)
    #expect(first.error(time + 5_000) == 10_000 - time - 5_000)
    var second = afterPowerCut().1
    second.ask(first, time + 60_000)
    #expect(
      second.clock.founding?.source == .clock && abs(second.error(time + 60_000) ?? .max) < 50)
    first.ask(second, time + 61_000)
    #expect(abs(first.error(time + 61_000) ?? .max) < 50)
  }

  @Test func `a clock that is put right after the start corrects the time forward`() {
    var first = afterPowerCut().0
    let time = 2 * Self.hour + 1_000
    first.feed(.counted(isAlone: true), time)
    #expect(first.clock.founding?.source == .memory)
    first.ahead = 0
    #expect(first.feed(.looked, time + 1_000) == [.stepped(Self.start), .changed])
    #expect(first.error(time + 1_000) == 0 && first.clock.founding?.source == .clock)
  }

  @Test func `the last word of a person holds, also over what was known before`() {
    var (first, second) = (founded(Node(1)), Node(2))
    second.ask(first, 1_000)
    #expect(first.feed(.set(Self.start - Self.hour), 2_000) == [.changed])
    #expect(second.feed(.heard(first.id, first.view(2_000)), 2_000) == [.ask(first.id)])
    second.ask(first, 2_000)
    #expect(second.error(2_000) == -Self.hour - 2_000)
    first.reboot(3_000, 2)
    #expect(first.clock.last == Self.start - Self.hour + 1_000)
  }

  @Test func `a good clock is followed, unless somebody sets it`() {
    var (first, second) = (founded(Node(1)), Node(2, ahead: 60_000))
    second.ask(first, 1_000)
    second.feed(.marked(isGood: true), 2_000)
    #expect(second.error(2_000) == 60_000 && second.clock.founding?.source == .person)
    first.ask(second, 3_000)
    #expect(first.error(3_000) == 60_000)
    second.ahead += 400
    second.feed(.looked, 4_000)
    first.ask(second, 100_000)
    #expect(second.error(100_000) == 60_400)
    #expect(first.error(300_000) == 60_400)
    second.ahead += Self.hour
    second.feed(.looked, 300_000)
    #expect(second.error(900_000) == 60_400)
  }
}
