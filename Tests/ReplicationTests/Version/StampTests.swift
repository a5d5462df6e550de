import Replication
import Testing

@Suite struct StampTests {
  static let epoch = Stamp.epochMilliseconds

  @Test(
    arguments: [
      (epoch, 0), (epoch + 1, 1 << 16), (epoch - 1, 0), (0, 0), (-1, 0), (.min, 0),
      (.max, ((1 << 45) - epoch) << 16), (1 << 45, ((1 << 45) - epoch) << 16),
    ] as [(Int64, Int64)])
  func `a moment gives its lowest stamp and stays in bounds`(moment: Int64, raw: Int64) {
    let stamp = Stamp(millisecondsSince1970: moment)
    #expect(stamp.rawValue == raw)
    #expect(stamp >= .zero && stamp <= .highest)
  }

  @Test(arguments: [epoch, epoch + 1, 1_900_000_000_123, 1 << 45])
  func `a stamp gives its moment back`(moment: Int64) {
    #expect(Stamp(millisecondsSince1970: moment).millisecondsSince1970 == moment)
  }

  @Test func `a counter that overflows carries into the milliseconds`() {
    var stamp = Stamp(millisecondsSince1970: Self.epoch + 5)
    for _ in 0..<0xFFFF { stamp = stamp.successor }
    #expect(stamp.millisecondsSince1970 == Self.epoch + 5)
    #expect(stamp.successor.millisecondsSince1970 == Self.epoch + 6)
    #expect(stamp.successor.rawValue == 6 << 16)
  }

  @Test func `the highest stamp has no higher one, for peers would refuse it`() {
    #expect(Stamp.highest.successor == .highest)
    #expect(Stamp(rawValue: Stamp.highest.rawValue - 1).successor == .highest)
    #expect(Stamp.placing(.max, over: .highest) == .highest)
  }

  @Test func `an edit is placed at its moment and above what it replaces`() {
    let now = Stamp(millisecondsSince1970: Self.epoch + 100)
    let far = Stamp(millisecondsSince1970: Self.epoch + 9_999_999)
    #expect(Stamp.placing(Self.epoch + 100, over: nil) == now)
    #expect(Stamp.placing(Self.epoch + 100, over: .zero) == now)
    #expect(Stamp.placing(Self.epoch + 100, over: now) == now.successor)
    #expect(Stamp.placing(Self.epoch + 100, over: far) == far.successor)
    #expect(Stamp.placing(.min, over: nil) == .zero)
  }

  @Test func `stamps are ordered by moment, then by counter`() {
    let stamps = [0, 1, 0xFFFF, 1 << 16, 1 << 17, Stamp.highest.rawValue]
      .map { Stamp(rawValue: $0) }
    #expect(stamps.shuffled().sorted() == stamps)
  }
}
