import Foundation
import Network
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  @Suite("The time of the site, at nodes") struct NodeTimeTests {
    private static let year: Int64 = 365 * 86_400_000

    @Test func `a machine without a battery that is alone waits, says so, and is placed first`()
      async throws
    {
      try await TestSite.with { site in
        let (a, b, clock) = (try await site.replica("a"), try await site.replica("b"), WrongClock())
        var first = try await site.run(a)
        var second = try await site.run(b, to: [first], machine: clock.machine)
        #expect(try await eventually { try await second.isInSync })
        try a.write("INSERT INTO item VALUES ('r', 'base')")
        #expect(try await eventually { try b.count() == 1 })
        await second.stop()
        // Where the other does not look for it.
        await first.stop()
        first = try await site.run(a)
        clock.restart(isKept: false)
        second = try await site.run(b, machine: clock.machine)
        try b.write("UPDATE item SET text = 'first' WHERE id = 'r'")
        try await Task.sleep(for: .milliseconds(1_200))
        try a.write("UPDATE item SET text = 'later' WHERE id = 'r'")
        #expect(try await eventually { try await second.waitingEdits() == 1 })
        let status = try await second.status(all: true)
        #expect(!status.in_sync && status.clock?.site_time == nil && status.clock?.waiting == 1)
        #expect(status.remarks.contains { $0.hasPrefix("1 edit waits: this machine was started") })
        let missed = try await second.wait(for: .all, timeout: .milliseconds(50))
        #expect(missed.reached == [] && missed.missing == ["a"])
        #expect(try await second.unsent().rows == 1)
        // Who must be told of all that was committed is told that nobody can.
        await #expect(throws: FlotillaError.self) {
          try await second.changedKeys(since: nil, tables: ["item"], isExact: true, within: .zero)
        }
        _ = try await second.changedKeys(
          since: nil, tables: ["item"], isExact: false, within: .zero)
        await second.stop()
        second = try await site.run(b, to: [first], machine: clock.machine)
        #expect(try await eventually { try await second.isInSync })
        #expect(try await eventually { try await first.isInSync })
        #expect(try b.rows("SELECT text FROM item") == ["later"])
        #expect(try a.rows("SELECT text FROM item") == ["later"])
        #expect(
          try await b.library.conflicts().conflicts.map(\.loser?.row?["text"]) == [.text("first")])
        #expect(
          try await eventually {
            let peer = try await first.status(all: true).peers[0]
            return peer.clock_corrected && peer.clock_offset_ms < -1_000_000
          })
      }
    }

    @Test func `two that have lost it found it anew, and agree`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let clocks = [WrongClock(), WrongClock()]
        var first = try await site.run(a, machine: clocks[0].machine)
        var second = try await site.run(b, to: [first], machine: clocks[1].machine)
        #expect(try await eventually { try await second.isInSync })
        await first.stop()
        await second.stop()
        clocks[0].restart(isKept: false)
        clocks[1].restart(isKept: true)
        first = try await site.run(a, machine: clocks[0].machine)
        try a.write("INSERT INTO item VALUES ('r', 'x')")
        second = try await site.run(b, to: [first], machine: clocks[1].machine)
        #expect(try await eventually(within: .seconds(60)) { try await second.isInSync })
        #expect(try await eventually { try b.count() == 1 })
        let (one, other) = (first.clock.state.founding, second.clock.state.founding)
        #expect(
          one == other && one?.generation == 3 && one?.source == .clock,
          "\(first.clock.state) \(second.clock.state)")
        let (here, there) = (first.clock.now.moment, second.clock.now.moment)
        #expect(abs(here - there) < 1_000)
        #expect(abs(here - Uptime.wall) < 2_000, "\(first.clock.state) \(second.clock.state)")
      }
    }

    @Test func `a clock that is set back during a catch-up changes nothing`() async throws {
      try await TestSite.with { site in
        let (a, b, clock) = (try await site.replica("a"), try await site.replica("b"), WrongClock())
        try a.write(
          """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
          INSERT INTO item SELECT 'k' || i, hex(randomblob(40)) FROM n
          """)
        let first = try await site.run(a)
        #expect(try await eventually(within: .seconds(60)) { try await first.waitingEdits() == 0 })
        let second = try await site.run(b, to: [first], machine: clock.machine)
        #expect(try await eventually(within: .seconds(60)) { try b.count() > 0 })
        clock.set(ahead: -Self.year)
        try b.write("INSERT INTO item VALUES ('mine', 'x')")
        #expect(try await eventually(within: .seconds(60)) { try await second.isInSync })
        #expect(try b.count() == 20_001)
        #expect(try await eventually { try a.count() == 20_001 })
        let edited = try a.rows(
          """
          SELECT abs(unixepoch('now') - unixepoch(edited_at)) < 120 FROM _flotilla_rows_item
          WHERE id = 'mine'
          """)
        #expect(edited == ["1"])
        #expect(abs(second.clock.now.moment - Uptime.wall) < 2_000)
      }
    }

    @Test func `a person sets it for all, or calls one clock good`() async throws {
      try await TestSite.with { site in
        let (a, b, clock) = (try await site.replica("a"), try await site.replica("b"), WrongClock())
        let first = try await site.run(a, machine: clock.machine)
        let second = try await site.run(b, to: [first])
        #expect(try await eventually { try await second.isInSync })
        clock.set(ahead: Self.year)
        let shown = try await first.clock(set: nil, isGood: nil, repairs: false, isForced: false)
        #expect(shown.clock.source == "clock")
        #expect(
          try await eventually {
            let shown = try await second.clock(
              set: nil, isGood: nil, repairs: false, isForced: false)
            return shown.peers.map(\.corrected) == [true]
          })
        #expect(abs((shown.clock.clock_offset_ms ?? 0) - Int(Self.year)) < 5_000)
        // A stamp from the future, once the time is set back.
        await #expect(throws: FlotillaError.self) {
          try await first.clock(set: nil, isGood: true, repairs: false, isForced: false)
        }
        _ = try await first.clock(set: nil, isGood: true, repairs: false, isForced: true)
        #expect(
          try await eventually {
            let ahead = second.clock.now.moment - Uptime.wall
            return abs(ahead - Self.year) < 2_000
          })
        try b.write("INSERT INTO item VALUES ('r', 'x')")
        #expect(try await eventually { try a.count() == 1 })
        let report = try await first.clock(
          set: Uptime.wall, isGood: nil, repairs: false, isForced: false)
        #expect(report.clock.source == "person" && report.clock.future > 0)
        #expect(try await eventually { abs(second.clock.now.moment - Uptime.wall) < 2_000 })
        let status = try await second.status(all: true)
        #expect(status.remarks.contains { $0.contains("from the future") })
        let repaired = try await first.clock(set: nil, isGood: nil, repairs: true, isForced: false)
        #expect(repaired.repaired == report.clock.future && repaired.clock.future == 0)
        #expect(
          try await eventually { try await second.status(all: true).clock?.future == 0 })
        try a.write("UPDATE item SET text = 'y' WHERE id = 'r'")
        #expect(try await eventually { try b.rows("SELECT text FROM item") == ["y"] })
        await #expect(throws: FlotillaError.self) {
          try await first.clock(set: 5, isGood: nil, repairs: false, isForced: false)
        }
      }
    }

    @Test func `no member but an admin sets it a year ahead for others`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        #expect(try await eventually { try await second.isInSync })
        _ = try await second.clock(
          set: Uptime.wall + Self.year, isGood: nil, repairs: false, isForced: true)
        let reign = second.clock.state.founding?.reign
        #expect(try await eventually { await first.hasRefusedTime })
        #expect(abs(first.clock.now.moment - Uptime.wall) < 2_000)
        // The word of the admin holds everywhere.
        _ = try await first.clock(
          set: Uptime.wall, isGood: nil, repairs: false, isForced: false)
        _ = try await first.clock(
          set: Uptime.wall, isGood: nil, repairs: false, isForced: false)
        #expect(try await eventually { abs(second.clock.now.moment - Uptime.wall) < 2_000 })
        #expect(first.clock.state.founding?.reign == (reign ?? 0) + 1)
      }
    }

    @Test func `what is signed bears the time of the site, not that of the machine`() async throws {
      try await TestSite.with { site in
        let node = try await site.run(try await site.replica("a"))
        #expect(try await eventually { node.clock.now.site != nil })
        let ahead = 10 * 86_400_000 as Int64
        _ = try await node.clock(
          set: Uptime.wall + ahead, isGood: nil, repairs: false, isForced: false)
        let keys = NodeKeys()
        try await node.say(.admit(key: keys.node.publicKey, role: .writer))
        let signedAt = try #require(await node.roster.roll.member(keys.identity)).since
        #expect(abs(signedAt - Uptime.wall - ahead) < 60_000)
      }
    }
  }
}

extension Node {
  /// Whether a member has told a time of the site that cannot be.
  fileprivate var hasRefusedTime: Bool { peers.values.contains(where: \.isUntimely) }
}
