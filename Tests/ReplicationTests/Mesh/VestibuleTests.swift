import Replication
import Testing

@Suite("The vestibule")
struct VestibuleTests {
  @Test("has few places; the one that waited longest of the busiest address makes room")
  func places() {
    var vestibule = Vestibule()
    for number in 0..<8 as Range<UInt64> { #expect(vestibule.enter(number, from: "a") == nil) }
    #expect(vestibule.enter(8, from: "a") == 0)
    for number in 9..<17 as Range<UInt64> {
      #expect(vestibule.enter(number, from: "h\(number)") == nil)
    }
    #expect(vestibule.count == Vestibule.places)
    // Whoever comes alone is not put out for one that comes in numbers, nor kept out by it.
    #expect(vestibule.enter(17, from: "b") == 1)
    vestibule.leave(9)
    #expect(vestibule.enter(18, from: "b") == nil)
    #expect(vestibule.count == Vestibule.places)
  }

  @Test("lets one address begin a handshake 20 times a second, and others at once")
  func pace() {
    var vestibule = Vestibule()
    let now = Instant(uptime: 1_000, wall: 0)
    for _ in 0..<64 { #expect(vestibule.pause(from: "a", at: now) == 0) }
    #expect(vestibule.pause(from: "a", at: now) == 50)
    #expect(vestibule.pause(from: "b", at: now) == 0)
    let later = Instant(uptime: 1_050, wall: 0)
    #expect(vestibule.pause(from: "a", at: later) == 0)
    #expect(vestibule.pause(from: "a", at: later) == 50)
    // What is remembered of addresses has a bound.
    for number in 0..<63 { #expect(vestibule.pause(from: "c\(number)", at: later) == 0) }
    // All together 25 a second.
    #expect(vestibule.pause(from: "d", at: later) == 30)
    let longAfter = Instant(uptime: 100_000, wall: 0)
    for number in 0..<128 { #expect(vestibule.pause(from: "e\(number)", at: longAfter) == 0) }
    #expect(vestibule.pause(from: "f", at: longAfter) == 40)
    #expect(vestibule.pause(from: "f", at: Instant(uptime: 100_040, wall: 0)) == 0)
  }

  @Test("lets a whole site in at once that comes back when the power does")
  func powerBack() {
    var vestibule = Vestibule()
    let now = Instant(uptime: 1_000, wall: 0)
    // Each of 30 is put out by those after it, and comes again, three times.
    for _ in 0..<4 {
      for number in 0..<30 { #expect(vestibule.pause(from: "n\(number)", at: now) == 0) }
    }
  }

  @Test("takes nothing of an address that waits for others")
  func turns() {
    var vestibule = Vestibule()
    let now = Instant(uptime: 1_000, wall: 0)
    for number in 0..<128 { #expect(vestibule.pause(from: "e\(number)", at: now) == 0) }
    for _ in 0..<1_000 { #expect(vestibule.pause(from: "a", at: now) == 40) }
    let later = Instant(uptime: 4_000, wall: 0)
    for _ in 0..<64 { #expect(vestibule.pause(from: "a", at: later) == 0) }
  }

  @Test("forgets who has shown itself")
  func leaving() {
    var vestibule = Vestibule()
    for number in 0..<1_000 as Range<UInt64> {
      #expect(vestibule.enter(number, from: "a") == nil)
      vestibule.leave(number)
    }
    #expect(vestibule.count == 0)
  }
}
