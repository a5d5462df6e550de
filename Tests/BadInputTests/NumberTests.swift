import Foundation
import Testing

extension BadInputTests {
  /// Two nodes give one number to two rows while they are apart; plain SQL tells what stands.
  @Suite struct NumberTests {
    private static let hanging = """
      SELECT patient.name || ':' || lab.value FROM lab JOIN patient ON patient.id = lab.patient_id
      ORDER BY 1
      """

    @Test(arguments: [("", false), ("", true), ("AUTOINCREMENT", false)])
    func `results hang under the patient that their author meant`(
      autoincrement: String, hasAnchor: Bool
    ) async throws {
      try await Desk.with { desk in
        try await desk.sql(
          "a.db",
          """
          CREATE TABLE patient(id INTEGER PRIMARY KEY \(autoincrement), name TEXT);
          CREATE TABLE lab(id INTEGER PRIMARY KEY \(autoincrement),
            patient_id INTEGER NOT NULL REFERENCES patient(id), value TEXT);
          INSERT INTO patient VALUES (1, 'Old')
          """)
        let told = try await desk.flotilla("init", "a.db", "--all", "--name", "first")
        #expect(told.error.contains("the later one gets a fresh number"), "\(told)")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        if hasAnchor { try await desk.succeed("anchor", "a.db", "--here") }
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "b.db", code, "--at", node.address, "--name", "second")
        try await desk.succeed("stop", "a.db")
        for (database, name) in [("a.db", "Ann"), ("b.db", "Bob")] {
          // Written again under the number, whatever AUTOINCREMENT would give.
          try await desk.sql(
            database,
            """
            INSERT INTO patient VALUES (2, '\(name)');
            INSERT INTO lab VALUES (1, 2, '\(name)-1'), (2, 2, '\(name)-2')
            """)
          try await Task.sleep(for: .seconds(1))
        }
        let again = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        _ = try await desk.start(
          "b.db", "--listen", "127.0.0.1:0", "--peer", again.address)
        for database in ["a.db", "b.db"] {
          let isRight = try await eventually(within: .seconds(30)) {
            try await desk.sql(database, Self.hanging)
              == "Ann:Ann-1\nAnn:Ann-2\nBob:Bob-1\nBob:Bob-2"
          }
          let stands = try await desk.sql(database, Self.hanging)
          #expect(isRight, "\(database): \(stands)")
          let check = try await desk.sql(
            database, "PRAGMA foreign_key_check; PRAGMA integrity_check")
          #expect(check == "ok")
        }
        let all = "SELECT * FROM patient; SELECT * FROM lab ORDER BY id"
        let (mine, theirs) = (try await desk.sql("a.db", all), try await desk.sql("b.db", all))
        #expect(mine == theirs)
        try await look(at: desk)
      }
    }

    /// One line in the log says what became of the patient, and how many results went along.
    private func look(at desk: Desk) async throws {
      let log = try await desk.succeed("conflicts", "b.db", "--json")
      #expect(log.contains(#""state":"rekeyed""#) && log.contains(#""rows":2"#), "\(log)")
      #expect(log.components(separatedBy: #""reason":"#).count == 2, "\(log)")
      let refused = try await desk.flotilla("conflicts", "b.db", "restore", "1")
      #expect(refused.status == 1 && refused.error.contains("nothing was lost"), "\(refused)")
      let none = try await desk.succeed("conflicts", "b.db", "restore", "all")
      #expect(none == "nothing to restore")
      let shown = try await desk.succeed("conflicts", "b.db", "show", "1")
      #expect(shown.contains("with it 2 rows that refer to it"), "\(shown)")
      try await desk.succeed("conflicts", "b.db", "dismiss", "1")
      #expect(try await desk.succeed("conflicts", "b.db") == "no conflicts")
      // The key that it has left is another row's.
      let again = try await desk.flotilla("conflicts", "b.db", "restore", "1")
      #expect(again.status == 1 && again.error.contains("nothing was lost"), "\(again)")
    }

    @Test func `AUTOINCREMENT gives each node numbers of its own`() async throws {
      try await Desk.with { desk in
        try await desk.sql(
          "a.db",
          """
          CREATE TABLE note(id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT);
          INSERT INTO note(text) VALUES ('one'), ('two')
          """)
        try await desk.succeed("init", "a.db", "--all", "--name", "first")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "b.db", code, "--at", node.address, "--name", "second")
        let shown = try await desk.succeed("track", "b.db", "note", "--json")
        #expect(
          shown.contains(#""next":257"#) && shown.contains(#""on_collision":"log""#), "\(shown)")
        try await desk.succeed("stop", "a.db")
        for database in ["a.db", "b.db"] {
          try await desk.sql(
            database, "INSERT INTO note(text) VALUES ('from \(database)'), ('more of \(database)')")
        }
        #expect(try await desk.sql("a.db", "SELECT max(id) FROM note") == "4")
        #expect(try await desk.sql("b.db", "SELECT max(id) FROM note") == "258")
        let again = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", again.address)
        for database in ["a.db", "b.db"] {
          let isThere = try await eventually(within: .seconds(30)) {
            try await desk.sql(database, "SELECT count(*) FROM note") == "6"
          }
          #expect(isThere)
          #expect(try await desk.succeed("conflicts", database) == "no conflicts")
        }
        // What the first one gives next is above all that it has seen, and nobody else's.
        try await desk.sql("a.db", "INSERT INTO note(text) VALUES ('next')")
        let next = try await desk.sql("a.db", "SELECT max(id) FROM note")
        #expect(Int(next).map { ($0 - 1) / 256 % 4 } == 0 && Int(next) ?? 0 > 258)
      }
    }
  }
}
