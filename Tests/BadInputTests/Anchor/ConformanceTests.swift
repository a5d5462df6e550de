import Foundation
import Testing

extension BadInputTests {
  /// Every case of the conformance table under each of its rules: two nodes, edits by `sqlite3` in
  /// the order that the table gives, and what the program says of them. The clocks of both machines
  /// are wrong on purpose, for whatever runs there: at the anchor a year ahead, at the node a year
  /// behind.
  @Suite(.enabled(if: FalseClock.library != nil, "libfaketime is not here"))
  struct ConformanceTests {
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
      private let clocks: [String: SetClock]
      private var addresses: [String: String] = [:]
      /// Every address that a node has had.
      private var used: Set<String> = []

      init(desk: Desk, rule: String, cases: [MergeCase]) throws {
        (self.desk, self.rule, self.cases) = (desk, rule, cases)
        clocks = try [
          "anchor.db": SetClock(desk.path("ahead"), ahead: Int64(FalseClock.yearAhead.seconds)),
          "client.db": SetClock(desk.path("behind"), ahead: Int64(FalseClock.yearBehind.seconds)),
        ]
      }

      private func write(_ database: String, _ statement: String) async throws {
        let words = (database == "anchor.db" ? FalseClock.yearAhead : .yearBehind).words
        let outcome = try await desk.run(
          words + ["sqlite3", "-cmd", ".timeout 10000", "./" + database, statement])
        guard outcome.status == 0 else {
          throw ProgramFailure(words: [statement], outcome: outcome)
        }
      }

      /// Runs the program on a database, on the machine that it is on.
      func flotilla(_ command: String, _ database: String, _ words: String...) async throws
        -> Outcome
      {
        try await desk.run(
          (clocks[database]?.words ?? []) + ["flotilla", command, database] + words, within: 120)
      }

      @discardableResult
      func succeed(_ command: String, _ database: String, _ words: String...) async throws -> String
      {
        let outcome = try await desk.run(
          (clocks[database]?.words ?? []) + ["flotilla", command, database] + words)
        guard outcome.status == 0 else {
          throw ProgramFailure(words: [command, database] + words, outcome: outcome)
        }
        return outcome.output
      }

      private mutating func run(_ database: String, to other: String? = nil) async throws {
        let clock = clocks[database]
        let node =
          if let peer = other.flatMap({ addresses[$0] }) {
            try await desk.start(
              database, "--listen", "127.0.0.1:0", "--peer", peer, clock: clock)
          } else {
            try await desk.start(database, "--listen", "127.0.0.1:0", clock: clock)
          }
        // At a port that comes again the nodes would find each other.
        guard used.insert(node.address).inserted else {
          try await succeed("stop", database)
          return try await run(database, to: other)
        }
        addresses[database] = node.address
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
            said = try await flotilla("status", database, "--json").output
            return ToldStatus.isSettled(said)
          }
          #expect(isSettled, "\(rule): \(database) waits for something: \(said)")
        }
      }

      func conflicts(_ database: String) async throws -> [ToldConflict] {
        try await ToldConflict.all(succeed("conflicts", database, "--json"))
      }

      mutating func start() async throws {
        let columns = "(id INTEGER PRIMARY KEY NOT NULL, title TEXT, a INTEGER, b INTEGER)"
        let tables = cases.map { "CREATE TABLE \($0.table)\(columns)" }
        try await desk.sql("anchor.db", tables.joined(separator: ";"))
        try await succeed("init", "anchor.db", "--all", "--name", "anchor")
        try await run("anchor.db")
        try await succeed("anchor", "anchor.db", "--here", "--rule", rule)
        let acting = try await succeed("rule", "anchor.db", "--json")
        #expect(acting.components(separatedBy: "\"acting_rule\"").count == cases.count + 1)
        let code = try await succeed("invite", "anchor.db")
        let address = addresses["anchor.db"] ?? ""
        try await succeed("join", "client.db", code, "--at", address, "--name", "client")
      }

      mutating func connect() async throws {
        try await run("client.db", to: "anchor.db")
        try await settle()
      }

      /// Both nodes run, at addresses that the other does not know.
      mutating func workApart() async throws {
        for database in ["client.db", "anchor.db"] { try await succeed("stop", database) }
        for database in ["client.db", "anchor.db"] { try await run(database) }
      }

      /// The anchor comes to the node, where programs wait for its verdicts.
      mutating func meet() async throws {
        try await succeed("stop", "anchor.db")
        try await run("anchor.db", to: "client.db")
        try await settle()
      }

      /// Makes the edit of a case out of touch; gives what its program says in the end.
      func edit(_ merge: MergeCase) async throws -> Task<Outcome, any Error> {
        let before = try await row("client.db", of: merge)
        let answer = Task {
          try await flotilla(
            "sql", "client.db", merge.statement, "--online", "--timeout", "100s", "--json")
        }
        let isWritten = try await eventually(within: .seconds(20), every: .milliseconds(20)) {
          let look = "SELECT count(*) FROM _flotilla_journal"
          guard try await row("client.db", of: merge) != before else { return false }
          return try await desk.sql("client.db", look) == "0"
        }
        #expect(isWritten, "case \(merge.id), \(rule): was not written")
        return answer
      }
    }

    /// The edits of the node are made by `flotilla sql --online`, which is told the verdict, or by
    /// `sqlite3`, which knows nothing of Flotilla.
    @Test(arguments: rules, [true, false])
    func `the node is told what the table says, and both sides end with the row that stands`(
      rule: String, isTold: Bool
    ) async throws {
      let cases = try MergeCase.all().filter { $0.rules.contains(rule) }
      #expect(cases.count > 7)
      try await Desk.with { desk in
        var site = try Site(desk: desk, rule: rule, cases: cases)
        try await site.start()
        for merge in cases { try await site.write("anchor.db", merge.seen) }
        try await site.connect()
        for merge in cases where merge.isOnline {
          guard isTold else {
            try await check(merge, rule, writtenIn: site)
            continue
          }
          let answer = try await site.flotilla(
            "sql", "client.db", merge.statement, "--online", "--json")
          try check(merge, rule, told: answer)
        }
        if !isTold { try await site.settle() }
        try await site.workApart()
        var answers: [(MergeCase, Task<Outcome, any Error>)] = []
        for merge in cases {
          let (early, late) = merge.unseenAroundEdit
          try await site.write("anchor.db", early)
          switch (merge.isOnline, isTold) {
          case (true, _): break
          case (false, true): answers.append((merge, try await site.edit(merge)))
          case (false, false): try await check(merge, rule, writtenIn: site)
          }
          try await site.write("anchor.db", late)
        }
        try await site.meet()
        for (merge, answer) in answers { try check(merge, rule, told: try await answer.value) }
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

    /// What `sqlite3` writes stands in the node's own file at once; until the anchor has spoken,
    /// which it does soon where it is in touch.
    private func check(_ merge: MergeCase, _ rule: String, writtenIn site: Site) async throws {
      try await site.write("client.db", [("", merge.statement)])
      if merge.isOnline { return }
      let row = try await site.row("client.db", of: merge)
      #expect(row == MergeCase.printed(merge.local), "case \(merge.id), \(rule): local")
    }

    /// The local response, the verdict and the server response come in one answer.
    private func check(_ merge: MergeCase, _ rule: String, told outcome: Outcome) throws {
      let what = "case \(merge.id), \(rule)"
      #expect(outcome.status == (merge.verdict == "rejected" ? 4 : 0), "\(what): \(outcome)")
      let online = try JSONDecoder().decode(Online.self, from: Data(outcome.output.utf8))
      #expect(online.verdict == merge.verdict, "\(what)")
      #expect(online.rows.count == 1, "\(what)")
      let row = try #require(online.rows.first)
      #expect(row.verdict == merge.verdict && row.rule == rule, "\(what): \(row)")
      #expect(row.reason == merge.reason(under: rule), "\(what)")
      for (side, expected) in [(row.local, merge.local), (row.server, merge.final)] {
        let values = ["id", "title", "a", "b"].compactMap { side?[$0] }
        #expect(values == expected ?? [], "\(what)")
      }
    }

    private func check(
      _ merge: MergeCase, _ rule: String, atAnchor: [ToldConflict], atClient: [ToldConflict]
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

    private func printed(_ side: ToldConflict.Side?) -> String? {
      guard let side else { return nil }
      if side.deleted { return "" }
      return ["id", "title", "a", "b"].map { side.row?[$0]?.printed ?? "?" }.joined(separator: "|")
    }
  }
}
