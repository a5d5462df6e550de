import Foundation
import Testing

/// A server that one of the nodes of a site keeps equal, whose programs write for that side.
protocol MergeServer: Sendable {
  /// The database of the node that mirrors.
  var database: String { get }
  /// The words of `flotilla mirror DB` that have it mirrored from the node's next start on.
  var words: [String] { get }
  func write(_ statement: String) async throws
  /// The row of a case, as `sqlite3` prints it.
  func row(of merge: MergeCase) async throws -> String
}

/// A site under way: the anchor's database, and the node's.
struct MergeSite {
  let desk: Desk
  let rule: String
  let cases: [MergeCase]
  let server: (any MergeServer)?
  private let clocks: [String: SetClock]
  private var addresses: [String: String] = [:]
  /// Every address that a node has had.
  private var used: Set<String> = []

  init(desk: Desk, rule: String, cases: [MergeCase], server: (any MergeServer)?) throws {
    (self.desk, self.rule, self.cases, self.server) = (desk, rule, cases, server)
    clocks = try [
      "anchor.db": SetClock(desk.path("ahead"), ahead: Int64(FalseClock.yearAhead.seconds)),
      "client.db": SetClock(desk.path("behind"), ahead: Int64(FalseClock.yearBehind.seconds)),
    ]
  }

  private func write(
    _ database: String, _ statement: String, of merge: MergeCase
  ) async throws {
    if let server, server.database == database {
      try await meet(server, at: merge)
      try await server.write(statement)
      return try await meet(server, at: merge)
    }
    let words = (database == "anchor.db" ? FalseClock.yearAhead : .yearBehind).words
    let outcome = try await desk.run(
      words + ["sqlite3", "-cmd", ".timeout 10000", "./" + database, statement])
    guard outcome.status == 0 else {
      throw ProgramFailure(words: [statement], outcome: outcome)
    }
  }

  /// Waits until the node and its server have the same row.
  private func meet(_ server: any MergeServer, at merge: MergeCase) async throws {
    let isEqual = try await eventually(within: .seconds(60), every: .milliseconds(20)) {
      try await server.row(of: merge) == row(server.database, of: merge)
    }
    #expect(isEqual, "case \(merge.id), \(rule): \(server.database) and the server differ")
  }

  /// Runs the program on a database, on the machine that it is on.
  func flotilla(_ command: String, _ database: String, _ words: String...) async throws
    -> Outcome
  {
    try await desk.run(
      (clocks[database]?.words ?? []) + ["flotilla", command, database] + words, within: 120)
  }

  @discardableResult
  func succeed(_ command: String, _ database: String, _ words: String...) async throws -> String {
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
  func write(
    _ database: String, _ steps: [(time: String, statement: String)], of merge: MergeCase
  ) async throws {
    for step in steps {
      try await write(database, step.statement, of: merge)
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

  private func mirror(_ database: String) async throws {
    guard let server, server.database == database else { return }
    let outcome = try await desk.run(
      (clocks[database]?.words ?? []) + ["flotilla", "mirror", database] + server.words)
    guard outcome.status == 0 else { throw ProgramFailure(words: server.words, outcome: outcome) }
  }

  mutating func start() async throws {
    let columns = "(id INTEGER PRIMARY KEY NOT NULL, title TEXT, a INTEGER, b INTEGER)"
    let tables = cases.map { "CREATE TABLE \($0.table)\(columns)" }
    try await desk.sql("anchor.db", tables.joined(separator: ";"))
    try await succeed("init", "anchor.db", "--all", "--name", "anchor")
    try await mirror("anchor.db")
    try await run("anchor.db")
    try await succeed("anchor", "anchor.db", "--here", "--rule", rule)
    let acting = try await succeed("rule", "anchor.db", "--json")
    #expect(acting.components(separatedBy: "\"acting_rule\"").count == cases.count + 1)
    let code = try await succeed("invite", "anchor.db")
    let address = addresses["anchor.db"] ?? ""
    try await succeed("join", "client.db", code, "--at", address, "--name", "client")
    try await mirror("client.db")
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
