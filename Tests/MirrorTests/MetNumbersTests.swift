import Flotilla
import SQLite
import Testing

@testable import Mirror

/// A row of the server that refers to a number waits while that is another row's here.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `What refers to a number of the server` {
  @Test func `is not taken in under a row that a program of the site has just made`() async throws {
    try await Office.with { office in
      try await office.site(
        """
        CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE visit(id INTEGER PRIMARY KEY, patient INTEGER REFERENCES patient(id));
        CREATE TABLE note(id TEXT PRIMARY KEY, visit INTEGER REFERENCES visit(id))
        """)
      #expect(try await office.flotilla("init", "shop.db", "--all").status == 0)
      try await office.server(
        """
        CREATE TABLE patient(id BIGINT PRIMARY KEY, name LONGTEXT);
        CREATE TABLE visit(id BIGINT PRIMARY KEY, patient BIGINT);
        CREATE TABLE note(id VARCHAR(99) COLLATE utf8mb4_nopad_bin PRIMARY KEY, visit BIGINT)
        """)
      let replica = Replica(path: office.path("shop.db"))
      let tables = ["patient", "visit", "note"]
      let losers = try await replica.losers(of: tables)
      let address = try ServerAddress(office.url)
      let server = try ServerConnection(address, password: "secret")
      let site = try SiteFile(replica)
      var links: [TableLink] = []
      for (place, table) in tables.enumerated() {
        let here = try #require(try SiteTable.read(table, on: site.connection))
        let there = try #require(try ServerTable.read("shop", table, on: server))
        links.append(try #require(TableLink.plan(here, there, number: place + 1).link))
      }
      let ledger = ServerLedger(
        server: server, database: "shop", site: "s", holder: "h", session: "x")
      let capture = Capture(database: "shop", links: links, site: "s")
      _ = try capture.install(on: server, cascades: []) { _ in }
      let session = MirrorSession(
        server, ledger, capture, site, losers, ServerReading(address, password: "secret"),
        life: 1, state: ServerLedger.State(number: 0))
      try session.keys.learn(["patient", "visit"], links, server)
      try await office.server(
        """
        INSERT INTO patient VALUES (5, 'theirs'), (6, 'theirs, too');
        INSERT INTO visit VALUES (50, 5), (60, 6);
        INSERT INTO note VALUES ('of 5', 50), ('of 6', 60)
        """)
      let news = try session.news().news
      #expect(news.count == 6)
      let concerned = session.concerned(by: news)
      let before = try session.standing(concerned)
      #expect(before.isEmpty && session.elders(of: concerned, before: before).isEmpty)
      try await office.site("INSERT INTO patient VALUES (5, 'ours')")
      let taking = try session.take(
        news, of: concerned, beside: [:], before: before, at: 0, refuses: false)
      #expect(taking.count == 3 && taking.waiting.isEmpty)
      #expect(try await office.site("SELECT id || patient FROM visit") == "606")
      #expect(try await office.site("SELECT group_concat(id) FROM note") == "of 6")
      // Read without the patient, a visit waits for the server's patient to have another number.
      let visits = news.filter { $0.link.site.name == "visit" && $0.key == [.integer(50)] }
      let concerns = session.concerned(by: visits)
      let elders = try session.elders(of: concerns, before: session.standing(concerns))
      #expect(elders.map(\.key) == [[.integer(5)]])
      let touched = try session.touched(visits, of: concerns, before: [:])
      #expect(touched == Set((visits + news.prefix(1)).map(\.name)))
    }
  }
}
