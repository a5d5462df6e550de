import Testing

@testable import BadInputTests

/// A MariaDB that one node of a site mirrors: its programs make the edits of that side.
private struct OfficeServer: MergeServer {
  let office: Office
  let database: String

  var words: [String] {
    ["add", office.url, "--password-file", office.path("password"), "--create", "--yes"]
  }

  func write(_ statement: String) async throws { try await office.server(statement) }

  func row(of merge: MergeCase) async throws -> String {
    try await office.trial(
      "SELECT concat_ws('|', id, title, a, b) FROM \(merge.table)", in: "shop"
    ).text
  }
}

/// The conformance table of merge rules with a server in it: each case under each of its rules.
///
/// Every case can be made at either side, so none is left out. Case 2 is not in the table: it is of
/// an interface. Clocks of the nodes are a year wrong, and that of the server is right.
@Suite(
  .enabled(if: Office.isPossible, Office.why),
  .enabled(if: FalseClock.library != nil, "libfaketime is not here"), .timeLimit(.minutes(10)))
struct `The merge rules and a server` {
  /// The anchor mirrors, and what the table calls the server is one. This is so under rules, too,
  /// in which the anchor is a side like the other. The node is told what comes of its edits.
  @Test(arguments: MergeCase.rules)
  func `programs of MariaDB edit for the anchor`(rule: String) async throws {
    try await play(rule, isTold: true, mirroring: "anchor.db")
  }

  /// The node that is judged mirrors: what was refused is put right in MariaDB.
  @Test(arguments: MergeCase.rules)
  func `programs of MariaDB edit for the node`(rule: String) async throws {
    try await play(rule, isTold: false, mirroring: "client.db")
  }

  private func play(_ rule: String, isTold: Bool, mirroring database: String) async throws {
    try await Office.with { office in
      try await Desk.with { desk in
        try await MergeSite.play(
          rule, isTold: isTold, at: desk, with: OfficeServer(office: office, database: database))
      }
    }
  }
}
