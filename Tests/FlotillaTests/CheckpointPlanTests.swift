import Testing

@testable import Flotilla

/// When the write-ahead log is copied and cut, step by step.
@Suite struct CheckpointPlanTests {
  private static let large = CheckpointPlan.large + 1
  private static let small = CheckpointPlan.small + 1

  @Test func `a short log is left alone, and looked at less often while nothing is written`() {
    var plan = CheckpointPlan()
    #expect(plan.receive(.looked(bytes: 0, written: 1), at: 0) == .rest(CheckpointPlan.pause))
    #expect(
      plan.receive(.looked(bytes: Self.small, written: 2), at: 250) == .rest(CheckpointPlan.pause))
    #expect(
      plan.receive(.looked(bytes: Self.small, written: 2), at: 500)
        == .rest(CheckpointPlan.longPause))
    #expect(
      plan.receive(.looked(bytes: CheckpointPlan.small, written: 2), at: 90_000)
        == .rest(CheckpointPlan.longPause))
  }

  @Test func `a log that nobody writes any more is cut though it is not large`() {
    var plan = CheckpointPlan()
    _ = plan.receive(.looked(bytes: Self.small, written: 1), at: 0)
    let almost = CheckpointPlan.quiet - 1
    #expect(
      plan.receive(.looked(bytes: Self.small, written: 1), at: almost)
        == .rest(CheckpointPlan.longPause))
    #expect(plan.receive(.looked(bytes: Self.small, written: 1), at: almost + 1) == .copy)
    #expect(plan.receive(.copied(pages: 1_000, of: 1_000), at: 2_010) == .cut)
    #expect(plan.receive(.cut, at: 2_020) == .rest(CheckpointPlan.pause))
    #expect(plan.state == .resting)
  }

  @Test func `a large log is copied while it is written, until little is left to the cut`() {
    var plan = CheckpointPlan()
    #expect(plan.receive(.looked(bytes: Self.large, written: 1), at: 0) == .copy)
    // A writer goes on during the copy.
    #expect(plan.receive(.copied(pages: 4_000, of: 5_000), at: 200) == .copy)
    #expect(plan.receive(.copied(pages: 5_000, of: 5_000 + CheckpointPlan.near), at: 250) == .cut)
  }

  @Test func `who writes as fast as is copied is not chased for ever`() {
    var plan = CheckpointPlan()
    var next = plan.receive(.looked(bytes: Self.large, written: 1), at: 0)
    var (left, copies) = (9_000, 0)
    while next == .copy {
      copies += 1
      next = plan.receive(.copied(pages: 10_000, of: 10_000 + left), at: 0)
      left = left * 2 / 5
    }
    #expect(copies == CheckpointPlan.mostRounds && next == .rest(CheckpointPlan.retry))
  }

  @Test func `the lock is not taken for a cut that a reader hinders`() {
    var plan = CheckpointPlan()
    var pauses: [Int64] = []
    for _ in 0..<8 {
      // Each look finds the same pages kept by the same reader.
      #expect(plan.receive(.looked(bytes: Self.large, written: 1), at: 0) == .copy)
      #expect(plan.receive(.copied(pages: 100, of: 5_000), at: 0) == .copy)
      guard case .rest(let pause) = plan.receive(.copied(pages: 100, of: 5_000), at: 0) else {
        Issue.record("goes on")
        return
      }
      pauses.append(pause)
    }
    #expect(pauses == [50, 100, 200, 400, 800, 1_000, 1_000, 1_000])
    // Once it has gone the log is cut, and the next trouble begins with a short pause.
    _ = plan.receive(.looked(bytes: Self.large, written: 1), at: 0)
    #expect(plan.receive(.copied(pages: 5_000, of: 5_000), at: 0) == .cut)
    #expect(plan.receive(.cut, at: 0) == .rest(CheckpointPlan.pause))
    #expect(plan.receive(.looked(bytes: Self.large, written: 1), at: 0) == .copy)
    #expect(plan.receive(.blocked, at: 0) == .rest(CheckpointPlan.retry))
  }

  @Test(arguments: [CheckpointPlan.Input.blocked, .failed])
  func `what comes to nothing is tried again later`(_ input: CheckpointPlan.Input) {
    var plan = CheckpointPlan()
    _ = plan.receive(.looked(bytes: Self.large, written: 1), at: 0)
    #expect(plan.receive(.copied(pages: 5_000, of: 5_000), at: 0) == .cut)
    #expect(plan.receive(input, at: 0) == .rest(CheckpointPlan.retry))
    #expect(plan.receive(.looked(bytes: Self.large, written: 1), at: 50) == .copy)
  }
}
