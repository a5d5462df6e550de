import Foundation
import Testing

extension BadInputTests {
  /// Two anchors of one site, of which neither knows of the other until they meet.
  @Suite struct RivalTests {
    private struct Status: Decodable {
      var anchor: String?
      var in_sync: Bool
      var unjudged: Int
    }

    private struct Office: Decodable {
      var anchor: String?
      var term: Int
      var state: String
    }

    private static let all = ["a.db", "b.db", "c.db"]

    /// Two admins and a writer, with four rows, of which none runs.
    private func found(_ desk: Desk) async throws {
      try await desk.make("a.db", rows: 4)
      try await desk.succeed("init", "a.db", "--all", "--name", "first")
      let first = try await desk.start("a.db", "--listen", "127.0.0.1:0")
      for (name, database, role) in [("second", "b.db", "admin"), ("third", "c.db", "writer")] {
        let code = try await desk.succeed("invite", "a.db", "--role", role)
        try await desk.succeed("join", database, code, "--at", first.address, "--name", name)
      }
    }

    /// One node by itself, the other two together, at addresses that others do not know; gives
    /// that of `b.db`.
    private func separate(_ desk: Desk) async throws -> String {
      for name in Self.all { _ = try await desk.flotilla("stop", name) }
      _ = try await desk.start("a.db", "--listen", "127.0.0.1:0")
      let second = try await desk.start("b.db", "--listen", "127.0.0.1:0")
      _ = try await desk.start("c.db", "--listen", "127.0.0.1:0", "--peer", second.address)
      return second.address
    }

    private func office(_ desk: Desk, _ name: String) async throws -> Office {
      let output = try await desk.succeed("anchor", name, "--json")
      return try JSONDecoder().decode(Office.self, from: Data(output.utf8))
    }

    /// Waits until `c.db` is in touch with the anchor.
    private func awaitAnchor(_ desk: Desk) async throws {
      let isKnown = try await eventually(within: .seconds(20)) {
        try await office(desk, "c.db").state == "connected"
      }
      #expect(isKnown)
    }

    private func edit(_ desk: Desk, _ name: String, _ key: String, _ text: String) async throws {
      let edit = "UPDATE t SET v = '\(text)' WHERE id = '\(key)'"
      let outcome = try await desk.flotilla("sql", name, edit, "--online")
      #expect(outcome.status == 0, "\(name): \(outcome)")
    }

    /// `a.db` finds the others; gives the rows that all three hold in the end.
    private func meet(_ desk: Desk, at address: String) async throws -> [String] {
      try await desk.succeed("stop", "a.db")
      _ = try await desk.start("a.db", "--listen", "127.0.0.1:0", "--peer", address)
      var rows: Set<String> = []
      for name in Self.all {
        var said = ""
        let settled = try await eventually(within: .seconds(60)) {
          said = try await desk.flotilla("status", name, "--all", "--json").output
          let status = try? JSONDecoder().decode(Status.self, from: Data(said.utf8))
          return status.map { $0.in_sync && $0.unjudged == 0 } ?? false
        }
        #expect(settled, "\(name): \(said)")
        rows.insert(try await desk.sql(name, "SELECT id || '=' || v FROM t ORDER BY id"))
      }
      #expect(rows.count == 1, "\(rows)")
      return rows.first?.split(separator: "\n").map(String.init) ?? []
    }

    private func log(_ desk: Desk, _ name: String) throws -> String {
      try String(contentsOfFile: desk.path(name) + "-flotilla/node.log", encoding: .utf8)
    }

    @Test func `an office that is taken by force while its holder is cut off is given up`()
      async throws
    {
      try await Desk.with { desk in
        try await found(desk)
        try await desk.succeed("anchor", "a.db", "--here", "--rule", "server-wins-on-conflict")
        for name in ["b.db", "c.db"] { try await desk.succeed("sync", name, "first") }
        let address = try await separate(desk)
        try await edit(desk, "a.db", "k1", "of the first")
        try await edit(desk, "a.db", "k2", "of the first alone")
        try await desk.sql("c.db", "UPDATE t SET v = 'of the third' WHERE id = 'k1'")

        let polite = try await desk.flotilla("anchor", "b.db", "--here")
        #expect(polite.status == 1 && polite.error.contains("--force"), "\(polite)")
        try await desk.succeed("anchor", "b.db", "--here", "--force")
        try await awaitAnchor(desk)
        try await edit(desk, "c.db", "k3", "of the third online")
        #expect(try await office(desk, "a.db").state == "judging")
        #expect(try await office(desk, "b.db").state == "judging")

        let rows = try await meet(desk, at: address)
        #expect(
          rows.prefix(3)
            == ["k1=of the third", "k2=of the first alone", "k3=of the third online"])
        for name in Self.all {
          let office = try await office(desk, name)
          #expect(office.anchor == "second" && office.term == 2, "\(name)")
        }
        let status = try await desk.flotilla("status", "a.db", "--json").output
        #expect(status.contains(#""anchor":"second""#), "\(status)")
        #expect(try log(desk, "a.db").contains("the anchor of the site is second"))
        for name in ["a.db", "b.db"] {
          let lost = try await desk.succeed("conflicts", name, "--json")
          #expect(lost.contains(#""reason":"unseen""#) && lost.contains("of the first"), "\(lost)")
        }
        #expect(try await desk.succeed("conflicts", "c.db") == "no conflicts")
        // Who was the anchor has its edits judged now.
        try await edit(desk, "a.db", "k4", "judged elsewhere")
      }
    }

    @Test func `of two that were appointed apart one gives way, and nothing is lost`()
      async throws
    {
      try await Desk.with { desk in
        try await found(desk)
        for name in ["b.db", "c.db"] { try await desk.succeed("sync", name, "first") }
        let address = try await separate(desk)
        for name in ["a.db", "b.db"] {
          try await desk.succeed("anchor", name, "--here", "--rule", "server-wins-on-conflict")
          #expect(try await office(desk, name).term == 1)
        }
        try await awaitAnchor(desk)
        try await edit(desk, "a.db", "k1", "of the first")
        try await edit(desk, "a.db", "k2", "of the first alone")
        try await edit(desk, "b.db", "k1", "of the second")
        try await edit(desk, "c.db", "k3", "of the third")

        let rows = try await meet(desk, at: address)
        #expect(rows[1] == "k2=of the first alone" && rows[2] == "k3=of the third")
        let names = ["a.db": "first", "b.db": "second"]
        let anchor = try await office(desk, "c.db").anchor
        for (name, node) in names {
          let office = try await office(desk, name)
          #expect(office.anchor == anchor && office.term == 1, "\(name)")
          #expect(office.state == (node == anchor ? "judging" : "connected"), "\(name)")
          guard node != anchor else { continue }
          #expect(try log(desk, name).contains("the anchor of the site is \(anchor ?? "?")"))
        }
        let words = ["of the first", "of the second"]
        let lost = try #require(words.first { rows[0] != "k1=\($0)" })
        #expect(words.contains { rows[0] == "k1=\($0)" })
        for name in ["a.db", "b.db"] {
          let log = try await desk.succeed("conflicts", name, "--json")
          #expect(log.contains(lost), "\(name): \(log)")
        }
        let verdicts = try await desk.sql("c.db", "SELECT verdict FROM _flotilla_verdict")
        #expect(verdicts == "accepted")
        try await edit(desk, "c.db", "k4", "judged by one")
      }
    }
  }
}
