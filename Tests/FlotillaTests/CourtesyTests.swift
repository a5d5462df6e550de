import Testing

@testable import Flotilla

/// The share of the write lock that others get while a catch-up goes on.
@Suite struct CourtesyTests {
  /// Holds of a length one after the other; gives the free moments between them.
  private func pauses(holds: Int64, count: Int) -> [Int64] {
    var courtesy = Courtesy()
    var now: Int64 = 5_000
    return (0..<count).map { _ in
      courtesy.held(from: now, to: now + holds)
      let end = now + holds
      now = courtesy.nextHold
      return now - end
    }
  }

  @Test(arguments: [1, 7, 20, 50, 400] as [Int64])
  func `leaves the lock free at least as long as it was held`(_ holds: Int64) {
    #expect(pauses(holds: holds, count: 200).allSatisfy { $0 >= holds })
  }

  @Test(arguments: [0, 1, 7, 20, 50] as [Int64])
  func `once a second leaves it for longer than a busy handler sleeps`(_ holds: Int64) {
    var sinceLong: Int64 = 0
    for pause in pauses(holds: holds, count: 3_000) {
      sinceLong += holds
      if pause >= Courtesy.longPause { sinceLong = 0 } else { sinceLong += pause }
      #expect(sinceLong <= Courtesy.period + 2 * holds + 2)
    }
  }

  @Test func `does not begin a new series with the long pause`() {
    var courtesy = Courtesy()
    courtesy.held(from: 100_000, to: 100_010)
    #expect(courtesy.nextHold == 100_020)
  }
}
