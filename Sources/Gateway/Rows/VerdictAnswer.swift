import Flotilla

/// What the anchor has made of a write: `{verdict, rows:[{table, key, local, verdict, reason, rule,
/// conflict, server}], others}`, as `flotilla sql --online --json` has it.
///
/// A cascade or a trigger may have written tables that the client may not read: of their rows only
/// the number is told, and what was said of them counts.
struct VerdictAnswer {
  let edit: Replica.Edit
  let outcome: Replica.EditOutcome
  /// Whether the client may read a table.
  let isShown: (String) -> Bool

  /// The worst of all verdicts.
  var verdict: String {
    let names = outcome.verdicts.map(\.verdict)
    return ["rejected", "pending", "unknown", "superseded"].first(where: names.contains)
      ?? "accepted"
  }

  /// What has become of the write, as a document of its own.
  var report: HTTPResponse {
    HTTPResponse(
      200, headers: [("Content-Type", "application/json"), ("Flotilla-Verdict", verdict)],
      body: Array((JSON.object(members).description + "\n").utf8))
  }

  /// Accepted as if nobody had been asked; pending 202; rejected 409, with the row that stands.
  func response(after response: HTTPResponse) -> HTTPResponse {
    var answer = response
    answer.headers.removeAll { $0.name == "Preference-Applied" }
    answer.headers.append(("Flotilla-Verdict", verdict))
    answer.headers.append(("Preference-Applied", "wait"))
    switch verdict {
    case "rejected":
      var problem = Problem(
        409, "rejected", "the anchor has rejected the write; what stands is in server",
        remedy: "What lost is kept under the number in conflict: read …/conflicts/NUMBER, and to "
          + "write it again POST …/conflicts/NUMBER/restore.")
      problem.more = members
      answer.status = 409
      answer.headers =
        problem.response.headers
        + answer.headers.filter {
          $0.name.hasPrefix("Flotilla")
            || ["Idempotency-Replayed", "Preference-Applied"].contains($0.name)
        }
      answer.body = problem.response.body
    case "accepted", "superseded": break
    default:
      var members = members
      if let receipt = answer.headers.first(where: { $0.name == RowCall.receiptHeader }) {
        members["receipt"] = .text(receipt.value)
      }
      answer.status = 202
      answer.headers.removeAll { ["Content-Type", "ETag"].contains($0.name) }
      answer.headers.append(("Content-Type", "application/json"))
      answer.body = Array((JSON.object(members).description + "\n").utf8)
    }
    return answer
  }

  private var members: [String: JSON] {
    let rows = edit.rows.filter { !$0.isKeyless }
    let all = zip(rows, zip(outcome.verdicts, outcome.standing))
    let parts = all.filter { isShown($0.0.table) }.map { local, after in
      JSON.object([
        "table": .text(local.table), "key": .object(local.key.mapValues { JSON($0) }),
        "local": Self.values(local), "verdict": .text(after.0.verdict),
        "reason": after.0.reason.map { .text($0) } ?? .null,
        "rule": after.0.rule.map { .text($0) } ?? .null,
        "conflict": after.0.conflict.map { .number(String($0)) } ?? .null,
        "server": after.0.verdict == "pending" ? .null : Self.values(after.1),
      ])
    }
    return [
      "verdict": .text(verdict), "rows": .array(parts),
      "others": .number(String(rows.count - parts.count)),
    ]
  }

  private static func values(_ row: TouchedRow) -> JSON {
    guard let values = row.values else { return .null }
    return .object(
      Dictionary(zip(row.columns, values.map { JSON($0) })) { first, _ in first })
  }
}
