import Flotilla
import Foundation
import Testing

@testable import FlotillaCommand

/// Two replicas whose nodes are started and stopped; the second one loses.
private struct Site {
  let folder: Folder
  let address: String

  init() throws {
    folder = try Folder()
    try folder.run("/usr/bin/sqlite3", ["a.db", "CREATE TABLE t (id TEXT PRIMARY KEY, v TEXT)"])
    try folder.flotilla("init", "a.db", "--all", "--name", "first")
    try folder.flotilla(
      "run", "a.db", "--no-discovery", "--listen", "127.0.0.1:0", "--background")
    let invitation = try folder.flotilla("invite", "a.db", "--json")
    address = String(try #require(invitation.firstMatch(of: /"(127\.0\.0\.1:\d+)"/)?.1))
    let code = try #require(invitation.firstMatch(of: /"code":"([A-Z0-9-]+)"/)?.1)
    try folder.flotilla("join", "b.db", String(code), "--at", address, "--name", "second")
  }

  func end() {
    let words = ["-c", "flotilla stop b.db; flotilla stop a.db; exit 0"]
    _ = try? folder.run("/bin/sh", words)
    folder.remove()
  }

  /// Both write one row while the second node is stopped; the second one first, so it loses. On a
  /// busy machine the two may differ by some 100 ms in what time the site has.
  func quarrel(over row: String) async throws {
    for name in ["b.db", "a.db"] {
      try folder.run(
        "/usr/bin/sqlite3",
        ["-cmd", ".timeout 5000", name, "INSERT INTO t VALUES('\(row)', '\(name)')"])
      try await Task.sleep(for: .seconds(1))
    }
  }

  func start(_ options: String...) throws {
    let words = ["run", "b.db", "--no-discovery", "--listen", "127.0.0.1:0", "--background"]
    try folder.run(
      folder.products + "/flotilla", words + ["--peer", address] + options)
  }

  func stop() throws { try folder.flotilla("stop", "b.db") }

  func text(_ name: String) -> String {
    (try? String(contentsOf: folder.url.appending(component: name), encoding: .utf8)) ?? ""
  }

  func eventually(_ condition: () throws -> Bool) async throws -> Bool {
    for _ in 0..<300 {
      if try condition() { return true }
      try await Task.sleep(for: .milliseconds(100))
    }
    return false
  }

  func conflicts() throws -> Int {
    try folder.flotilla("conflicts", "b.db", "--json").matches(of: /"state":"open"/).count
  }
}

@Suite struct `A node that was off` {
  @Test func `tells each conflict once, also those of its first moments`() async throws {
    let site = try Site()
    defer { site.end() }
    // One of old: whoever begins to listen now is not told.
    try await site.quarrel(over: "old")
    try site.start()
    #expect(try await site.eventually { try site.conflicts() == 1 })
    try site.stop()

    let listening = ["--on-conflict", "cat >> c.log", "--on-state", "cat >> s.log"]
    try await site.quarrel(over: "new")
    try site.start(listening[0], listening[1], listening[2], listening[3])
    #expect(try await site.eventually { site.text("c.log").hasSuffix("\n") })
    #expect(site.text("c.log").contains(#""id":"new""#), "\(site.text("c.log"))")
    #expect(try await site.eventually { site.text("s.log").contains(#""in_sync":true"#) })
    try site.stop()

    // Nobody listens meanwhile, and what came then is not lost.
    try await site.quarrel(over: "unheard")
    try site.start()
    #expect(try await site.eventually { try site.conflicts() == 3 })
    try site.stop()
    try await site.quarrel(over: "last")
    try site.start(listening[0], listening[1])
    #expect(try await site.eventually { site.text("c.log").contains(#""id":"last""#) })
    try site.stop()
    let rows = site.text("c.log").matches(of: /"key":\{"id":"(\w+)"\}/).map { String($0.1) }
    #expect(rows == ["new", "unheard", "last"], "\(site.text("c.log"))")
  }

  @Test func `is told of what differs from a node that does not run`() throws {
    var book = AlarmBook(isStart: true)
    #expect(try !book.isNews(report([])))
    book = AlarmBook(isStart: true)
    #expect(try !book.isNews(report([.away, .connecting, .revoked], inSync: false)))
    #expect(try book.isNews(report([.inSync, .connecting, .revoked], inSync: false)))
    book = AlarmBook(isStart: true)
    #expect(try book.isNews(report([.inSync])))
  }

  @Test func `tells what is new by its number, or by its time where numbers began anew`() throws {
    var mark = ConflictMark()
    mark.id = 7
    mark.at = "2026-11-26T09:00:00.000Z"
    for (id, at, isNew) in [
      (7, "2026-11-26T09:00:00.000Z", false), (8, "2026-11-25T09:00:00.000Z", true),
      (1, "2026-11-26T09:00:00.001Z", true), (1, "2026-11-26T08:00:00.000Z", false),
    ] { #expect(try mark.isBefore(conflict(id, at)) == isNew) }
    #expect(ConflictMark([]) == nil)
  }

  @Test func `tells nobody of a row that got a fresh key`() throws {
    var book = AlarmBook(told: ConflictMark())
    let both = [
      try conflict(1, "2026-11-26T09:00:00.000Z"),
      try conflict(2, "2026-11-26T09:00:00.000Z", "rekeyed"),
    ]
    #expect(book.news(in: both).map(\.id) == [1])
    #expect(book.told?.id == 2)
  }

  private func conflict(
    _ id: Int, _ at: String, _ state: String = "open"
  ) throws -> ConflictReport.Conflict {
    let text = """
      {"id":\(id),"table":"t","key":{},"rule":"","reason":"older","at":"\(at)",
      "state":"\(state)"}
      """
    return try JSONDecoder().decode(ConflictReport.Conflict.self, from: Data(text.utf8))
  }

  private func report(
    _ states: [PeerReport.State], inSync: Bool = true
  ) throws -> StatusReport {
    let peers = states.enumerated().map { number, state in
      """
      {"node":"p\(number)","id":"\(number)","state":"\(state.rawValue)","behind_rows":0,
      "behind_seconds":0,"clock_offset_ms":0,"clock_corrected":false}
      """
    }
    let text = """
      {"site":"s","node":"n","role":"writer","tables":[],"takes_new_tables":false,"new_tables":[],
      "asked_tables":[],"conflicts":0,"parked":0,"unjudged":0,"in_sync":\(inSync),
      "not_in_sync":[],"running":true,"remarks":[],"peers":[\(peers.joined(separator: ","))]}
      """
    return try JSONDecoder().decode(StatusReport.self, from: Data(text.utf8))
  }
}
