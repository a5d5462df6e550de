import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// `schema --compare` and `--adopt` between nodes of this process.
  @Suite struct `An adopted schema` {
    /// Two nodes; the first has migrated.
    private func pair(
      role: Role = .writer,
      _ body: (TestSite, (TestReplica, Node), (TestReplica, Node)) async throws -> Void
    ) async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b", role: role))
        try a.write(
          """
          ALTER TABLE item ADD COLUMN ward TEXT;
          CREATE TABLE visit(id TEXT PRIMARY KEY NOT NULL, at TEXT);
          CREATE INDEX item_ward ON item(ward);
          INSERT INTO item VALUES ('i', 'text', 'B');
          """)
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        #expect(try await eventually { try b.count() == 1 })
        try await body(site, (a, first), (b, second))
      }
    }

    @Test func `is shown first, and then made with what has waited for it`() async throws {
      try await pair { _, a, b in
        let shown = try await b.0.library.schema(
          comparedWith: "a", adopts: false, timeout: .seconds(20))
        let adoption = try #require(shown.adoption)
        #expect(adoption.statements.map(\.name) == ["ward", "visit", "item_ward"])
        #expect(adoption.statements[0].sql == #"ALTER TABLE "item" ADD COLUMN ward TEXT"#)
        #expect(adoption.node == "a" && !adoption.is_made && adoption.differences.isEmpty)
        #expect(try b.0.rows("SELECT 1 FROM pragma_table_info('item') WHERE name = 'ward'") == [])

        let made = try await b.0.library.schema(
          comparedWith: "a", adopts: true, timeout: .seconds(20))
        #expect(made.adoption?.is_made == true)
        #expect(made.adoption?.statements == adoption.statements)
        #expect(try b.0.rows("SELECT ward FROM item") == ["B"])
        #expect(made.tables.flatMap(\.kept).isEmpty)
        let after = try await a.0.library.schema(
          comparedWith: "b", adopts: true, timeout: .seconds(20))
        #expect(after.adoption?.statements == [] && after.adoption?.differences == [])
        #expect(await b.1.questions.isEmpty)
        // The table is the site's as soon as anybody says so.
        _ = try await a.0.library.track(.named(["visit"]), rule: nil)
        #expect(
          try await eventually {
            try await b.1.status(all: true).tables.contains { $0.name == "visit" }
          })
        try b.0.write("INSERT INTO visit VALUES ('v', 'now')")
        #expect(try await eventually { try a.0.count("visit") == 1 })
      }
    }

    @Test func `is missed in the status where all are in sync`() async throws {
      try await pair { _, a, b in
        #expect(try await eventually { try await a.1.isInSync })
        func told(_ replica: TestReplica) async throws -> [String] {
          await replica.library.unreached(try await replica.library.status(all: false))
        }
        let there = try #require(try await told(a.0).first)
        #expect(there.hasPrefix("missing at b: column ward of item; what is written there"))
        #expect(there.hasSuffix("(on b: flotilla schema DB --adopt a)"))
        let here = try #require(try await told(b.0).first)
        #expect(here.hasPrefix("missing here, and there at a: column ward of item; what a writes"))
        #expect(here.hasSuffix(" --adopt a)"))
        let findings = try await a.0.library.doctor(repair: false).findings
        #expect(findings.contains { $0.text.hasPrefix("item has no column ward at b") })
        _ = try await a.0.library.track(.named(["visit"]), rule: nil)
        #expect(
          try await eventually {
            try await told(a.0).first?.hasPrefix(
              "missing at b: table visit; column ward of item; ") == true
          })
        _ = try await b.0.library.schema(comparedWith: "a", adopts: true, timeout: .seconds(20))
        #expect(try await eventually { try await told(a.0) + told(b.0) == [] })
      }
    }

    @Test func `is taken from a member that may write everything alone`() async throws {
      try await pair(role: .reader) { _, a, b in
        try b.0.write("CREATE VIEW w AS SELECT 1")
        do throws(FlotillaError) {
          _ = try await a.0.library.schema(comparedWith: "b", adopts: true, timeout: .seconds(20))
          Issue.record("the schema of a reader was adopted")
        } catch {
          #expect(error.code == .notAllowed)
        }
        #expect(try a.0.rows("SELECT 1 FROM sqlite_schema WHERE name = 'w'") == [])
        // Who may only read can bring its own file along all the same.
        let made = try await b.0.library.schema(
          comparedWith: "a", adopts: true, timeout: .seconds(20))
        #expect(made.adoption?.statements.count == 3)
      }
    }

    @Test func `of a member that is away is not waited for without end`() async throws {
      try await pair { _, a, b in
        await b.1.stop()
        do throws(FlotillaError) {
          _ = try await a.0.library.schema(
            comparedWith: "b", adopts: true, timeout: .milliseconds(100))
          Issue.record("a member that is away has answered")
        } catch {
          #expect(error.code == .timedOut)
          #expect(error.message == "b is not in reach")
        }
      }
    }

    /// The connection ends, as with every message that has no place, and nothing is changed.
    @Test func `is nothing that a member may send by itself`() async throws {
      try await pair { site, a, _ in
        let before = try a.0.rows("SELECT sql FROM sqlite_schema ORDER BY name")
        let link = try await site.talk(to: a.1)
        let object = SchemaObject(kind: .table, name: "x", sql: "CREATE TABLE x(a)")
        try await link.send(.schema(object))
        var last: Message?
        while let message = try? await link.receive() {
          last = message
          if case .bye = message { break }
        }
        guard case .bye(let bye)? = last else {
          Issue.record("\(String(describing: last))")
          return
        }
        #expect(bye.code == .badMessage)
        #expect(try a.0.rows("SELECT sql FROM sqlite_schema ORDER BY name") == before)
      }
    }
  }
}
