import Replication
import Testing

@testable import Flotilla

/// How long a joiner waits for pages that come slowly.
@Suite struct PagePatienceTests {
  /// A joiner with an inviter that does the same again and again, until the fetch is over.
  private struct Fetch {
    var patience = PagePatience()
    var now: Int64 = 0
    /// When the connection ended, and the fetch.
    var cuts: [Int64] = []
    var refusal: String?

    /// Waits so long for a message, of which a byte comes every second or none; true if it came.
    mutating func waits(_ time: Int64, for message: CopyMessage, silent: Bool = false) -> Bool {
      patience.await(at: now)
      let (start, end) = (now, now + time)
      while now < end {
        let heard = silent ? start : now
        switch patience.end(at: now, heard: heard) {
        case .pages(let reason):
          refusal = reason
          return false
        case .connection:
          cuts.append(now)
          patience.stop(nil, at: now)
          patience.connect()
          return false
        case nil: now = min(end, now + 1_000)
        }
      }
      patience.stop(message, at: now)
      return true
    }

    /// A copy that begins, or goes on where it was.
    mutating func begins(keeping kept: Int = 0) {
      patience.connect()
      patience.await(at: now)
      patience.stop(PageReceiverTests.head(), at: now)
      patience.begin(keeping: kept)
    }

    /// Chunks of which each takes so long; true if all came.
    mutating func chunks(_ count: Int, each time: Int64) -> Bool {
      for _ in 0..<count {
        guard waits(time, for: PageReceiverTests.chunk(0)) else { return false }
        patience.receive(CopyMessage.chunkBytes)
      }
      return refusal == nil
    }
  }

  @Test func `a copy that is made for ever is not waited for`() {
    var fetch = Fetch()
    fetch.patience.connect()
    while fetch.waits(1_000, for: .making(bytes: 0)) {}
    #expect(fetch.refusal == "it was not made in 5 minutes" && fetch.cuts.isEmpty)
    #expect(fetch.now == 300_000)
  }

  @Test func `one that is cut while it is made is made no longer`() {
    var fetch = Fetch()
    while fetch.refusal == nil, fetch.now < 1_000_000 {
      fetch.patience.connect()
      for _ in 0..<50 where fetch.refusal == nil {
        _ = fetch.waits(1_000, for: .making(bytes: 0))
      }
    }
    #expect(fetch.now == 300_000)
  }

  @Test func `a byte now and then is no message, and after a minute there are no pages`() {
    for hasBegun in [false, true] {
      var fetch = Fetch()
      if hasBegun { fetch.begins() }
      while fetch.refusal == nil, fetch.now < 1_000_000 {
        if hasBegun { fetch.begins() }
        _ = fetch.waits(1_000_000, for: PageReceiverTests.chunk(0))
      }
      #expect(fetch.cuts == [20_000, 40_000])
      #expect(fetch.refusal == "fewer than 1048576 bytes came in 60 s" && fetch.now == 60_000)
    }
  }

  @Test func `silence is the end of a connection, and of that alone`() {
    var fetch = Fetch()
    fetch.begins()
    let hasCome = fetch.waits(30_000, for: PageReceiverTests.chunk(0), silent: true)
    #expect(!hasCome && fetch.cuts == [10_000] && fetch.refusal == nil)
  }

  @Test func `a chunk in 14 s does, for days, and one in 16 s does not`() {
    var fetch = Fetch()
    fetch.begins()
    let isBorne = fetch.chunks(20_000, each: 14_000)
    #expect(isBorne && fetch.now == 280_000_000)
    fetch = Fetch()
    fetch.begins()
    let isTooSlow = fetch.chunks(20, each: 16_000)
    #expect(!isTooSlow && fetch.now == 60_000)
  }

  @Test func `time without a connection, and work of this side, do not count`() {
    var fetch = Fetch()
    fetch.begins()
    for round in 1...20 {
      let isBorne = fetch.chunks(3, each: 10_000)
      #expect(isBorne)
      fetch.now += 3_600_000
      #expect(fetch.patience.end(at: fetch.now, heard: 0) == nil)
      #expect(fetch.patience.due(heard: 0) == nil)
      fetch.begins(keeping: round * 3 * CopyMessage.chunkBytes)
    }
    #expect(fetch.refusal == nil && fetch.cuts.isEmpty)
  }

  @Test func `a file that begins anew and anew is none`() {
    var fetch = Fetch()
    for round in 1...5 {
      fetch.begins()
      let isBorne = fetch.chunks(8, each: 1_000)
      #expect(isBorne == (round < 5))
    }
    #expect(fetch.refusal == "it has begun anew too often")
  }

  @Test func `what is due is asked for when it is due`() {
    var fetch = Fetch()
    fetch.patience.connect()
    fetch.patience.await(at: 5)
    #expect(fetch.patience.due(heard: 0) == 10_005)
    #expect(fetch.patience.due(heard: 10_004) == 20_004)
    #expect(fetch.patience.due(heard: 15_000) == 20_005)
    #expect(fetch.patience.end(at: 20_004, heard: 15_000) == nil)
    #expect(fetch.patience.end(at: 20_005, heard: 15_000) == .connection)
  }
}
