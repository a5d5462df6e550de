import Testing

@testable import Flotilla

extension TestSite {
  typealias Member = (replica: TestReplica, node: Node)

  /// Members `a` and `b` whose nodes run, have met and are equal.
  func two() async throws -> (Member, Member) {
    let (a, b) = (try await replica("a"), try await replica("b"))
    let first = try await run(a)
    let second = try await run(b, to: [first])
    for node in [first, second] { try await meet(node, 1) }
    return ((a, first), (b, second))
  }

  /// The same with a third one, `c`, that is connected with both.
  func three() async throws -> (Member, Member, Member) {
    let (first, second) = try await two()
    let c = try await replica("c")
    let third = try await run(c, to: [first.node, second.node])
    for node in [first.node, second.node, third] { try await meet(node, 2) }
    return (first, second, (c, third))
  }

  private func meet(_ node: Node, _ others: Int) async throws {
    try #require(
      try await eventually {
        let status = try await node.status(all: true)
        return status.peers.count == others && status.in_sync
      })
  }
}
