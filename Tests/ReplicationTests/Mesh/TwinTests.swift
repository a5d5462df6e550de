import Replication
import Testing

/// Two machines that run as one node, as the node sees that both connect with.
@Suite struct TwinTests {
  private static let peer = Identity(high: 0, low: 2)
  private static let now = Instant(uptime: 1_000, wall: 0)

  private static func hello(run: UInt64, life: UInt64) -> Hello {
    var hello = Samples.hello(node: peer, run: run)
    hello.life = life
    return hello
  }

  private static func dropped(_ directives: [Mesh.Directive]) -> [String] {
    directives.compactMap {
      if case .drop(let id, let bye) = $0 { "\(id) \(bye.code.rawValue)" } else { nil }
    }
  }

  @Test func `a node that was restarted is no twin`() {
    var mesh = Mesh(node: Identity(high: 0, low: 1))
    for run in UInt64(1)...5 {
      let dropped = Self.dropped(
        mesh.receive(.opened(run, Self.hello(run: run, life: 1), dialled: nil), at: Self.now))
      #expect(dropped == (run == 1 ? [] : ["\(run - 1) \(Bye.Code.duplicate.rawValue)"]))
    }
  }

  @Test func `the copy goes when the original comes back, and stays away`() {
    var mesh = Mesh(node: Identity(high: 0, low: 1))
    let twin = Bye.Code.twin.rawValue
    let (original, copy) = (Self.hello(run: 1, life: 1), Self.hello(run: 2, life: 2))
    _ = mesh.receive(.opened(1, original, dialled: nil), at: Self.now)
    // It might be the same machine after a restore.
    _ = mesh.receive(.opened(2, copy, dialled: nil), at: Self.now)
    #expect(
      Self.dropped(mesh.receive(.opened(3, original, dialled: nil), at: Self.now)) == ["2 \(twin)"])
    for id in UInt64(4)...6 {
      #expect(
        Self.dropped(mesh.receive(.opened(id, copy, dialled: nil), at: Self.now))
          == ["\(id) \(twin)"])
    }
    #expect(mesh.node(of: 3) == Self.peer)
  }

  @Test func `of one life who is connected stays`() {
    var mesh = Mesh(node: Identity(high: 0, low: 1))
    let (one, other) = (Self.hello(run: 1, life: 1), Self.hello(run: 2, life: 1))
    _ = mesh.receive(.opened(1, one, dialled: nil), at: Self.now)
    _ = mesh.receive(.opened(2, other, dialled: nil), at: Self.now)
    #expect(
      Self.dropped(mesh.receive(.opened(3, one, dialled: nil), at: Self.now))
        == ["3 \(Bye.Code.twin.rawValue)"])
    #expect(mesh.node(of: 2) == Self.peer)
  }
}
