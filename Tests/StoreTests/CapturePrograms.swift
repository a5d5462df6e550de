import Foundation
import SQLite
import Testing

@testable import Store

/// Other programs write: they know nothing of Flotilla and run no code of ours.
@Suite struct `Capture of other programs` {
  private func file(_ folder: String) throws -> CapturedDatabase {
    try CapturedDatabase(
      """
      PRAGMA journal_mode = WAL;
      CREATE TABLE t(k TEXT PRIMARY KEY, u UNIQUE, v REAL);
      CREATE UNIQUE INDEX i ON t(lower(k), round(v)) WHERE v > 0;
      """, path: folder + "/shop.db")
  }

  private func run(_ program: String, _ arguments: String...) throws -> String {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(program): \(text)")
    return text
  }

  @Test func `the sqlite3 shell, without trust in the schema`() throws {
    try withFolder { folder in
      let database = try file(folder)
      try database.check("the shell") {
        let output = try run(
          "sqlite3", "-safe", folder + "/shop.db",
          """
          PRAGMA trusted_schema = 0;
          INSERT INTO t VALUES ('a', 1, 1.5), ('b', 2, 2), ('A', 3, 9);
          INSERT OR REPLACE INTO t VALUES ('c', 1, 1.5);
          UPDATE OR REPLACE t SET k = 'B', u = 2 WHERE k = 'A';
          SELECT changes(), last_insert_rowid();
          """)
        #expect(output == "1|4\n")
      }
      #expect(try database.noted().isSuperset(of: ["t('a')", "t('b')", "t('A')", "t('B')"]))
    }
  }

  @Test func `python, with rollback`() throws {
    try withFolder { folder in
      let database = try file(folder)
      try database.check("python") {
        let script = """
          import sqlite3, sys
          c = sqlite3.connect(sys.argv[1])
          c.execute("PRAGMA trusted_schema = 0")
          with c:
              c.executemany("INSERT INTO t VALUES (?, ?, ?)", [("x%d" % i, i, i) for i in range(9)])
          with c:
              cursor = c.execute("INSERT OR REPLACE INTO t VALUES ('y', 5, 1)")
              assert (cursor.rowcount, cursor.lastrowid) == (1, 10)
          try:
              with c:
                  c.execute("DELETE FROM t")
                  raise KeyError()
          except KeyError:
              pass
          """
        _ = try run("python3", "-c", script, folder + "/shop.db")
      }
      #expect(
        try database.noted() == Set((0..<9).map { "t('x\($0)')" } + ["t('y')"]))
    }
  }
}
