import Foundation
import Testing

/// A Galera cluster of three nodes: each takes writes, and each may be lost.
@Suite(.enabled(if: OfficeCluster.isPossible, OfficeCluster.why), .timeLimit(.minutes(10)))
struct `A mirror of a cluster` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
      INSERT INTO t SELECT i, 'v' || i FROM n;
    """
  private static let all = "SELECT id, v FROM t ORDER BY id"

  @Test func `does a transaction again that is refused at COMMIT`() async throws {
    try await OfficeCluster.with { office, cluster in
      let proxy = try CuttingProxy(at: office.path("way"), before: office.path("socket"))
      defer { proxy.end() }
      office.way = "way"
      _ = try await office.open(Self.schema, "--create")
      try await office.isInSync()
      let retries = try #require(try await office.status()["retries"] as? Int)
      // No lock of one node is known to another one.
      let program = office.program(
        "UPDATE t SET v = 'theirs' WHERE id = 1; DELETE FROM t WHERE id = 3",
        at: cluster.socket(2))
      proxy.arm(.waiting) { program() }
      try await office.site("UPDATE t SET v = 'site' WHERE id IN (1, 2)")
      try await office.siteComesTo(
        "1\ttheirs\n2\tsite", "SELECT id, v FROM t WHERE id < 4 ORDER BY id")
      try await office.isInSync()
      #expect(proxy.cuts == 1 && proxy.error == 1213)
      let isTold = try await eventually {
        try #require(try await office.status()["retries"] as? Int) > retries
      }
      #expect(isTold)
      try await expectEqual(office, cluster, [1, 2, 3])
      // What was later stands, and the other one is told of, once.
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.components(separatedBy: #""site""#).count == 2, "\(conflicts.text)")
    }
  }

  /// It takes half a minute: `make mirror` has it.
  @Test(
    .enabled(
      if: ProcessInfo.processInfo.environment["FLOTILLA_MIRROR_SECONDS"] != nil,
      "it takes half a minute: make mirror"))
  func `goes on with another node when one is killed while programs write`() async throws {
    try await OfficeCluster.with { office, cluster in
      office.url = cluster.url
      _ = try await office.open(Self.schema, "--create")
      try await office.isInSync()
      try await office.server("CREATE TABLE halt(id INT PRIMARY KEY)")
      let programs = try [2, 3].map { number in
        try office.session(Self.writing(number), "begins", at: cluster.socket(number))
      }
      for program in programs { try await program.isReady() }
      for number in 0..<20 { try await write(number, office) }
      try cluster.kill(1)
      for number in 20..<40 { try await write(number, office) }
      let count = "SELECT count(*) FROM t WHERE id BETWEEN 1000 AND 1039"
      try await office.serverComesTo("40", count, at: cluster.socket(2))
      // The programs go on as well, and what they write comes in.
      for number in [2, 3] {
        let sql = "SELECT max(id) FROM t WHERE id BETWEEN \(number)0000 AND \(number)9999"
        let last = try #require(
          Int(try await office.server(sql, at: cluster.socket(number))))
        let goesOn = try await eventually { Int(try await office.site(sql)) ?? 0 > last }
        #expect(goesOn, "\(programs.map(\.text))")
      }
      try await office.server("INSERT INTO halt VALUES (1)", at: cluster.socket(3))
      for (program, number) in zip(programs, [2, 3]) { try await program.says("ended \(number)") }
      try await expectEqual(office, cluster, [2, 3])
      for number in [2, 3] {
        // None of what a program committed is missing.
        let sql = "SELECT count(*), max(id) FROM t WHERE id BETWEEN \(number)0000 AND \(number)9999"
        let said = try await office.site(sql).split(separator: "\t").compactMap { Int($0) }
        #expect(said.count == 2 && said[0] == said[1] - number * 10_000 + 1, "\(said)")
      }

      // A node without a majority takes nothing; when it is told to go on it does.
      try cluster.kill(2)
      try await office.site("UPDATE t SET v = 'alone' WHERE id = 1")
      let says = try await eventually {
        (try await office.status()["trouble"] as? String)?.contains("1047") == true
      }
      let said = try await office.status()
      #expect(says, "\(said)")
      try await office.server(
        "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'", at: cluster.socket(3))
      try await office.serverComesTo(
        "alone", "SELECT v FROM t WHERE id = 1", at: cluster.socket(3))
      try await expectEqual(office, cluster, [3])
      #expect(!(try office.log().contains("put back to an earlier state")))
    }
  }

  /// What a program does all the time: a new row, which it changes. It leaves rows of others alone:
  /// a statement that the cluster aborts for them ends the block, and the session hangs at times.
  private static func writing(_ number: Int) -> String {
    """
    SELECT 'begins';
    DELIMITER //
    BEGIN NOT ATOMIC
      DECLARE i INT DEFAULT \(number)0000;
      DECLARE isDone, isOver BOOLEAN DEFAULT FALSE;
      WHILE i < \(number)9999 AND NOT isOver DO
        BEGIN
          DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET isDone = FALSE;
          SET isDone = TRUE;
          INSERT IGNORE INTO t VALUES (i, 'new');
          IF isDone THEN SET i = i + 1; END IF;
          UPDATE t SET v = CONCAT('p', i) WHERE id = i - 1;
          SELECT COUNT(*) INTO isOver FROM halt;
          DO SLEEP(0.01);
        END;
      END WHILE;
    END//
    DELIMITER ;
    SELECT 'ended \(number)'
    """
  }

  private func write(_ number: Int, _ office: Office) async throws {
    try await office.site(
      """
      BEGIN IMMEDIATE; INSERT INTO t VALUES (1000 + \(number), 'new');
      UPDATE t SET v = 's\(number)' WHERE id <= 50 AND id % 10 = \(number % 10); COMMIT
      """)
  }

  /// The nodes and the site have the same, by their own words.
  private func expectEqual(
    _ office: Office, _ cluster: OfficeCluster, _ numbers: [Int]
  ) async throws {
    for number in numbers {
      try await office.serverComesTo(
        "0", "SELECT count(*) FROM flotilla_journal_1", at: cluster.socket(number))
    }
    try await office.isInSync()
    let here = try await office.site(Self.all)
    for number in numbers {
      let there = try await office.server(
        "SET SESSION wsrep_sync_wait = 1; \(Self.all)", at: cluster.socket(number))
      #expect(there == here)
    }
  }
}
