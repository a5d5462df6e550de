import Replication
import Testing

/// Exchanges that fail, and the lines that tell it.
@Suite struct FailuresTests {
  static let malformed = Bye(.badMessage, "Row: key is malformed")
  static let held = Frontier([Samples.origin(1): 5])

  static func at(_ seconds: Int64) -> Instant { Instant(uptime: seconds * 1_000, wall: 0) }

  static func ended(_ bye: Bye = malformed, isOurs: Bool = false) -> Failures.Input {
    .ended(bye, isOurs: isOurs, holding: held)
  }

  @Test func `the first failure is told at once, and the next ones are counted`() {
    var failures = Failures()
    var told: [(second: Int64, count: UInt64)] = []
    for second in 0..<Int64(4 * 3_600) {
      guard
        case .failed(Self.malformed, let count, let isFirst)? =
          failures.receive(Self.ended(), at: Self.at(second))
      else { continue }
      #expect(isFirst == told.isEmpty)
      told.append((second, count))
    }
    #expect(told.map(\.second) == [0, 60, 420, 2_580, 6_180, 9_780, 13_380])
    #expect(told.map(\.count) == [1, 60, 360, 2_160, 3_600, 3_600, 3_600])
    #expect(failures.current?.count == 4 * 3_600 && failures.current?.since == 0)
  }

  @Test func `each cause has its own line, up to a few`() {
    var failures = Failures()
    var lines = 0
    for number in 0..<1_000 {
      let bye = Bye(.badMessage, "made up: \(number)")
      if failures.receive(Self.ended(bye), at: Self.at(1)) != nil { lines += 1 }
    }
    #expect(lines == 4)
    #expect(failures.current?.bye.reason == "made up: 999")
  }

  @Test(arguments: [
    Bye.Code.stopping, .duplicate, .twin, .silent, .leaving, .other, .oneself, .revoked, .busy,
  ])
  func `a connection that ends for another reason is no failure`(code: Bye.Code) {
    var failures = Failures()
    #expect(failures.receive(Self.ended(Bye(code, "")), at: Self.at(1)) == nil)
    #expect(failures.current == nil && !failures.isKnown)
  }

  @Test func `what came and could not be taken in has passed once all came`() {
    var failures = Failures()
    for second in 1...3 {
      _ = failures.receive(Self.ended(isOurs: true), at: Self.at(Int64(second)))
    }
    let early = Failures.Input.holds(Self.held, here: Frontier())
    #expect(failures.receive(early, at: Self.at(4)) == nil && failures.isKnown)
    #expect(failures.receive(.received, at: Self.at(5)) == .works(after: 3))
    #expect(failures == Failures())
    #expect(failures.receive(.received, at: Self.at(6)) == nil)
  }

  @Test func `what a member refused has passed once it holds it`() {
    var failures = Failures()
    _ = failures.receive(Self.ended(), at: Self.at(1))
    #expect(failures.receive(.received, at: Self.at(2)) == nil)
    let less = Failures.Input.holds(Frontier([Samples.origin(1): 4]), here: Self.held)
    #expect(failures.receive(less, at: Self.at(3)) == nil && failures.current != nil)
    let more = Frontier([Samples.origin(1): 6])
    #expect(failures.receive(.holds(more, here: Self.held), at: Self.at(4)) == .works(after: 1))
  }

  @Test func `two that hold the same have nothing that could fail`() {
    var failures = Failures()
    _ = failures.receive(Self.ended(isOurs: true), at: Self.at(1))
    let equal = Failures.Input.holds(Self.held, here: Self.held)
    #expect(failures.receive(equal, at: Self.at(2)) == .works(after: 1))
  }

  @Test func `who is out of reach is away, and fails again where it left off`() {
    var failures = Failures()
    _ = failures.receive(Self.ended(), at: Self.at(1))
    #expect(failures.receive(.outOfReach, at: Self.at(2)) == nil)
    #expect(failures.current == nil && failures.isKnown)
    #expect(failures.receive(Self.ended(), at: Self.at(3)) == nil)
    #expect(failures.current?.count == 2)
  }
}
