import Replication
import Testing

/// Both ends of several connections between two nodes, opened in every order on each side.
@Suite struct DuplicateTests {
  /// Which node dialled each connection: the lower one or not.
  @Test(arguments: [
    [true], [false], [true, false], [false, true], [true, true], [false, false],
    [true, true, false], [true, false, false], [true, true, true], [false, false, false],
    [true, true, false, false],
  ])
  func `both sides keep the same one`(dialledByLower: [Bool]) {
    let count = dialledByLower.count
    for lowerOrder in Self.orders(count) {
      for higherOrder in Self.orders(count) {
        let kept = Self.settle(dialledByLower, lowerOrder, higherOrder)
        #expect(kept.lower.count == 1 && kept.lower == kept.higher)
        if let one = kept.lower.first, dialledByLower.contains(true) {
          #expect(dialledByLower[one], "the connection that the lower node dialled stays")
        }
      }
    }
  }

  @Test func `who was dialled twice knows the other connection until one ends`() {
    let now = Instant(uptime: 1_000, wall: 0)
    let peer = Identity(high: 0, low: 2)
    var mesh = Mesh(node: Identity(high: 0, low: 1))
    for id in [UInt64(5), 4] {
      let hello = Samples.hello(node: peer, run: 1)
      #expect(mesh.receive(.opened(id, hello, dialled: nil), at: now) == [])
    }
    #expect(mesh.node(of: 4) == peer && mesh.node(of: 5) == peer)
    #expect(mesh.connection(besides: 4) == 5)
    _ = mesh.receive(.closed(4), at: now)
    #expect(mesh.node(of: 4) == nil && mesh.connection(besides: 4) == nil)
    #expect(mesh.connection(besides: 5) == nil)
  }

  static func orders(_ count: Int) -> [[Int]] {
    guard count > 0 else { return [[]] }
    return orders(count - 1).flatMap { order in
      (0...order.count).map { place in
        var longer = order
        longer.insert(count - 1, at: place)
        return longer
      }
    }
  }

  /// Opens all connections on both sides, then lets what one side dropped close at the other.
  static func settle(
    _ dialledByLower: [Bool], _ lowerOrder: [Int], _ higherOrder: [Int]
  ) -> (lower: Set<Int>, higher: Set<Int>) {
    let now = Instant(uptime: 1_000, wall: 0)
    let nodes = [Identity(high: 0, low: 1), Identity(high: 0, low: 2)]
    var meshes = nodes.map { Mesh(node: $0) }
    var kept = [Set(dialledByLower.indices), Set(dialledByLower.indices)]
    for (side, order) in [lowerOrder, higherOrder].enumerated() {
      let peer = Samples.hello(node: nodes[1 - side], run: UInt64(side))
      for connection in order {
        let isOurs = dialledByLower[connection] == (side == 0)
        let dialled = isOurs ? "address \(connection)" : nil
        for directive in meshes[side].receive(
          .opened(UInt64(connection), peer, dialled: dialled), at: now)
        {
          if case .drop(let id, _) = directive { kept[side].remove(Int(id)) }
        }
      }
    }
    // A connection lives while both sides hold it.
    let alive = kept[0].intersection(kept[1])
    for side in 0...1 {
      for connection in dialledByLower.indices where !alive.contains(connection) {
        _ = meshes[side].receive(.closed(UInt64(connection)), at: now)
      }
      let isConnected = !meshes[side].connected.isEmpty
      if isConnected != !alive.isEmpty { return ([], []) }
    }
    return (alive, alive)
  }
}
