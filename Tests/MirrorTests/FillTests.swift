import Foundation
import Glibc
import Synchronization
import Testing

/// The first time that one side gets what the other has.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `The first fill` {
  private static let count = 40_000
  private static let empty = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);"
  private static let digest = "SELECT count(*), sum(id), min(v), max(v) FROM t"

  enum Side: Sendable {
    case site
    case server
  }

  private func fill(_ filled: Side, _ office: Office) async throws {
    try await office.site(Self.empty)
    if filled == .site {
      try await office.site(
        """
        INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
          WHERE i < \(Self.count)) SELECT i, 'row ' || i FROM n
        """)
    } else {
      try await office.server(
        """
        CREATE TABLE t(id BIGINT PRIMARY KEY, v LONGTEXT);
        INSERT INTO t SELECT seq, CONCAT('row ', seq) FROM seq_1_to_\(Self.count)
        """)
    }
  }

  /// Where rows go out it is a COMMIT that nobody answers; what comes in is committed on the site
  /// alone.
  private func beginAndKill(
    _ filled: Side, _ office: Office, _ proxy: CuttingProxy
  ) async throws {
    // The state is written once a second; it is read while the next COMMIT waits.
    let told = Mutex<Int?>(nil)
    let node = Mutex<Process?>(nil)
    let state = office.path("shop.db-flotilla/mirror-state.json")
    let pause: @Sendable () -> Void = { usleep(1_200_000) }
    let end: @Sendable () -> Void = {
      let data = FileManager.default.contents(atPath: state) ?? Data()
      let said = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
      if said?["phase"] as? String == "comparing" {
        told.withLock { $0 = said?["progress"] as? Int }
      }
      node.withLock { $0?.die() }
    }
    if filled == .site {
      proxy.arm(.waiting, passing: 12) {
        pause()
        proxy.arm(.before, passing: 8) { end() }
      }
    }
    let first = try await office.serve()
    node.withLock { $0 = first }
    if filled == .server {
      let begins = try await eventually {
        try await office.site("SELECT count(*) FROM t") != "0"
      }
      #expect(begins)
      first.die()
    }
    let isKilled = try await eventually { !first.isRunning }
    #expect(isKilled)
    if filled == .site {
      // Of what the server has to send nobody knows how much there is.
      let progress = try #require(told.withLock { $0 })
      #expect(progress > 0 && progress < Self.count)
    }
  }

  /// The node is killed in the middle of it.
  @Test(arguments: [Side.site, .server])
  func `says how far it is, and goes on where it was`(_ filled: Side) async throws {
    try await Office.with { office in
      let proxy = try CuttingProxy(at: office.path("way"), before: office.path("socket"))
      defer { proxy.end() }
      office.way = "way"
      try await fill(filled, office)
      #expect(try await office.flotilla("init", "shop.db", "--all", "--name", "anchor").status == 0)
      try await office.add(["--create"])
      try await beginAndKill(filled, office, proxy)
      let (here, there) = (
        Int(try await office.site("SELECT count(*) FROM t")) ?? 0,
        Int(try await office.server("SELECT count(*) FROM t")) ?? 0
      )
      let half = filled == .site ? there : here
      #expect(half > 0 && half < Self.count)

      _ = try await office.serve()
      try await office.follows()
      try await office.isInSync()
      #expect(try await office.site(Self.digest) == office.server(Self.digest))
      #expect(try await office.site("SELECT count(*) FROM t") == "\(Self.count)")
      // What was there already does not go over once more.
      let moved = try #require(
        try await office.status()[filled == .site ? "sent" : "taken"] as? Int)
      #expect(moved == Self.count - half)
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains(#""conflicts":[]"#), "\(conflicts.text.prefix(500))")
    }
  }
}
