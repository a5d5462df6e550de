import Foundation
import Testing

extension MergeSite {
  /// What `sql --online --json` says.
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

  /// Plays all cases of a rule in the order of their times, and compares what comes of them.
  ///
  /// If a server is mirrored at one of the nodes, that side's edits are made there.
  static func play(
    _ rule: String, isTold: Bool, at desk: Desk, with server: (any MergeServer)? = nil
  ) async throws {
    let cases = try MergeCase.all().filter { $0.rules.contains(rule) }
    #expect(cases.count > 7)
    var site = try MergeSite(desk: desk, rule: rule, cases: cases, server: server)
    try await site.start()
    for merge in cases { try await site.write("anchor.db", merge.seen, of: merge) }
    try await site.connect()
    for merge in cases where merge.isOnline {
      guard isTold else {
        try await site.writeAtClient(merge)
        continue
      }
      let answer = try await site.flotilla(
        "sql", "client.db", merge.statement, "--online", "--json")
      try site.check(merge, told: answer)
    }
    if !isTold { try await site.settle() }
    try await site.workApart()
    var answers: [(MergeCase, Task<Outcome, any Error>)] = []
    for merge in cases {
      let (early, late) = merge.unseenAroundEdit
      try await site.write("anchor.db", early, of: merge)
      switch (merge.isOnline, isTold) {
      case (true, _): break
      case (false, true): answers.append((merge, try await site.edit(merge)))
      case (false, false): try await site.writeAtClient(merge)
      }
      try await site.write("anchor.db", late, of: merge)
    }
    try await site.meet()
    for (merge, answer) in answers { try site.check(merge, told: try await answer.value) }
    try await site.checkEnd()
  }

  private func checkEnd() async throws {
    let logs = (try await conflicts("anchor.db"), try await conflicts("client.db"))
    for merge in cases {
      let final = MergeCase.printed(merge.final)
      for database in ["anchor.db", "client.db"] {
        let row = try await row(database, of: merge)
        #expect(row == final, "case \(merge.id), \(rule): \(database)")
      }
      if let server {
        var row = ""
        let isThere = try await eventually(within: .seconds(60)) {
          row = try await server.row(of: merge)
          return row == final
        }
        #expect(isThere, "case \(merge.id), \(rule): the server has \(row)")
      }
      check(merge, atAnchor: logs.0, atClient: logs.1)
    }
  }

  /// What a program writes stands in the node's own file at once; until the anchor has spoken,
  /// which it does soon where it is in touch.
  private func writeAtClient(_ merge: MergeCase) async throws {
    try await write("client.db", [("", merge.statement)], of: merge)
    if merge.isOnline { return }
    let row = try await row("client.db", of: merge)
    #expect(row == MergeCase.printed(merge.local), "case \(merge.id), \(rule): local")
  }

  /// The local response, the verdict and the server response come in one answer.
  private func check(_ merge: MergeCase, told outcome: Outcome) throws {
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
    _ merge: MergeCase, atAnchor: [ToldConflict], atClient: [ToldConflict]
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
