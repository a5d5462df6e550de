import Replication
import SQLite
import Testing

@testable import Store

/// What the site chooses for two rows under one number goes before what follows from the schema.
@Suite struct CollisionChoiceTests {
  private static let tickets = "CREATE TABLE ticket(id INTEGER PRIMARY KEY, text TEXT)"
  private static let lookup = """
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE port(name TEXT PRIMARY KEY, country INTEGER REFERENCES country)
    """

  private func rows(_ replica: TestReplica, _ sql: String) throws -> [String] {
    try replica.application.prepareRows(sql)
  }

  @Test(arguments: [KeyHandling.Kind.rekey, .log, nil], [false, true])
  func `two tickets of one number`(choice: KeyHandling.Kind?, hasAnchor: Bool) throws {
    let replicas = try KeysTests.site(
      3, schema: Self.tickets, tables: ["ticket"],
      beginning: "INSERT INTO ticket VALUES (6, 'old')")
    if let choice {
      try replicas[0].store.track(["ticket"], rule: nil, onCollision: choice, at: replicas[0].now)
      try KeysTests.settle(replicas)
    }
    if hasAnchor { try KeysTests.appoint(replicas) }
    for (replica, text) in zip(replicas, ["one", "two", "three"]) {
      KeysTests.later(replica, than: replicas)
      try replica.write("INSERT INTO ticket VALUES (7, '\(text)')")
      try replica.foldAll()
    }
    try KeysTests.settle(replicas)
    for replica in replicas {
      let found = try rows(replica, "SELECT text FROM ticket ORDER BY 1")
      if choice == .rekey {
        #expect(found == ["old", "one", "three", "two"])
        #expect(try rows(replica, "SELECT text FROM ticket WHERE id = 7") == ["one"])
      } else {
        #expect(found == ["old", hasAnchor ? "one" : "three"])
      }
      #expect(
        try replica.store.tableSurvey.keyHandling(of: ["ticket"]).map(\.kind) == [choice ?? .log])
      #expect(
        try replica.store.tableSurvey.keyHandling(of: ["ticket"]).map(\.isChosen) == [choice != nil]
      )
    }
  }

  @Test func `a country that two machines add is one, if the site says so`() throws {
    let replicas = try KeysTests.site(2, schema: Self.lookup, tables: ["country", "port"])
    try replicas[0].store.track(["country"], rule: nil, onCollision: .log, at: replicas[0].now)
    try KeysTests.settle(replicas)
    for (replica, name) in zip(replicas, ["Sverige", "Sweden"]) {
      KeysTests.later(replica, than: replicas)
      try replica.write(
        "INSERT INTO country VALUES (46, '\(name)'); INSERT INTO port VALUES ('p\(name)', 46)")
      try replica.foldAll()
    }
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(try rows(replica, "SELECT id || name FROM country") == ["46Sweden"])
      #expect(
        try rows(replica, "SELECT name || country FROM port ORDER BY 1")
          == ["pSverige46", "pSweden46"])
    }
    let losers = try replicas.flatMap { try $0.store.conflictLog.list(all: true) }
      .filter { $0.table == "country" }
    #expect(losers.count == 1)
  }

  @Test func `who joins later goes by it, and untracking ends it`() throws {
    let founder = try KeysTests.site(1, schema: Self.tickets, tables: ["ticket"])[0]
    try founder.store.track(["ticket"], rule: nil, onCollision: .rekey, at: founder.now)
    let late = try TestReplica(2, schema: Self.tickets, tracking: [])
    try late.pull(from: founder)
    #expect(try late.store.tableSurvey.keyHandling(of: ["ticket"]).map(\.kind) == [.rekey])
    try founder.store.untrack(["ticket"], at: founder.now)
    try founder.store.track(["ticket"], rule: nil, at: founder.now)
    try KeysTests.settle([founder, late])
    for replica in [founder, late] {
      #expect(try replica.store.tableSurvey.keyHandling(of: ["ticket"]).map(\.kind) == [.log])
    }
  }

  @Test func `a word that a later version may know says nothing here`() throws {
    let replica = try KeysTests.site(1, schema: Self.lookup, tables: ["country", "port"])[0]
    try replica.store.connection.run(
      "INSERT INTO _flotilla_number VALUES ('country', 'ask'), ('nowhere', 'rekey')")
    try replica.store.tables.reload()
    #expect(try replica.store.tableSurvey.keyHandling(of: ["country"]).map(\.kind) == [.rekey])
  }

  @Test func `a key that is no number cannot be exchanged for a fresh one`() throws {
    let replica = try KeysTests.site(1, schema: Self.lookup, tables: ["country", "port"])[0]
    let answer = try replica.store.tableSurvey.trackability(of: "port", onCollision: .rekey)
    guard case .refused(let reason, _) = answer else {
      Issue.record("\(answer)")
      return
    }
    #expect(reason.contains("not one whole number"))
  }
}
