import Foundation
import Testing

/// What programs of the server write over edits of other machines that the server had not got. The
/// two meet as edits of two machines do: by the table's rule, and the author is told.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `An edit of the server over one that it had not got` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, w REAL);
    INSERT INTO t SELECT value, 'v', 1.5 FROM json_each('[1,2,3,4]');
    """
  private static let all = "SELECT id, v FROM t ORDER BY id"

  /// A rule, and which node judges by it.
  struct Site: Sendable, CustomStringConvertible {
    var rule: String?
    var anchor: String?
    /// Whether what the server's programs wrote later stands.
    var serverStands: Bool
    /// Whether it does over what was deleted meanwhile.
    var bringsBack: Bool
    var description: String { "\(rule ?? "no anchor"), \(anchor ?? "-") judges" }
  }

  static let sites = [
    Site(serverStands: true, bringsBack: true),
    Site(rule: "newest-wins", anchor: "bystander", serverStands: true, bringsBack: false),
    Site(rule: "client-wins", anchor: "bystander", serverStands: true, bringsBack: false),
    Site(
      rule: "server-wins-on-conflict", anchor: "bystander", serverStands: false, bringsBack: false),
    Site(rule: "server-wins", anchor: "bystander", serverStands: false, bringsBack: false),
    Site(rule: "newest-wins", anchor: "anchor", serverStands: true, bringsBack: true),
    Site(rule: "client-wins", anchor: "anchor", serverStands: true, bringsBack: true),
    Site(rule: "server-wins-on-conflict", anchor: "anchor", serverStands: true, bringsBack: true),
    Site(rule: "server-wins", anchor: "anchor", serverStands: true, bringsBack: true),
  ]

  @Test(arguments: sites)
  func `is judged by the rule of the table, and in the log of who loses`(_ site: Site) async throws
  {
    try await Office.with { office in
      _ = try await threeNodes(office, site)
      try await must(office, "mirror", "shop.db", "pause")
      // The mirroring node gets it, and the server does not.
      try await office.site(
        """
        UPDATE t SET v = 'author' WHERE id IN (1, 2); DELETE FROM t WHERE id = 3;
        INSERT INTO t VALUES (50, 'author', 2.5);
        """, "author.db")
      try await has(office, ["shop.db"], "1\tauthor\n2\tauthor\n4\tv\n50\tauthor")
      try await must(office, "wait", "shop.db", "--timeout", "60s")
      try await Task.sleep(for: .seconds(1))
      try await office.server(
        """
        UPDATE t SET v = 'server' WHERE id IN (1, 3); DELETE FROM t WHERE id = 2;
        INSERT INTO t VALUES (50, 'server', 2)
        """)
      try await must(office, "mirror", "shop.db", "resume")

      let (mine, other) = site.serverStands ? ("server", "author") : ("author", "server")
      var rows = ["1\t\(mine)", "4\tv", "50\t\(mine)"]
      if !site.serverStands { rows.insert("2\tauthor", at: 1) }
      if site.bringsBack { rows.insert("3\tserver", at: rows.count - 2) }
      let wanted = rows.joined(separator: "\n")
      try await has(office, ["shop.db", "author.db", "bystander.db"], wanted)
      try await office.serverComesTo(wanted, Self.all)

      var ofAuthor: [Int: String] = [:]
      var ofMirror: [Int: String] = [:]
      if site.serverStands {
        ofAuthor = [1: other, 2: other, 50: other]
      } else {
        ofMirror = [1: other, 2: "(deleted)", 50: other]
      }
      if site.bringsBack { ofAuthor[3] = "(deleted)" } else { ofMirror[3] = "server" }
      try await lost(office, "author.db", comesTo: ofAuthor)
      let judged = ofAuthor.merging(ofMirror) { first, _ in first }
      try await lost(
        office, "shop.db", comesTo: site.anchor == "anchor" ? judged : ofMirror)
      try await lost(
        office, "bystander.db", comesTo: site.anchor == "bystander" ? judged : [:])
      try await office.isInSync()
      #expect(try await office.server(Self.all) == wanted)
    }
  }

  /// The mirroring node alone tells the anchor of both.
  @Test func `waits for the anchor beside that one, and both are whole`() async throws {
    try await Office.with { office in
      let site = Site(
        rule: "server-wins-on-conflict", anchor: "bystander", serverStands: false,
        bringsBack: false)
      let nodes = try await threeNodes(office, site)
      try await office.end(nodes.bystander)
      try await must(office, "mirror", "shop.db", "pause")
      try await office.site("UPDATE t SET v = 'author', w = 7.25 WHERE id = 1", "author.db")
      try await has(office, ["shop.db"], "1\tauthor\n2\tv\n3\tv\n4\tv")
      try await Task.sleep(for: .seconds(1))
      try await office.server("UPDATE t SET v = 'server' WHERE id = 1")
      try await must(office, "mirror", "shop.db", "resume")
      try await has(office, ["shop.db"], "1\tserver\n2\tv\n3\tv\n4\tv")
      try await office.end(nodes.author)
      _ = try await office.serve("bystander.db", "--peer", "127.0.0.1:\(nodes.port)")
      let wanted = "1\tauthor\n2\tv\n3\tv\n4\tv"
      try await has(office, ["bystander.db", "shop.db"], wanted)
      try await office.serverComesTo(wanted, Self.all)
      #expect(try await office.server("SELECT w FROM t WHERE id = 1") == "7.25")
      _ = try await office.serve("author.db", "--peer", "127.0.0.1:\(nodes.port)")
      try await must(office, "wait", "author.db", "--timeout", "60s")
      try await has(office, ["author.db"], wanted)
      try await lost(office, "author.db", comesTo: [:])
      try await lost(office, "shop.db", comesTo: [1: "server"])
    }
  }

  /// The anchor certifies an edit that the server has for long. Then a program edits the row there.
  @Test func `is none where the anchor's word alone had not come`() async throws {
    try await Office.with { office in
      let site = Site(
        rule: "server-wins-on-conflict", anchor: "bystander", serverStands: false,
        bringsBack: false)
      let nodes = try await threeNodes(office, site)
      try await office.end(nodes.bystander)
      try await office.site("UPDATE t SET v = 'author' WHERE id = 1", "author.db")
      try await office.serverComesTo("1\tauthor\n2\tv\n3\tv\n4\tv", Self.all)
      try await office.isInSync()
      try await must(office, "mirror", "shop.db", "pause")
      _ = try await office.serve("bystander.db", "--peer", "127.0.0.1:\(nodes.port)")
      let certified = """
        SELECT updated_at <> edited_at FROM _flotilla_rows_t WHERE id = 1
        """
      try await office.siteComesTo("1", certified)
      try await office.server("UPDATE t SET v = 'server' WHERE id = 1")
      try await must(office, "mirror", "shop.db", "resume")
      let wanted = "1\tserver\n2\tv\n3\tv\n4\tv"
      try await has(office, ["shop.db", "author.db", "bystander.db"], wanted)
      for database in ["shop.db", "author.db", "bystander.db"] {
        try await must(office, "wait", database, "--timeout", "60s")
      }
      try await office.isInSync()
      #expect(try await office.server(Self.all) == wanted)
      for database in ["shop.db", "author.db", "bystander.db"] {
        try await lost(office, database, comesTo: [:])
      }
    }
  }
}

extension `An edit of the server over one that it had not got` {
  private func must(_ office: Office, _ words: String...) async throws {
    let said = try await office.run(["flotilla"] + words)
    try #require(said.status == 0, "\(words): \(said.text)")
  }

  private func has(_ office: Office, _ databases: [String], _ wanted: String) async throws {
    for database in databases {
      let does = try await eventually { try await office.site(Self.all, database) == wanted }
      let now = try await office.site(Self.all, database)
      try #require(does, "\(database): \(now)")
    }
  }

  /// The one that mirrors, one that writes, and one that looks on; all have the rows.
  private func threeNodes(
    _ office: Office, _ site: Site
  ) async throws -> (port: String, author: Process, bystander: Process) {
    _ = try await office.open(Self.schema, "--create")
    let port = try office.port()
    var nodes: [Process] = []
    for name in ["author", "bystander"] {
      let code = try await office.flotilla("invite", "shop.db")
      let word = try #require(code.text.split(separator: "\n").first.map(String.init))
      try await must(
        office, "join", "\(name).db", word, "--at", "127.0.0.1:\(port)", "--name", name)
      nodes.append(try await office.serve("\(name).db", "--peer", "127.0.0.1:\(port)"))
    }
    if let rule = site.rule, let anchor = site.anchor {
      try await must(office, "rule", "shop.db", "t", rule)
      try await must(office, "anchor", "shop.db", anchor)
      let database = anchor == "anchor" ? "shop.db" : "\(anchor).db"
      let judges = try await eventually {
        try await office.run(["flotilla", "anchor", database, "--json"]).text
          .contains(#""state":"judging""#)
      }
      try #require(judges)
    }
    try await has(
      office, ["shop.db", "author.db", "bystander.db"], "1\tv\n2\tv\n3\tv\n4\tv")
    for database in ["author.db", "bystander.db"] {
      try await must(office, "wait", database, "--timeout", "60s")
    }
    try await office.isInSync()
    return (port, nodes[0], nodes[1])
  }

  /// Waits until the conflict log of a node has these values of rows, and no others.
  private func lost(
    _ office: Office, _ database: String, comesTo wanted: [Int: String]
  ) async throws {
    func read() async throws -> [Int: [String]] {
      let said = try await office.flotilla("conflicts", database, "--json")
      let object = try JSONSerialization.jsonObject(with: Data(said.text.utf8)) as? [String: Any]
      let all = try #require(object?["conflicts"] as? [[String: Any]])
      var lost: [Int: [String]] = [:]
      for one in all {
        let loser = one["loser"] as? [String: Any] ?? [:]
        let value = (loser["row"] as? [String: Any])?["v"] as? String ?? "?"
        let isDeleted = loser["deleted"] as? Bool ?? false
        lost[(one["key"] as? [String: Any])?["id"] as? Int ?? -1, default: []]
          .append(isDeleted ? "(deleted)" : value)
      }
      return lost
    }
    let wanted = wanted.mapValues { [$0] }
    let does = try await eventually { try await read() == wanted }
    let now = try await read()
    #expect(does, "\(database): \(now), not \(wanted)")
  }
}
