import Testing

@testable import Replication

/// Which tables that appear in a file are there to stay.
@Suite struct `A new table` {
  @Test func `counts once it has stood still`() {
    var watch = NewTables()
    #expect(watch.receive([:], at: 0) == [] && !watch.isWaiting)
    #expect(watch.receive(["visit": "a"], at: 1_000) == [] && watch.isWaiting)
    #expect(watch.receive(["visit": "a"], at: 4_999) == [])
    #expect(watch.receive(["visit": "a"], at: 5_000) == ["visit"])
    // Until somebody has taken it in.
    #expect(watch.receive(["visit": "a"], at: 5_001) == ["visit"])
    #expect(watch.receive([:], at: 5_002) == [] && !watch.isWaiting)
  }

  @Test func `is looked at twice however long ago the first time was`() {
    var watch = NewTables()
    _ = watch.receive([:], at: 0)
    #expect(watch.receive(["visit": "a"], at: 60_000) == [])
    #expect(watch.receive(["visit": "a"], at: 120_000) == ["visit"])
  }

  @Test func `begins anew when it is changed or made anew`() {
    var watch = NewTables()
    _ = watch.receive([:], at: 0)
    _ = watch.receive(["visit": "a", "note": "n"], at: 1_000)
    #expect(watch.receive(["visit": "b", "note": "n"], at: 5_000) == ["note"])
    #expect(watch.receive(["visit": "b"], at: 8_999) == [])
    #expect(watch.receive(["visit": "b"], at: 9_000) == ["visit"])
    _ = watch.receive([:], at: 10_000)
    #expect(watch.receive(["visit": "b"], at: 11_000) == [])
  }

  @Test func `counts at once if nobody saw it come`() {
    var watch = NewTables()
    #expect(watch.receive(["visit": "a"], at: 0) == ["visit"])
    #expect(watch.receive(["visit": "b"], at: 10) == [])
  }
}
