import Flotilla
import SQLite
import Testing

@testable import Mirror

/// What a session takes for known, and for how long.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `What is known of a row` {
  @Test func `stays until the feed has told of it, unless the row goes out`() async throws {
    try await Office.with { office in
      try await office.site("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)")
      #expect(try await office.flotilla("init", "shop.db", "--all").status == 0)
      try await office.server("CREATE TABLE t(id BIGINT PRIMARY KEY, v LONGTEXT)")
      let replica = Replica(path: office.path("shop.db"))
      let losers = try await replica.losers(of: ["t"])
      let address = try ServerAddress(office.url)
      let server = try ServerConnection(address, password: "secret")
      let site = try SiteFile(replica)
      let here = try #require(try SiteTable.read("t", on: site.connection))
      let there = try #require(try ServerTable.read("shop", "t", on: server))
      let link = try #require(TableLink.plan(here, there, number: 1).link)
      func session() throws -> MirrorSession {
        let made = MirrorSession(
          server,
          ServerLedger(server: server, database: "shop", site: "s", holder: "h", session: "x"),
          Capture(database: "shop", links: [link], site: "s"), site, losers,
          ServerReading(address, password: "secret"), life: 1,
          state: ServerLedger.State(number: 0))
        made.known = try site.known(by: "h")
        return made
      }
      func row(_ id: Int64, _ text: String) -> MirroredRow {
        MirroredRow(link, key: [.integer(id)], row: [.integer(id), .string(text)])
      }
      for id in 1...3 as ClosedRange<Int64> { try site.note(known: row(id, "a"), by: "h") }
      let one = try session()
      #expect(one.known.count == 3 && one.isAgreed(row(1, "a")))
      // An earlier session took it: it may have gone out again since.
      #expect(!one.isKnown(row(1, "a")))
      try one.letGo()
      #expect(one.known.count == 3)
      // What goes out with other content is no more what both sides have.
      try one.unnote([row(1, "a"), row(2, "b")])
      let two = try session()
      #expect(two.isAgreed(row(1, "a")) && !two.isAgreed(row(2, "a")))
      two.know(row(3, "a"))
      // A reading has told of all that the earlier session took, and not of that.
      two.passed = 0
      // Who owes a row needs to know that it came from there.
      two.debts.owe(row(1, "a"), "locked")
      try two.letGo()
      #expect(two.isAgreed(row(1, "a")))
      try two.debts.settle([row(1, "a").name])
      try two.letGo()
      #expect(!two.isAgreed(row(1, "a")) && two.isKnown(row(3, "a")))
      #expect(try site.known(by: "h").count == 1)
      // What has just gone out the feed may name again: it was read before the row was.
      try two.ledger.install()
      try two.ledger.appoint(node: "n", tables: [])
      #expect(try two.ledger.enter().state != nil)
      _ = try two.capture.install(on: server, cascades: []) { _ in }
      try two.send([row(5, "a"), row(6, "a")], cursor: "1")
      #expect(two.isAgreed(row(5, "a")) && !two.isAgreed(row(5, "b")))
      #expect(two.known[row(5, "a").name] == nil)
      // Since another one has come in or gone out that one is a change of the site again.
      two.know(row(5, "b"))
      try two.send([row(6, "b")], cursor: "2")
      #expect(!two.isAgreed(row(5, "a")) && two.isAgreed(row(5, "b")))
      #expect(!two.isAgreed(row(6, "a")) && two.isAgreed(row(6, "b")))
    }
  }
}
