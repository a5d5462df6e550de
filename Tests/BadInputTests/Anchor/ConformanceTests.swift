import Foundation
import Testing

extension BadInputTests {
  /// Every case of the conformance table under each of its rules: two nodes, edits by `sqlite3` in
  /// the order that the table gives, and what the program says of them. The clocks with which they
  /// are made are wrong on purpose: at the anchor a year ahead, at the node a year behind.
  @Suite(.enabled(if: FalseClock.library != nil, "libfaketime is not here"))
  struct ConformanceTests {
    private struct Report: Decodable {
      struct Conflict: Decodable {
        struct Side: Decodable {
          var deleted: Bool
          var row: [String: MergeCase.Field]?
        }
        var table: String
        var rule: String
        var reason: String
        var winner: Side?
        var loser: Side?
      }
      var conflicts: [Conflict]
    }

    private struct Status: Decodable {
      var in_sync: Bool
      var unjudged: Int
    }

    private struct Online: Decodable {
      struct Row: Decodable {
        var local: [String: MergeCase.Field]?
        var server: [String: MergeCase.Field]?
        var verdict: String
        var reason: String?
        var rule: String?
      }
      var verdict: String
      var rows: [Row]
    }

    static let rules = ["newest-wins", "server-wins", "server-wins-on-conflict", "client-wins"]

    /// A site under way: the anchor's database, and the node's.
    private struct Site {
      let desk: Desk
      let rule: String
      let cases: [MergeCase]
      var address = ""

      private func write(_ database: String, _ statement: String) async throws {
        let words = (database == "anchor.db" ? FalseClock.yearAhead : .yearBehind).words
        let outcome = try await desk.run(
          words + ["sqlite3", "-cmd", ".timeout 10000", "./" + database, statement])
        guard outcome.status == 0 else {
          throw ProgramFailure(words: [statement], outcome: outcome)
        }
      }

      /// One edit after the other: what is written before the first is found counts as one.
      func write(_ database: String, _ steps: [(time: String, statement: String)]) async throws {
        for step in steps {
          try await write(database, step.statement)
          let look = "SELECT count(*) FROM _flotilla_journal"
          let isFolded = try await eventually(within: .seconds(20), every: .milliseconds(20)) {
            try await desk.sql(database, look) == "0"
          }
          #expect(isFolded, "\(step.statement) was not noticed")
        }
      }

      func row(_ database: String, of merge: MergeCase) async throws -> String {
        try await desk.sql(database, "SELECT id, title, a, b FROM \(merge.table)")
      }

      func settle() async throws {
        for database in ["client.db", "anchor.db"] {
          var said = ""
          let isSettled = try await eventually(within: .seconds(60)) {
            said = try await desk.flotilla("status", database, "--json").output
            let status = try? JSONDecoder().decode(Status.self, from: Data(said.utf8))
            return status.map { $0.in_sync && $0.unjudged == 0 } ?? false
          }
          #expect(isSettled, "\(rule): \(database) waits for something: \(said)")
        }
      }

      func conflicts(_ database: String) async throws -> [Report.Conflict] {
        let output = try await desk.succeed("conflicts", database, "--json")
        return try JSONDecoder().decode(Report.self, from: Data(output.utf8)).conflicts
      }

      mutating func start() async throws {
        let columns = "(id INTEGER PRIMARY KEY NOT NULL, title TEXT, a INTEGER, b INTEGER)"
        let tables = cases.map { "CREATE TABLE \($0.table)\(columns)" }
        try await desk.sql("anchor.db", tables.joined(separator: ";"))
        try await desk.succeed("init", "anchor.db", "--all", "--name", "anchor")
        let node = try await desk.start(
          "anchor.db", "--listen", "127.0.0.1:0")
        address = node.address
        try await desk.succeed("anchor", "anchor.db", "--here", "--rule", rule)
        let acting = try await desk.succeed("rule", "anchor.db", "--json")
        #expect(acting.components(separatedBy: "\"acting_rule\"").count == cases.count + 1)
        let code = try await desk.succeed("invite", "anchor.db")
        try await desk.succeed("join", "client.db", code, "--at", address, "--name", "client")
      }

      /// Both nodes run, at addresses that the other does not know.
      mutating func workApart() async throws {
        for database in ["client.db", "anchor.db"] { try await desk.succeed("stop", database) }
        address = try await desk.start("anchor.db", "--listen", "127.0.0.1:0").address
        _ = try await desk.start("client.db", "--listen", "127.0.0.1:0")
      }

      func connect() async throws {
        _ = try await desk.start(
          "client.db", "--listen", "127.0.0.1:0", "--peer", address)
        try await settle()
      }
    }

    @Test(arguments: rules)
    func `the node is told what the table says, and both sides end with the row that stands`(
      rule: String
    ) async throws {
      let cases = try MergeCase.all().filter { $0.rules.contains(rule) }
      #expect(cases.count > 7)
      try await Desk.with { desk in
        var site = Site(desk: desk, rule: rule, cases: cases)
        try await site.start()
        for merge in cases { try await site.write("anchor.db", merge.seen) }
        try await site.connect()
        for merge in cases where merge.isOnline { try await editOnline(merge, site) }
        try await site.workApart()
        for merge in cases {
          var edits = merge.unseen.map { (database: "anchor.db", step: $0) }
          if !merge.isOnline {
            edits.append(("client.db", (time: merge.client.at, statement: merge.statement)))
          }
          for (database, step) in edits.sorted(by: { $0.step.time < $1.step.time }) {
            try await site.write(database, [step])
          }
          guard !merge.isOnline else { continue }
          let local = try await site.row("client.db", of: merge)
          #expect(local == MergeCase.printed(merge.local), "case \(merge.id), \(rule): local")
        }
        try await desk.succeed("stop", "client.db")
        try await site.connect()
        let logs = (try await site.conflicts("anchor.db"), try await site.conflicts("client.db"))
        for merge in cases {
          for database in ["anchor.db", "client.db"] {
            let row = try await site.row(database, of: merge)
            #expect(
              row == MergeCase.printed(merge.final), "case \(merge.id), \(rule): \(database)")
          }
          check(merge, rule, atAnchor: logs.0, atClient: logs.1)
        }
      }
    }

    /// The local response, the verdict and the server response come in one answer.
    private func editOnline(_ merge: MergeCase, _ site: Site) async throws {
      let outcome = try await site.desk.flotilla(
        "sql", "client.db", merge.statement, "--online", "--json")
      #expect(outcome.status == 0, "case \(merge.id), \(site.rule): \(outcome)")
      let online = try JSONDecoder().decode(Online.self, from: Data(outcome.output.utf8))
      #expect(online.verdict == merge.verdict)
      #expect(online.rows.count == 1)
      let row = try #require(online.rows.first)
      #expect(row.verdict == merge.verdict && row.reason == nil && row.rule == site.rule)
      for (side, expected) in [(row.local, merge.local), (row.server, merge.final)] {
        let values = ["id", "title", "a", "b"].compactMap { side?[$0] }
        #expect(values == expected, "case \(merge.id)")
      }
    }

    private func check(
      _ merge: MergeCase, _ rule: String, atAnchor: [Report.Conflict], atClient: [Report.Conflict]
    ) {
      let what = "case \(merge.id), \(rule)"
      let mine = atClient.filter { $0.table == merge.table }
      let yours = atAnchor.filter { $0.table == merge.table }
      if merge.verdict == "rejected" {
        for log in [mine, yours] {
          #expect(log.count == 1, "\(what): \(log)")
          guard let conflict = log.first else { continue }
          #expect(conflict.reason == merge.reason(under: rule), "\(what)")
          #expect(conflict.rule == rule, "\(what)")
          #expect(printed(conflict.loser) == MergeCase.printed(merge.local), "\(what): loser")
          #expect(printed(conflict.winner) == MergeCase.printed(merge.final), "\(what): winner")
        }
      } else {
        #expect(mine.isEmpty, "\(what): \(mine)")
        #expect(yours.count == (merge.overrules ? 1 : 0), "\(what): \(yours)")
        if let conflict = yours.first {
          #expect(printed(conflict.loser) == MergeCase.printed(merge.server?.row), "\(what)")
        }
      }
      if let count = merge.conflicts { #expect(mine.count + yours.count == count, "\(what)") }
    }

    private func printed(_ side: Report.Conflict.Side?) -> String? {
      guard let side else { return nil }
      if side.deleted { return "" }
      return ["id", "title", "a", "b"].map { side.row?[$0]?.printed ?? "?" }.joined(separator: "|")
    }
  }
}
