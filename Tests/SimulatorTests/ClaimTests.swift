import Replication
import Testing

@testable import Simulator

/// What becomes of values that several nodes claim, and the checkers that look at it.
@Suite struct `Claims` {
  private let first = Badge(code: 900, note: "first")
  private let second = Badge(code: 900, note: "second")
  private static let moment: Int64 = 1_800_000_000_000

  private func faults(
    _ traces: Traces, standing: [RowNumber: Badge] = [:], parked: [RowNumber: Badge] = [:],
    dead: Set<String> = []
  ) -> Int {
    var history = History()
    history.traces = traces
    let shown = Observation(standing: standing, parked: parked)
    FinallyFound.check([("a", shown)], dead: dead, &history)
    return history.faults.count
  }

  @Test func `an edit that nobody has seen, and that is nowhere, is lost`() {
    var traces = Traces()
    traces.add([0: first], over: [:], at: "a")
    #expect(faults(traces, standing: [0: first]) == 0)
    #expect(faults(traces, standing: [1: first]) == 1)
    #expect(faults(traces, parked: [0: first]) == 0)
    #expect(faults(traces) == 1)
    #expect(faults(traces, dead: ["a"]) == 0)
  }

  @Test func `an edit that another one was made over is history, unless it was not seen`() {
    for isSeen in [true, false] {
      var traces = Traces()
      traces.add([0: first], over: [:], at: "a")
      traces.add([0: second], over: isSeen ? [0: first] : [:], at: "b")
      #expect(faults(traces, standing: [0: second]) == (isSeen ? 0 : 1))
    }
  }

  @Test func `a row that was displaced was deleted by who displaced it`() {
    var traces = Traces()
    traces.add([0: first], over: [:], at: "a")
    traces.add([1: second], over: [0: first], at: "b")
    #expect(faults(traces, standing: [1: second]) == 0)
    #expect(faults(traces) == 1)
  }

  @Test func `an edit is in the log of a node that wrote it`() {
    for (node, count) in [("a", 0), ("b", 1)] {
      var traces = Traces()
      traces.add([0: first], over: [:], at: "a")
      traces.add([0: second], over: [:], at: "b")
      traces.add(logged: [Traces.Trace(row: 0, badge: first)], at: node)
      #expect(faults(traces, standing: [0: second]) == count)
    }
  }

  @Test func `an edit is in the log of a node that made it again as it was parked there`() {
    var traces = Traces()
    let trace = Traces.Trace(row: 0, badge: first)
    traces.add([0: first], over: [:], at: "a")
    traces.add(logged: [trace], at: "b")
    #expect(faults(traces) == 1)
    traces.add(madeAgain: trace, at: "c")
    #expect(faults(traces) == 1)
    traces.add(madeAgain: trace, at: "b")
    #expect(faults(traces) == 0)
  }

  @Test(arguments: [
    // After the row that keeps the value, whatever the time is, and after what it was before.
    (101, 100, true, 0), (102, 100, true, 1), (100, 100, true, 1), (51, 20, true, 1),
    // The other one is gone already: it was created by now.
    (91, 100, false, 0), (92, 100, false, 1),
  ])
  func `what gives way is made again just after the row that keeps its value`(
    stamp: Int64, created: Int64, isThere: Bool, count: Int
  ) {
    let (own, other) = (Origin(rawValue: 1), Origin(rawValue: 2))
    func version(_ dot: Dot, _ stamp: Int64) -> Version {
      Version(
        dot: dot, created: dot, stamp: Stamp(millisecondsSince1970: Self.moment + stamp), hash: 1,
        isDeleted: false)
    }
    var (yielded, history) = (AnytimeYielded(), History())
    history.isDated = true
    let old = version(Dot(other, 1), 50)
    let keeper = [1: version(Dot(isThere ? own : other, 5), created)]
    yielded.look(
      at: Observation(versions: [0: old], parked: [0: first]), own: own, above: 4)
    yielded.look(
      at: Observation(
        versions: keeper.merging([0: version(Dot(own, 6), stamp)]) { $1 },
        standing: [1: second], parked: [0: first]), own: own, above: 4)
    #expect(yielded.check(by: Self.moment + 90, &history, at: "a") == [Dot(own, 6)])
    #expect(history.faults.count == count)
    #expect(history.traces.madeAgain == [Traces.Trace(row: 0, badge: first): ["a"]])
  }

  @Test func `a row is parked beside one that has its value, and not beside a lesser one`() {
    func faults(_ standing: [RowNumber: Badge], _ versions: [RowNumber: Version] = [:]) -> Int {
      var history = History()
      let shown = Observation(versions: versions, standing: standing, parked: [0: first])
      EventuallyStanding.check([("a", shown)], &history)
      return history.faults.count
    }
    #expect(faults([1: second]) == 0)
    #expect(faults([1: Badge(code: 901, note: "second")]) == 1)
    let dot = Dot(Origin(rawValue: 1), 1)
    let edit = Version(dot: dot, created: dot, stamp: .zero, hash: 1, isDeleted: false)
    let word = edit.certified(dot, term: .none, epoch: 1, at: .zero)
    #expect(faults([1: second], [0: word, 1: edit]) == 1)
    #expect(faults([1: second], [0: edit, 1: word]) == 0)
  }

  @Test func `rows that are parked at one node alone are no end`() {
    var history = History()
    let one = Observation(shelved: [0], parked: [0: first])
    EventuallyEqual.check([("a", one), ("b", one)], &history)
    #expect(history.faults == [])
    EventuallyEqual.check([("a", one), ("b", Observation())], &history)
    #expect(history.faults.count == 1)
  }
}
