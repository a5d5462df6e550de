import Replication
import Testing

@testable import Flotilla

/// What goes on beside a node, and how it ends with it.
@Suite struct NodeWorkTests {
  private func work() -> Task<Void, Never> {
    Task { try? await Task.sleep(for: .seconds(3_600)) }
  }

  @Test func `a node that stops cancels what waits or dials, and lets the rest finish`() {
    let cancelled: [NodeWork.Piece] = [
      .dial("a:1"), .dialBack(1), .loop(1), .meshTick, .nextLook, .delivery,
    ]
    var it = NodeWork()
    var tasks: [NodeWork.Piece: Task<Void, Never>] = [:]
    for piece in cancelled + [.session(1), .folding, .collecting] {
      tasks[piece] = work()
      it.begin(piece, tasks[piece]!)
    }
    it.stop()
    #expect(Set(tasks.filter { $0.value.isCancelled }.map(\.key)) == Set(cancelled))
    #expect(it.connections.count == 3 && it.others.count == 6)
    for task in tasks.values { task.cancel() }
  }

  @Test func `a piece gives its name free when it ends, and loops need none`() {
    var it = NodeWork()
    let tasks = (0..<4).map { _ in work() }
    it.begin(.dialBack(7), tasks[0])
    it.begin(.folding, tasks[1])
    it.loop(tasks[2])
    it.loop(tasks[3])
    #expect(it.isUnderWay(.dialBack(7)) && !it.isUnderWay(.dialBack(8)) && it.dialsBack == 1)
    #expect(it.others.count == 3)
    it.cancel(.folding)
    #expect(tasks.map(\.isCancelled) == [false, true, false, false])
    it.end(.dialBack(7))
    it.end(.folding)
    #expect(it.dialsBack == 0 && it.connections.isEmpty)
    #expect(Set(it.others) == [tasks[2], tasks[3]])
    for task in tasks { task.cancel() }
  }
}
