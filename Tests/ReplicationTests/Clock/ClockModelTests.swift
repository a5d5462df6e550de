import Replication
import Testing

@Suite("With wrong clocks everywhere") struct ClockModelTests {
  private func run(_ fate: ClockModel.Fate) -> ClockModel.Tally {
    (0..<150).map { seed in
      var model = ClockModel(seed: UInt64(seed))
      model.run(steps: 600, fate)
      return model.tally
    }.reduce(ClockModel.Tally(), +)
  }

  @Test(arguments: [(false, 0.01), (true, 0.04)])
  func `the later edit wins`(hasCuts: Bool, limit: Double) {
    let tally = run(ClockModel.Fate(hasCuts: hasCuts))
    #expect(tally.conflicts > 3_000)
    let share = Double(tally.wrong) / Double(max(1, tally.conflicts))
    #expect(share <= limit, "\(tally.wrong) of \(tally.conflicts), \(tally.foundings.count)")
    #expect(tally.future == 0)
  }
}
