import Testing

/// Rows of one key whose contents never met, and of which one does not fit on the other side.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `Two rows that are held from the first on` {
  @Test func `lose nothing unseen, whichever side changes them`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE t(id BIGINT PRIMARY KEY, n BIGINT UNSIGNED, v VARCHAR(5));
        INSERT INTO t VALUES (1, 1, 'ann'), (2, 18446744073709551615, 'cas'),
          (3, 18446744073709551614, 'eve'), (4, 4, 'same')
        """)
      _ = try await office.open(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, v TEXT);
        INSERT INTO t VALUES (1, 1, 'too long'), (2, 5, 'dan'), (3, 6, 'fay'), (4, 4, 'same');
        """)
      let areHeld = try await eventually { try await office.status()["held_count"] as? Int == 3 }
      #expect(areHeld)
      _ = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
      try await office.site("UPDATE t SET v = 'bob' WHERE id = 1")
      try await office.serverComesTo("bob", "SELECT v FROM t WHERE id = 1")
      try await office.server("UPDATE t SET n = 7 WHERE id = 2")
      try await office.siteComesTo("7\tcas", "SELECT n, v FROM t WHERE id = 2")
      // The last one does not fit there, either, before it does.
      try await office.site("UPDATE t SET v = 'too long' WHERE id = 3")
      let isOutward = try await eventually {
        let held = try await office.status()["held"] as? [[String: Any]]
        return held?.first?["direction"] as? String == "out"
      }
      #expect(isOutward)
      try await office.site("UPDATE t SET v = 'gil' WHERE id = 3")
      try await office.serverComesTo("6\tgil", "SELECT n, v FROM t WHERE id = 3")
      try await office.isInSync()
      let lost = try await office.conflicts().map { "\($0.key) \($0.lost)" }.sorted()
      #expect(lost == ["1 ann", "2 dan", "3 eve"])

      // A content that is lost twice is in the log twice.
      for _ in 1...2 {
        try await office.quietly(1, "UPDATE t SET v = 'again' WHERE id = 4")
        _ = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
        try await office.serverComesTo("same", "SELECT v FROM t WHERE id = 4")
      }
      #expect(try await office.conflicts().count { $0.lost == "again" } == 2)
    }
  }
}
