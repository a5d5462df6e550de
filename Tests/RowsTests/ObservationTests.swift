import Flotilla
import FlotillaRows
import Foundation
import SQLite
import Testing

/// One machine, or two that are connected, with a table of items.
enum Lists {
  static let schema = """
    CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL,
      isDone INTEGER NOT NULL DEFAULT 0, doneAt TEXT);
    CREATE TABLE other(id INTEGER PRIMARY KEY, item TEXT UNIQUE ON CONFLICT ROLLBACK);
    CREATE VIEW open AS SELECT title FROM item WHERE NOT isDone;
    """

  static func with(
    _ body: (_ folder: String, _ path: String, OpenReplica) async throws -> Void
  ) async throws {
    let folder = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/a.db"
    try Connection(path: path, mode: .create).execute(schema)
    _ = try await Replica(path: path).initialise(site: "S", node: "a", tables: .all, rule: nil)
    let open = try await Replica.open(path, options: options())
    let result: Result<Void, any Error>
    do { result = .success(try await body(folder, path, open)) } catch { result = .failure(error) }
    await open.close()
    try result.get()
  }

  static func options() -> RunOptions {
    var options = RunOptions()
    options.listen = "127.0.0.1:0"
    options.discovery = false
    return options
  }
}

struct Line: Codable, Equatable, Sendable {
  var id: String
  var title: String
  var isDone = false
  var doneAt: Date?
}

@Suite(.serialized) struct `Rows of an open replica` {
  static let all = "SELECT * FROM item ORDER BY id"

  @Test func `are saved, read and updated as a type`() async throws {
    try await Lists.with { _, path, open in
      var line = Line(id: "1", title: "ropes")
      let receipt = try await open.save(line, in: "item")
      #expect(receipt.local.map(\.table) == ["item"])
      line.doneAt = Date(timeIntervalSince1970: 1_764_177_790.5)
      line.isDone = true
      _ = try await open.update(line, in: "item")
      #expect(try await open.rows(Line.self, Self.all) == [line])
      let stored = try Connection(path: path).row("SELECT isDone, doneAt FROM item")
      #expect(stored == [.integer(1), .string("2025-11-26 17:23:10.500")])
      line.id = "2"
      let error = await #expect(throws: FlotillaError.self) {
        try await open.update(line, in: "item")
      }
      #expect(error?.code == .table)
      // Not even a text that names itself.
      let nobody = await #expect(throws: FlotillaError.self) {
        try await open.remove("item", key: ["nope": "nope"])
      }
      #expect(nobody?.code == .sql)
      let twice = await #expect(throws: FlotillaError.self) {
        try await open.rows([String: SQLValue].self, "SELECT id, id AS ID FROM item")
      }
      #expect(twice?.code == .usage)
      let unknown = await #expect(throws: FlotillaError.self) {
        try await open.update(line, in: "nothing")
      }
      #expect(unknown?.code == .table)
    }
  }

  @Test func `are written together or not at all, with one receipt`() async throws {
    try await Lists.with { _, path, open in
      let (count, receipt) = try await open.transaction { transaction in
        try transaction.save(Line(id: "1", title: "ropes"), in: "item")
        try transaction.save(["id": 1, "item": "1"], in: "other")
        try transaction.run("UPDATE item SET title = title || '!' WHERE id = ?", ["1"])
        return try transaction.rows(Line.self, Self.all).count
      }
      #expect(count == 1 && receipt.local.map(\.table) == ["item", "other"])
      #expect(receipt.local.first?.values?[1] == "ropes!")

      struct Refused: Error {}
      await #expect(throws: Refused.self) {
        try await open.transaction { transaction in
          try transaction.remove("other", key: ["id": 1])
          try transaction.save(Line(id: "2", title: "sails"), in: "item")
          throw Refused()
        }
      }
      let missing = await #expect(throws: FlotillaError.self) {
        try await open.transaction { transaction in
          try transaction.save(Line(id: "2", title: "sails"), in: "item")
          try transaction.update("item", key: ["id": "3"], set: ["title": "x"])
        }
      }
      #expect(missing?.code == .table)
      let rows = try Connection(path: path).row(
        "SELECT (SELECT count(*) FROM item), (SELECT count(*) FROM other)")
      #expect(rows == [.integer(1), .integer(1)])
    }
  }

  @Test func `a transaction that SQLite has rolled back goes on with nothing`() async throws {
    try await Lists.with { _, path, open in
      let error = await #expect(throws: FlotillaError.self) {
        try await open.transaction { transaction in
          try transaction.save(["id": 1, "item": "1"], in: "other")
          try? transaction.save(["id": 2, "item": "1"], in: "other")
          try transaction.save(Line(id: "2", title: "sails"), in: "item")
        }
      }
      #expect(error?.code == .usage)
      for statement in [
        "COMMIT", "CREATE TABLE x(a)", "DELETE FROM _flotilla_journal", "BEGIN",
        "PRAGMA ignore_check_constraints = ON", "ATTACH 'x' AS y", "SAVEPOINT s",
      ] {
        let error = await #expect(throws: FlotillaError.self, "\(statement)") {
          try await open.transaction { try $0.run(statement) }
        }
        #expect(error?.code == .sql)
      }
      let rows = try Connection(path: path).row(
        "SELECT (SELECT count(*) FROM item), (SELECT count(*) FROM other)")
      #expect(rows == [.integer(0), .integer(0)])
    }
  }

  @Test func `are given again when they have changed, by whom ever`() async throws {
    try await Lists.with { _, path, open in
      let titles = AsyncStream<[String]>.makeStream()
      let reader = Task {
        defer { titles.continuation.finish() }
        let query = "SELECT title FROM open WHERE title <> ? ORDER BY title"
        for try await rows in open.observe([String: SQLValue].self, query, ["hidden"]) {
          titles.continuation.yield(rows.map { "\($0["title"] ?? .null)" })
        }
      }
      var seen = titles.stream.makeAsyncIterator()
      #expect(await seen.next() == [])
      let program = try Connection(path: path)
      program.setBusyTimeout(milliseconds: 60_000)
      try program.execute("INSERT INTO item(id, title) VALUES ('1', 'ropes')")
      #expect(await seen.next() == [#"text("ropes")"#])
      // What does not show is not told: the next is what does.
      try program.execute("INSERT INTO item(id, title) VALUES ('2', 'hidden')")
      try program.execute("INSERT INTO other VALUES (1, 'x')")
      await open.suspend()
      try program.execute("UPDATE item SET isDone = 1")
      try await open.resume()
      #expect(await seen.next() == [])
      await open.close()
      #expect(await seen.next() == nil)
      try await reader.value
    }
  }

  @Test func `go on once another program has let go of the write lock`() async throws {
    try await Lists.with { _, path, open in
      var rows = open.observe([String: SQLValue].self, "SELECT title FROM item")
        .makeAsyncIterator()
      #expect(try await rows.next() == [])
      let changes = open.changes()
      var news = changes.makeAsyncIterator()
      _ = try await news.next()
      let program = try Connection(path: path)
      program.setBusyTimeout(milliseconds: 60_000)
      try program.execute("BEGIN IMMEDIATE; INSERT INTO item(id, title) VALUES ('1', 'ropes')")
      let isOver = Task {
        // Longer than the node waits for the lock.
        try await Task.sleep(for: .seconds(8))
        try program.execute("COMMIT")
      }
      #expect(try await rows.next() == [["title": "ropes"]])
      #expect(try await news.next()?.changes.map(\.table) == ["item"])
      try await isOver.value
    }
  }

  @Test func `go on when one of their tables is not replicated any more`() async throws {
    try await Lists.with { _, path, open in
      let query = "SELECT title FROM item UNION ALL SELECT item FROM other"
      var rows = open.observe([String: SQLValue].self, query).makeAsyncIterator()
      #expect(try await rows.next() == [])
      _ = try await open.replica.untrack(["other"])
      _ = try await open.save(Line(id: "1", title: "ropes"), in: "item")
      #expect(try await rows.next() == [["title": "ropes"]])
    }
  }

  @Test func `of a query that reads no replicated table nobody tells`() async throws {
    try await Lists.with { _, path, open in
      try Connection(path: path).execute("CREATE TABLE own(a)")
      _ = try await open.replica.take(newTables: false)
      for (query, code) in [
        ("SELECT 1", FlotillaError.Code.table), ("SELECT * FROM nothing", .sql),
        ("DELETE FROM item", .sql),
      ] {
        let error = await #expect(throws: FlotillaError.self, "\(query)") {
          for try await _ in open.observe([String: SQLValue].self, query) {}
        }
        #expect(error?.code == code, "\(query)")
      }
    }
  }
}
