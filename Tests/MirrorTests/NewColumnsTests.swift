import Testing

/// One side gets a column that the other one has had for long.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A column that the site gets, too` {
  /// So many rows the log would not keep.
  private static let count = 10_500

  @Test func `takes nothing from the server that has values there`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE t(id BIGINT PRIMARY KEY, v LONGTEXT, note VARCHAR(20));
        INSERT INTO t SELECT seq, 'v', IF(seq % 2, CONCAT('n', seq), NULL)
          FROM seq_1_to_\(Self.count)
        """)
      _ = try await office.open("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);")
      try await office.isInSync()
      try await office.site(
        """
        BEGIN; ALTER TABLE t ADD COLUMN note TEXT DEFAULT 'none';
        UPDATE t SET note = 'site' WHERE id IN (1, 2); UPDATE t SET v = 'also' WHERE id = 3; COMMIT
        """)
      let few = "SELECT id, v, note FROM t WHERE id < 6 ORDER BY id"
      let wanted = "1\tv\tsite\n2\tv\tsite\n3\talso\tn3\n4\tv\tnone\n5\tv\tn5"
      try await office.siteComesTo(wanted, few)
      try await office.serverComesTo(wanted, few)
      try await office.isInSync()
      let counts = "SELECT count(*), count(note) FROM t WHERE note <> 'none' AND id > 5"
      let (all, half) = (Self.count, Self.count / 2 - 3)
      #expect(try await office.server(counts) == "\(half)\t\(half)")
      #expect(try await office.site(counts) == "\(half)\t\(half)")
      #expect(try await office.server("SELECT count(*) FROM t WHERE v = 'v'") == "\(all - 1)")
      // What both sides have otherwise is in the log as before.
      #expect(try await office.conflicts().map(\.key).sorted() == [1, 3])
      // From then on it is a column like the others.
      try await office.site("UPDATE t SET note = NULL WHERE id = 5")
      try await office.serverComesTo("NULL", "SELECT note FROM t WHERE id = 5")
      try await office.server("UPDATE t SET note = 'office' WHERE id = 7")
      try await office.siteComesTo("office", "SELECT note FROM t WHERE id = 7")
      #expect(try await office.conflicts().count == 2)
    }
  }

  @Test func `says what a change meanwhile takes the place of`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE t(id BIGINT PRIMARY KEY, v LONGTEXT, note VARCHAR(20));
        INSERT INTO t SELECT seq, 'v', CONCAT('n', seq) FROM seq_1_to_4
        """)
      _ = try await office.open("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);")
      try await office.isInSync()
      // The mirror is told of the edit beside all that it has to compare.
      try await office.site("ALTER TABLE t ADD COLUMN note TEXT")
      for round in 1...20 {
        try await office.site("UPDATE t SET v = 'round \(round)' WHERE id = 1")
        try await Task.sleep(for: .milliseconds(300))
      }
      let few = "SELECT id, v FROM t ORDER BY id"
      try await office.serverComesTo("1\tround 20\n2\tv\n3\tv\n4\tv", few)
      try await office.isInSync()
      let notes = "SELECT note FROM t ORDER BY id"
      let (here, there) = (try await office.site(notes), try await office.server(notes))
      #expect(here == there && here.hasSuffix("n2\nn3\nn4"), "\(here), \(there)")
      let said = try await office.flotilla("conflicts", "shop.db", "--json").text
      #expect(here.hasPrefix("n1") || said.contains(#""note":"n1""#), "\(here): \(said)")
    }
  }
}
