import Simulator
import Testing

/// Schedules within the tests: few, and the kept seeds. A failure names what repeats it.
@Suite(.timeLimit(.minutes(10))) struct `Schedules` {
  @Test(arguments: KeptSeed.all)
  func `that once found a fault find none`(kept: KeptSeed) {
    expectNothing(Run(kept.plan, Templates()))
  }

  @Test func `of versions and machines end well`() {
    let templates = Templates()
    for seed in 1...1_000 as ClosedRange<UInt64> {
      expectNothing(Run(Run.Plan(.pure, seed: seed), templates))
    }
  }

  @Test func `of real stores end well`() {
    let templates = Templates()
    for seed in 1...40 as ClosedRange<UInt64> {
      expectNothing(Run(Run.Plan(.full, seed: seed), templates))
    }
  }

  @Test(arguments: [Run.Depth.pure, .full])
  func `run the same each time`(depth: Run.Depth) {
    let templates = Templates()
    for seed in 1...5 as ClosedRange<UInt64> {
      let plan = Run.Plan(depth, seed: seed)
      let (first, second) = (Run(plan, templates, isTold: true), Run(plan, templates, isTold: true))
      #expect(first.story == second.story)
      #expect(first.story.count > 5)
    }
  }

  /// Half of them with an anchor, most with the tables from the start, as any batch.
  @Test(arguments: [Run.Depth.pure, .full])
  func `run alone as they do after others`(depth: Run.Depth) {
    let templates = Templates()
    for seed in 1...60 as ClosedRange<UInt64> {
      var plan = Run.Plan(depth, seed: seed)
      plan.steps = 8
      plan.isDrawn = true
      let (alone, after) = (
        Run(plan, Templates(), isTold: true), Run(plan, templates, isTold: true)
      )
      #expect(alone.story == after.story, "\(plan.command)")
      #expect(alone.faults == after.faults, "\(plan.command)")
    }
  }

  private func expectNothing(_ run: Run) {
    #expect(run.faults.isEmpty, "\(run.plan.command) with \(run.plan.kinds(run.kinds))")
  }
}
