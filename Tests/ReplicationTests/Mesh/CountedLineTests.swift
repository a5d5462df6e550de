import Replication
import Testing

/// What is counted in the log instead of being said each time.
@Suite struct CountedLineTests {
  private static func at(_ seconds: Int64) -> Instant { Instant(uptime: seconds * 1_000, wall: 0) }

  @Test func `the first line is written at once, the next ones count`() {
    var line = CountedLine()
    var told: [(second: Int64, count: Int, isFirst: Bool)] = []
    for second in 0..<Int64(4 * 3_600) {
      guard let due = line.receive(2, at: Self.at(second)) else { continue }
      told.append((second, due.count, due.isFirst))
    }
    #expect(told.map(\.second) == [0, 60, 420, 2_580, 6_180, 9_780, 13_380])
    #expect(told.map(\.count) == [2, 120, 720, 4_320, 7_200, 7_200, 7_200])
    #expect(told.map(\.isFirst) == [true] + Array(repeating: false, count: 6))
  }

  @Test func `what is left is told though no more comes, and then it begins anew`() {
    var line = CountedLine()
    #expect(line.receive(0, at: Self.at(0)) == nil)
    #expect(line.receive(1, at: Self.at(1))?.count == 1)
    #expect(line.receive(4, at: Self.at(2)) == nil)
    #expect(line.receive(0, at: Self.at(60)) == nil)
    #expect(line.receive(0, at: Self.at(61))?.count == 4)
    #expect(line.receive(0, at: Self.at(420)) == nil)
    #expect(line.receive(0, at: Self.at(421)) == nil)
    #expect(line == CountedLine())
    #expect(line.receive(3, at: Self.at(422))?.isFirst == true)
  }
}
