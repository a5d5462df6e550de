import Flotilla
import Foundation
import Testing

@testable import FlotillaCommand

/// The keys of `--json`, through the built program, with two nodes at work.
@Suite struct ContractTests {
  /// Every object of a report by its place, with all its keys: those of the contract, then those
  /// that were added to it.
  static let keys: [String: Set<String>] = [
    "init": ["site", "node", "tables", "rows", "warnings", "takes_new_tables"],
    "track": ["tables", "rows", "warnings", "takes_new_tables", "keys"],
    "track.keys": ["table", "on_collision", "next"],
    "rule": ["rules", "remark"],
    "rule.rules": ["table", "rule", "acting_rule"],
    "invite": ["code", "expires", "role", "served", "port", "addresses"],
    "join": [
      "site", "node", "role", "from", "address", "words", "rows", "bytes", "seconds", "replaced",
      "warnings",
    ],
    "status": [
      "site", "node", "role", "anchor", "tables", "peers", "conflicts", "parked", "unjudged",
      "in_sync", "forgotten_members", "first_copy", "running", "port", "edits", "trouble", "clock",
      "remarks",
      "anchor_state", "takes_new_tables", "new_tables", "asked_tables", "not_in_sync", "standing",
      "program", "protocol", "stopped",
    ],
    "clock": ["clock", "peers", "repaired"],
    "clock.peers": ["node", "clock_offset_ms", "corrected"],
    "grant": ["node", "table", "right", "is_leaf"],
    "revoke": [
      "node", "id", "told", "also", "stay_out", "stay_limited", "was_anchor", "undo",
    ],
    "forget": ["node", "id", "last_seen"],
    "members": ["site", "node", "members"],
    "members.members": [
      "node", "id", "role", "state", "since", "last_seen", "admitted_by", "words", "rights",
      "is_this_node", "is_anchor", "program",
    ],
    "status.tables": ["name", "rule", "acting_rule", "rows"],
    "status.peers": Self.peer,
    "peers": ["peers"],
    "peers.peers": Self.peer,
    "sync": ["peers"],
    "sync.peers": ["node", "sent_rows", "received_rows", "seconds", "error"],
    "verify": [
      "identical", "node", "rows", "digest", "parked", "local", "local_findings", "repaired",
      "peers", "waiting", "uncaptured",
    ],
    "verify.local": ["table", "key", "key_columns", "finding"],
    "verify.peers": [
      "node", "state", "identical", "rows", "digest", "differing", "differing_rows", "on_the_way",
      "forgotten", "uncaptured", "repaired", "error",
    ],
    "verify.peers.differing": ["table", "key", "key_columns", "why", "here", "there"],
    "schema": ["tables", "remark", "adoption"],
    "schema.tables": ["table", "first", "columns", "kept"],
    "schema.tables.columns": ["name", "first"],
    "schema.tables.kept": ["columns", "fate", "rows"],
    "schema.adoption": ["node", "is_made", "missing", "statements", "differences"],
    "schema.adoption.statements": ["kind", "name", "table", "sql"],
    "schema.adoption.differences": ["kind", "name", "table", "what", "remedy"],
    "wait": ["reached", "missing", "remark"],
    "sql": ["columns", "rows", "changes", "touched"],
    "sql.touched": ["table", "key", "row"],
    "sql.rows": ["id", "amount", "data", "void"],
    "doctor": ["findings", "size"],
    "doctor.findings": ["check", "level", "text", "remedy"],
    "leave": [
      "site", "node", "unsent_rows", "open_conflicts", "left", "told", "untold", "may_be_copy",
      "broken",
      "loss", "parked_rows", "shut_out",
    ],
  ]

  private static let peer: Set<String> = [
    "node", "id", "state", "behind_rows", "behind_seconds", "seconds_left", "last_seen",
    "clock_offset_ms", "clock_corrected", "address", "error", "remedy", "program", "protocol",
  ]

  @Test func `every report has the keys of the contract and no others`() async throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(component: "flotilla-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let program = ReportingProgram(folder: folder)

    _ = try await program.report("init", ["a.db", "--site", "S", "--name", "a"])
    _ = try await Replica(path: "\(folder.path)/a.db").sql(
      "CREATE TABLE T(id INTEGER PRIMARY KEY, amount, data, void)")
    _ = try await program.report("track", ["a.db", "t", "--rule", "server-wins"])
    let first = RunningNode(folder.appending(component: "a.db"))
    let port = try #require(await first.port)
    _ = try await program.report("rule", ["a.db"])
    let invitation = try await program.report("invite", ["a.db"])
    let code = try #require(invitation["code"] as? String)
    let join = try await program.report(
      "join", ["b.db", code, "--name", "b", "--at", "127.0.0.1:\(port)"])
    #expect((join["words"] as? String)?.split(separator: " ").count == 4)
    let second = RunningNode(folder.appending(component: "b.db"))
    _ = try #require(await second.port)

    let wait = try await program.report("wait", ["a.db", "--for", "b"])
    #expect(wait["reached"] as? [String] == ["b"])
    let sync = try await program.report("sync", ["a.db"])
    let peer = try #require((sync["peers"] as? [[String: Any]])?.first)
    #expect(peer["error"] is NSNull)
    _ = try await program.report("verify", ["a.db"])
    let status = try await program.report("status", ["a.db"], allowing: [0, 3])
    #expect(status["anchor"] is NSNull)
    #expect(status["role"] as? String == "admin")
    _ = try await program.report("peers", ["a.db"])
    _ = try await program.report("clock", ["a.db"])
    let sql = try await program.report(
      "sql",
      [
        "a.db",
        """
        INSERT INTO t VALUES (9007199254740993, 0.5, x'00ff', NULL)
        RETURNING id, amount, data, void
        """,
      ])
    let row = try #require((sql["rows"] as? [[String: Any]])?.first)
    #expect(row["id"] as? String == "9007199254740993")
    #expect(row["amount"] as? Double == 0.5)
    #expect(row["data"] as? [String: String] == ["base64": "AP8="])
    #expect(row["void"] is NSNull)
    try pastTriggers("INSERT INTO t(id) VALUES (3)", in: folder.appending(component: "a.db").path)
    let verify = try await program.report("verify", ["a.db"], allowing: [1])
    let verified = try #require(verify["peers"] as? [[String: Any]])
    #expect((verified[0]["differing"] as? [[String: Any]])?.count == 1)
    #expect((verify["local"] as? [[String: Any]])?.count == 1)
    _ = try await program.report("verify", ["a.db", "--repair"])
    try await checkSizes(program)
    try await checkSchema(program)
    _ = try await program.report("grant", ["a.db", "b", "t", "read"])
    let members = try await program.report("members", ["a.db"])
    let parts = try #require(members["members"] as? [[String: Any]])
    #expect(parts.map { $0["rights"] as? [String: String] } == [[:], ["T": "read"]])
    _ = try await program.report("grant", ["a.db", "b", "t", "write"])

    await second.stop()
    let away = try await program.report("peers", ["a.db"])
    let gone = try #require((away["peers"] as? [[String: Any]])?.first)
    #expect(["away", "connecting"].contains(gone["state"] as? String))
    _ = try await program.report("forget", ["a.db", "b"])
    _ = try await program.report("revoke", ["a.db", "b"])
    _ = try await program.report("leave", ["b.db", "--force"])
    await first.stop()
  }

  private func checkSchema(_ program: ReportingProgram) async throws {
    for sql in [
      "ALTER TABLE t ADD COLUMN more", "CREATE TABLE extra(id PRIMARY KEY)",
      "PRAGMA user_version = 3",
    ] {
      _ = try await Replica(path: "\(program.folder.path)/b.db").sql(sql)
    }
    let shown = try await program.report("schema", ["a.db", "--compare", "b"])
    let adoption = try #require(shown["adoption"] as? [String: Any])
    #expect((adoption["statements"] as? [Any])?.count == 2)
    #expect((adoption["differences"] as? [Any])?.count == 1)
    let made = try await program.report("schema", ["a.db", "--adopt", "b"])
    #expect((made["adoption"] as? [String: Any])?["is_made"] as? Bool == true)
    let plain = try await program.report("schema", ["a.db"])
    #expect(plain["adoption"] is NSNull)
  }

  private func checkSizes(_ program: ReportingProgram) async throws {
    let doctor = try await program.report("doctor", ["a.db"])
    let size = try #require(doctor["size"] as? [String: Any])
    #expect(
      Set(size.keys) == [
        "own_bytes", "file_bytes", "free_bytes", "is_estimate", "rows", "deleted_rows",
        "bytes_per_row", "origins", "earlier_lives", "tables",
      ])
    let sizes = try #require(size["tables"] as? [[String: Any]])
    #expect(sizes.contains { $0["table"] as? String == "version" })
  }
}

/// Calls the built program with `--json` and looks at the keys of what it prints.
private struct ReportingProgram {
  let folder: URL

  func report(
    _ command: String, _ words: [String], allowing statuses: Set<Int32> = [0]
  ) async throws -> [String: Any] {
    let ending = try await flotilla([command] + words + ["--json"], in: folder)
    #expect(statuses.contains(ending.status), "\(command): \(ending.remarks)")
    #expect(ending.results.split(separator: "\n").count == 1, "\(command)")
    let value = try JSONSerialization.jsonObject(with: Data(ending.results.utf8))
    let report = try #require(value as? [String: Any], "\(command)")
    expectKeys(report, command)
    return report
  }

  private func expectKeys(_ object: [String: Any], _ place: String) {
    #expect(Set(object.keys) == ContractTests.keys[place], "\(place)")
    for (key, value) in object {
      let parts = (value as? [String: Any]).map { [$0] } ?? value as? [[String: Any]] ?? []
      for part in parts where ContractTests.keys["\(place).\(key)"] != nil || value is [Any] {
        expectKeys(part, "\(place).\(key)")
      }
    }
  }
}

/// A node of this process, which the program asks.
private final class RunningNode: Sendable {
  private let task: Task<Void, any Error>
  private let log: AsyncStream<String>

  init(_ path: URL) {
    var options = RunOptions()
    options.listen = "127.0.0.1:0"
    options.discovery = false
    let (log, continuation) = AsyncStream<String>.makeStream()
    self.log = log
    task = Task { [options] in
      try await Replica.run(
        [Replica(path: path.path)], options: options, log: { continuation.yield($0.text) },
        ready: { _ in })
    }
  }

  /// The port, once it is known.
  var port: String? {
    get async {
      for await line in log where line.contains("listens on port") {
        return line.split(separator: " ").last.map(String.init)
      }
      return nil
    }
  }

  func stop() async {
    task.cancel()
    _ = await task.result
  }
}
