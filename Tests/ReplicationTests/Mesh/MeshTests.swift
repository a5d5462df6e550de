import Testing

@testable import Replication

@Suite struct MeshTests {
  static let low = Identity(high: 0, low: 1)
  static let middle = Identity(high: 0, low: 2)
  static let high = Identity(high: 0, low: 3)

  /// A mesh and its own time.
  struct Clocked {
    var mesh: Mesh
    var now = Instant(uptime: 100_000, wall: 0)

    init(_ node: Identity = middle) { mesh = Mesh(node: node) }

    @discardableResult
    mutating func feed(_ input: Mesh.Input) -> [Mesh.Directive] { mesh.receive(input, at: now) }

    mutating func wait(_ milliseconds: Int64) -> [Mesh.Directive] {
      now.uptime += milliseconds
      return feed(.tick)
    }

    @discardableResult
    mutating func open(
      _ id: UInt64, _ node: Identity, run: UInt64 = 7, dialled: String? = nil
    ) -> [Mesh.Directive] {
      feed(.opened(id, Samples.hello(node: node, name: "x", run: run), dialled: dialled))
    }
  }

  @Test func `an address is dialled once, and again after it failed, less and less often`() {
    var it = Clocked()
    #expect(it.feed(.configured(["a:1"])) == [.dial(address: "a:1")])
    #expect(it.feed(.configured(["a:1"])).isEmpty)
    #expect(it.wait(60_000).isEmpty && it.mesh.deadline == nil)
    var pauses: [Int64] = []
    for _ in 0..<8 {
      #expect(it.feed(.dialFailed(address: "a:1")).isEmpty)
      let pause = it.mesh.deadline! - it.now.uptime
      pauses.append(pause)
      #expect(it.wait(pause - 1).isEmpty)
      #expect(it.wait(1) == [.dial(address: "a:1")])
    }
    #expect(pauses == [500, 1_000, 2_000, 2_500, 2_500, 2_500, 2_500, 2_500])
  }

  @Test func `a start dials what it remembers at once, whoever should; hearsay may wait`() {
    var it = Clocked()
    #expect(it.feed(.remembered(node: Self.low, address: "l:1")) == [.dial(address: "l:1")])
    #expect(it.feed(.remembered(node: Self.high, address: "h:1")) == [.dial(address: "h:1")])
    #expect(it.feed(.heard(node: Identity(high: 0, low: 0), address: "z:1")).isEmpty)
    #expect(it.wait(1_500) == [.dial(address: "z:1")])
  }

  @Test func `an address is whose who was met there now, whatever is said of earlier days`() {
    var it = Clocked()
    #expect(it.feed(.remembered(node: Self.high, address: "h:1")) == [.dial(address: "h:1")])
    it.open(1, Self.low, dialled: "h:1")
    #expect(it.feed(.heard(node: Self.high, address: "h:1")).isEmpty)
    #expect(it.wait(60_000).isEmpty)
    // It dials us instead, and says where it listens.
    it.feed(.closed(1))
    it.open(2, Self.low)
    #expect(it.feed(.met(node: Self.low, address: "h:1")).isEmpty)
    #expect(it.feed(.heard(node: Self.high, address: "h:1")).isEmpty)
    #expect(it.wait(60_000).isEmpty)
    // It has moved: nobody was met there by the connection that there is now.
    it.feed(.closed(2))
    it.now.uptime += 10
    it.open(3, Self.low, dialled: "l:1")
    it.feed(.heard(node: Self.high, address: "h:1"))
    #expect(it.wait(1_000) == [.dial(address: "h:1")])
  }

  @Test func `an address that was dismissed is dialled no more, but for a member's`() {
    var it = Clocked()
    it.feed(.configured(["a:1"]))
    it.feed(.dialFailed(address: "a:1"))
    #expect(it.feed(.dismissed(address: "a:1")).isEmpty)
    #expect(it.mesh.deadline == nil)
    it.feed(.heard(node: Self.high, address: "h:1"))
    it.feed(.dialFailed(address: "h:1"))
    it.feed(.dismissed(address: "h:1"))
    #expect(it.mesh.deadline != nil)
    it.feed(.isSelf(address: "h:1"))
    #expect(it.mesh.isSelf(at: "h:1") && !it.mesh.isSelf(at: "a:1"))
  }

  @Test func `with many addresses each is tried more seldom`() {
    var it = Clocked()
    it.feed(.configured((0..<100).map { "a:\($0)" }))
    for _ in 0..<20 {
      for number in 0..<100 { it.feed(.dialFailed(address: "a:\(number)")) }
    }
    #expect(it.mesh.deadline == it.now.uptime + 10_000)
  }

  @Test func `the lower node dials at once, the higher one after a while`() {
    var it = Clocked()
    #expect(it.feed(.heard(node: Self.high, address: "h:1")) == [.dial(address: "h:1")])
    #expect(it.feed(.heard(node: Self.low, address: "l:1")).isEmpty)
    // Hearing it again is no reason to wait longer.
    #expect(it.wait(1_000).isEmpty)
    #expect(it.feed(.heard(node: Self.low, address: "l:1")).isEmpty)
    #expect(it.wait(499).isEmpty)
    #expect(it.wait(1) == [.dial(address: "l:1")])
    #expect(it.feed(.heard(node: Self.middle, address: "m:1")).isEmpty)
  }

  @Test func `an address that was our own is dialled once it is said to be another's`() {
    var it = Clocked()
    #expect(it.feed(.discovered(service: "s", address: "a:1")) == [.dial(address: "a:1")])
    it.feed(.isSelf(address: "a:1"))
    #expect(it.feed(.discovered(service: "s", address: "a:1")).isEmpty)
    #expect(it.wait(60_000).isEmpty)
    #expect(it.feed(.discovered(service: "t", address: "a:1")) == [.dial(address: "a:1")])
    it.feed(.isSelf(address: "a:1"))
    #expect(it.feed(.heard(node: Self.high, address: "a:1")) == [.dial(address: "a:1")])
  }

  @Test func `the addresses of a member that left are forgotten`() {
    var it = Clocked()
    it.feed(.heard(node: Self.high, address: "h:1"))
    it.open(1, Self.high, dialled: "h:1")
    it.feed(.left(Self.high))
    #expect(it.feed(.closed(1)).isEmpty)
    #expect(it.wait(60_000).isEmpty && it.mesh.deadline == nil)
  }

  @Test func `who is connected is not dialled, and is dialled again when the session ends`() {
    for (peer, pause) in [(Self.high, 200), (Self.low, 700)] as [(Identity, Int64)] {
      var it = Clocked()
      it.feed(.configured(["a:1"]))
      #expect(
        it.open(1, peer, dialled: "a:1") == [.remember(node: peer, name: "x", address: "a:1")])
      #expect(it.mesh.connected == [peer] && it.mesh.deadline == nil)
      #expect(it.feed(.heard(node: peer, address: "b:1")).isEmpty)
      #expect(it.feed(.closed(1)).isEmpty && it.mesh.connected.isEmpty)
      #expect(it.wait(pause - 1).isEmpty)
      #expect(it.wait(1) == [.dial(address: "a:1"), .dial(address: "b:1")])
    }
  }

  @Test func `who dialled us is not dialled at the addresses known to be his`() {
    var it = Clocked()
    it.feed(.heard(node: Self.low, address: "l:1"))
    it.open(1, Self.low)
    #expect(it.wait(10_000).isEmpty)
  }

  @Test func `of several addresses of one service none is dialled once one is connected`() {
    var it = Clocked()
    #expect(it.feed(.discovered(service: "s", address: "v4")) == [.dial(address: "v4")])
    #expect(it.feed(.discovered(service: "s", address: "v6")) == [.dial(address: "v6")])
    it.feed(.dialFailed(address: "v6"))
    it.open(1, Self.high, dialled: "v4")
    #expect(it.wait(60_000).isEmpty && it.mesh.deadline == nil)
    it.feed(.closed(1))
    #expect(it.wait(200) == [.dial(address: "v4"), .dial(address: "v6")])
  }

  @Test func `the node itself is never dialled again`() {
    var it = Clocked()
    it.feed(.discovered(service: "s", address: "me"))
    #expect(it.feed(.isSelf(address: "me")).isEmpty)
    #expect(it.wait(60_000).isEmpty)
    #expect(it.feed(.discovered(service: "s", address: "me")).isEmpty)
    #expect(it.feed(.configured(["me"])).isEmpty)
    #expect(it.feed(.woke).isEmpty && it.mesh.deadline == nil)
  }

  @Test func `a service that has gone is forgotten, what others named is not`() {
    var it = Clocked()
    for address in ["a", "b", "c"] {
      it.feed(.discovered(service: "s", address: address))
      it.feed(.dialFailed(address: address))
    }
    it.feed(.configured(["b"]))
    it.feed(.heard(node: Self.high, address: "c"))
    it.feed(.lost(service: "other"))
    it.feed(.lost(service: "s"))
    #expect(it.wait(1_000) == [.dial(address: "b"), .dial(address: "c")])
    #expect(it.feed(.discovered(service: "s2", address: "a")) == [.dial(address: "a")])
  }

  @Test func `a service that goes while it is dialled is forgotten when that fails`() {
    var it = Clocked()
    it.feed(.discovered(service: "s", address: "a"))
    it.feed(.lost(service: "s"))
    it.feed(.dialFailed(address: "a"))
    #expect(it.mesh.deadline == nil && it.feed(.woke).isEmpty)
    // If it is named again meanwhile, it stays.
    it.feed(.discovered(service: "s", address: "a"))
    it.feed(.lost(service: "s"))
    it.feed(.discovered(service: "t", address: "a"))
    it.feed(.dialFailed(address: "a"))
    #expect(it.mesh.deadline == it.now.uptime + 500)
  }

  @Test func `a peer whose connections end at once is dialled more and more slowly`() {
    var it = Clocked()
    var pauses: [Int64] = []
    it.feed(.configured(["h"]))
    for id in 1...6 as ClosedRange<Mesh.ConnectionID> {
      it.open(id, Self.high, dialled: "h")
      it.feed(.closed(id))
      pauses.append((it.mesh.deadline ?? 0) - it.now.uptime)
    }
    #expect(pauses == [200, 400, 800, 1_600, 2_500, 2_500])
    it.open(7, Self.high, dialled: "h")
    it.now.uptime += 6_000
    it.feed(.closed(7))
    #expect((it.mesh.deadline ?? 0) - it.now.uptime == 200)
  }

  @Test func `waking tries everything at once`() {
    var it = Clocked()
    it.feed(.configured(["a"]))
    for _ in 0..<5 { it.feed(.dialFailed(address: "a")) }
    it.feed(.heard(node: Self.low, address: "l"))
    #expect(it.feed(.woke) == [.dial(address: "a"), .dial(address: "l")])
    it.feed(.dialFailed(address: "a"))
    #expect(it.mesh.deadline == it.now.uptime + 500)
  }

  @Test func `neither discovery nor members can fill the memory`() {
    var it = Clocked()
    for number in 0..<1_000 { it.feed(.discovered(service: "s\(number)", address: "d\(number)")) }
    it.open(1, Self.high)
    for number in 0..<4_000 { it.feed(.heard(node: Self.high, address: "h\(number)")) }
    it.feed(.closed(1))
    it.now.uptime += 200
    // As many as are dialled at a time are being dialled.
    #expect(it.feed(.woke).isEmpty)
    #expect(it.mesh.candidates.count == 256 + 8)
    #expect(it.feed(.configured(["operator"])) == [.dial(address: "operator")])
  }

  @Test func `few addresses that nobody knows are dialled at a time, and those known at once`() {
    var it = Clocked()
    var dialled = 0
    for number in 0..<60 {
      dialled += it.feed(.discovered(service: "s\(number)", address: "d\(number)")).count
    }
    #expect(dialled == Candidate.dialsAtOnce && it.mesh.deadline == nil)
    #expect(it.feed(.configured(["operator"])) == [.dial(address: "operator")])
    // The end of one makes room for another.
    #expect(it.feed(.dialFailed(address: "d0")).count == 1)
    for number in 1..<60 { it.feed(.dialFailed(address: "d\(number)")) }
    #expect(it.mesh.deadline != nil)
  }

  @Test func `nobody keeps another one parted by saying that its address is his own`() {
    var it = Clocked()
    it.feed(.configured(["a:1"]))
    it.open(1, Self.high, dialled: "a:1")
    it.open(2, Self.middle)
    it.feed(.closed(1))
    it.feed(.heard(node: Self.middle, address: "a:1"))
    #expect(it.wait(1_000) == [.dial(address: "a:1")])
    it.open(3, Self.high, dialled: "a:1")
    it.feed(.closed(3))
    it.feed(.heard(node: Self.middle, address: "a:1"))
    // Who has told it is shut out, and what the operator has named stays.
    it.feed(.closed(2))
    it.feed(.left(Self.middle))
    #expect(it.wait(5_000) == [.dial(address: "a:1")])
  }

  @Test func `nobody does so by an address of earlier days`() {
    var it = Clocked()
    it.feed(.remembered(node: Self.high, address: "h:1"))
    it.feed(.dialFailed(address: "h:1"))
    it.open(1, Self.middle)
    it.feed(.heard(node: Self.middle, address: "h:1"))
    #expect(it.wait(5_000) == [.dial(address: "h:1")])
    // Nor by one that was kept under the names of both.
    var other = Clocked()
    other.feed(.remembered(node: Self.high, address: "h:1"))
    other.feed(.remembered(node: Self.middle, address: "h:1"))
    other.feed(.dialFailed(address: "h:1"))
    other.open(1, Self.middle)
    #expect(other.wait(5_000) == [.dial(address: "h:1")])
  }

  @Test func `of the addresses of one service none is dialled beside a connection`() {
    var it = Clocked()
    it.open(9, Self.middle)
    it.feed(.heard(node: Self.middle, address: "b"))
    for address in ["a", "b"] { it.feed(.discovered(service: "s", address: address)) }
    it.feed(.dialFailed(address: "b"))
    it.open(1, Self.high, dialled: "a")
    #expect(it.wait(60_000).isEmpty)
  }

  @Test func `of the addresses of one node that others tell few are dialled`() {
    var it = Clocked()
    var dialled = Set<String>()
    for number in 0..<100 {
      for directive in it.feed(.heard(node: Self.high, address: "false\(number)")) {
        if case .dial(let address) = directive { dialled.insert(address) }
      }
    }
    #expect(dialled.count == 8)
    // Those at which nobody answers make room for another one.
    for _ in 0..<3 {
      for address in dialled { it.feed(.dialFailed(address: address)) }
      it.now.uptime += 60_000
      it.feed(.tick)
    }
    for address in dialled { it.feed(.dialFailed(address: address)) }
    #expect(it.feed(.heard(node: Self.high, address: "true")) == [.dial(address: "true")])
  }

  @Test func `another life of the peer replaces the connection to the old one`() {
    for dialled in [nil, "a"] {
      var it = Clocked()
      it.open(1, Self.high, run: 7)
      let drop = Mesh.Directive.drop(1, Bye(.duplicate, "connected already"))
      #expect(it.open(2, Self.high, run: 8, dialled: dialled).first == drop)
      it.feed(.closed(1))
      #expect(it.mesh.connected == [Self.high])
    }
  }
}
