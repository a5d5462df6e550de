import Foundation
import Network
import Replication
import SQLite
import Testing

@testable import Flotilla

@Suite(.serialized) struct `An open replica` {
  private func options(to peers: [String] = []) -> RunOptions {
    var options = RunOptions()
    options.listen = "127.0.0.1:0"
    options.peers = peers
    options.discovery = false
    return options
  }

  /// A replica, and the address of the anchor of its site.
  private func besideAnchor(_ site: TestSite) async throws -> (TestReplica, peers: [String]) {
    let a = try await site.replica("a")
    let b = try await site.replica("b")
    let node = try await site.run(a)
    _ = try await a.library.appoint(.here, rule: "client-wins")
    return (b, [try await node.address])
  }

  /// Opens it, and waits until it has all and hears the anchor.
  private func openInSync(_ replica: TestReplica, to peers: [String]) async throws -> OpenReplica {
    let open = try await Replica.open(replica.path, options: options(to: peers))
    #expect(
      try await eventually {
        let isInSync = try await replica.library.status(all: true).in_sync
        let state = try await replica.library.anchor().state
        return isInSync && state == "connected"
      })
    return open
  }

  @Test func `uses the node that runs, and becomes it when that one stops`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let node = try await site.run(a)
      let open = try await Replica.open(a.path, options: options())
      _ = try await open.save(["id": .text("1")], in: "item")
      #expect(try await eventually { await node.position.frontier[node.position.own] > 1 })
      await node.stop()
      _ = try await open.save(["id": .text("2")], in: "item")
      #expect(try await a.library.status(all: false).running)
      await open.close()
      let isRunning = try await a.library.status(all: false).running
      #expect(!isRunning)
      #expect(try a.count() == 2)
    }
  }

  @Test func `whose start in the place of another failed tries it again`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let other = try await site.run(try await site.replica("b"))
      let node = try await site.run(a)
      var options = options()
      options.listen = try await other.address
      let open = try await Replica.open(a.path, options: options)
      await node.stop()
      let error = await #expect(throws: FlotillaError.self) {
        try await open.nextChanges(since: nil)
      }
      #expect(error?.message.contains("is suspended") == false, "\(String(describing: error))")
      await other.stop()
      _ = try await open.nextChanges(since: nil)
      #expect(try await a.library.status(all: false).running)
      await open.close()
    }
  }

  @Test func `goes on after its file was put back, or was away`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let said = Locked<[String]>([])
      let open = try await Replica.open(a.path, options: options()) { line in
        said.withLock { $0.append(line) }
      }
      let copy = site.folder + "/copy.db"
      try a.write("VACUUM INTO '\(copy)'")
      _ = try await open.save(["id": .text("1")], in: "item")
      let runs = try a.rows("SELECT max(rowid) FROM _flotilla_run")
      // What `.restore` of the sqlite3 shell does.
      try a.write(
        """
        ATTACH '\(copy)' AS old; BEGIN; DELETE FROM item; INSERT INTO item SELECT * FROM old.item;
        DELETE FROM _flotilla_origin;
        INSERT INTO _flotilla_origin SELECT * FROM old._flotilla_origin; COMMIT; DETACH old
        """)
      #expect(
        try await eventually(within: .seconds(30)) {
          said.withLock { $0.contains { $0.contains("was put back") } }
        })
      // The node before answers for a while.
      #expect(try await eventually { try a.rows("SELECT max(rowid) FROM _flotilla_run") != runs })
      #expect(try await eventually { try await a.library.status(all: false).running })

      let places = ["", "-wal", "-shm", "-flotilla"].map { a.path + $0 }
      for place in places where access(place, F_OK) == 0 {
        try FileManager.default.moveItem(atPath: place, toPath: place + ".away")
      }
      #expect(
        try await eventually(within: .seconds(30)) {
          said.withLock { $0.contains { $0.contains("was moved, removed or replaced") } }
        })
      // The node says so before its file is closed.
      let refusal = Locked("")
      #expect(
        try await eventually {
          do throws(FlotillaError) {
            _ = try await open.nextChanges(since: nil)
            return false
          } catch {
            refusal.withLock { $0 = error.message }
            return true
          }
        })
      #expect(!refusal.withLock { $0.contains("is suspended") })
      for place in places where access(place + ".away", F_OK) == 0 {
        try FileManager.default.moveItem(atPath: place + ".away", toPath: place)
      }
      _ = try await open.nextChanges(since: nil)
      #expect(try await a.library.status(all: false).running)
      #expect(!said.withLock { $0.contains { $0.contains("stopped by another program") } })
      await open.close()
    }
  }

  @Test func `is what the last call said, also where the one before is under way`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let node = try await site.run(try await site.replica("b"))
      // A node that stops says who is gone before it is done: then it is to take its time.
      let (isToStop, isStopping) = (Locked(false), Locked(false))
      let peers = [try await node.address]
      let open = try await Replica.open(a.path, options: options(to: peers)) { _ in
        guard isToStop.withLock({ $0 }) else { return }
        isStopping.withLock { $0 = true }
        usleep(300_000)
      }
      #expect(try await eventually { await node.connectedCount == 1 })
      isToStop.withLock { $0 = true }
      let suspending = Task { await open.suspend() }
      #expect(try await eventually { isStopping.withLock { $0 } })
      try await open.resume()
      await suspending.value
      _ = try await open.nextChanges(since: nil)
      #expect(try await a.library.status(all: false).running)
      await open.close()
    }
  }

  @Test func `stays suspended, whoever asks before it is`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let node = try await site.run(a)
      let open = try await Replica.open(a.path, options: options())
      await node.stop()
      for _ in 0..<10 {
        // All of them find that nobody is the node while it is being suspended.
        let asking = (0..<8).map { _ in
          Task { try? await open.nextChanges(since: nil, within: .zero) }
        }
        try await Task.sleep(for: .milliseconds(Int.random(in: 0..<20)))
        await open.suspend()
        for task in asking { _ = await task.value }
        let error = await #expect(throws: FlotillaError.self) {
          try await open.nextChanges(since: nil)
        }
        #expect(error?.message.contains("is suspended") == true)
        #expect(try await !a.library.status(all: false).running)
        let other = try await site.run(a)
        try await open.resume()
        await other.stop()
      }
      await open.close()
    }
  }

  @Test func `is one node, whoever asks at once, and none once it is closed`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let node = try await site.run(a)
      let open = try await Replica.open(a.path, options: options())
      await node.stop()
      // All of them find the other node gone.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<8 {
          group.addTask { _ = try await open.save(["id": .text("\(number)")], in: "item") }
        }
        try await group.waitForAll()
      }
      #expect(try await a.library.status(all: false).running)
      await open.close()
      #expect(try await !a.library.status(all: false).running)
      // A start that is under way does not outlast the end.
      for _ in 0..<5 {
        let again = try await Replica.open(a.path, options: options())
        await again.suspend()
        async let resumed: Void? = try? again.resume()
        await again.close()
        _ = await resumed
        #expect(await again.isClosed)
        #expect(try await !a.library.status(all: false).running)
      }
      #expect(try a.count() == 8)
    }
  }

  @Test func `tells what changes, also by plain SQL`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let open = try await Replica.open(a.path, options: options())
      let start = try await open.nextChanges(since: nil).cursor
      let reader = Task {
        var changes: [OpenReplica.Change] = []
        for try await news in open.changes(since: start) where changes.count < 2 {
          changes += news.changes
          if changes.count == 2 { break }
        }
        return changes
      }
      try a.write("INSERT INTO line VALUES ('x', 1, 't')")
      _ = try await open.save(["id": .text("1")], in: "item")
      let changes = try await reader.value
      // In either order: the node may have taken in both together.
      #expect(changes.map(\.table).sorted() == ["item", "line"])
      let line = changes.first { $0.table == "line" }
      #expect(line?.key["item"] == .text("x") && line?.author == "a")
      #expect(line?.row?["text"] == .text("t") && line?.deleted == false)
      // A reader that comes back later misses nothing.
      let again = try await open.nextChanges(since: start)
      #expect(again.changes == changes && !again.reset && !again.more)
      try a.write("DELETE FROM line")
      let gone = try await open.nextChanges(since: again.cursor, tables: ["line"])
      #expect(gone.changes.map(\.deleted) == [true] && gone.changes.first?.row == nil)
      let error = await #expect(throws: FlotillaError.self) {
        try await open.nextChanges(since: "nonsense")
      }
      #expect(error?.code == .usage)
      // Who would wait for nothing is told.
      for (cursor, table, code) in [
        ("nonsense", "line", FlotillaError.Code.usage), (start, "nowhere", .table),
      ] {
        let error = await #expect(throws: FlotillaError.self) {
          for try await _ in open.changes(since: cursor, tables: [table]) {}
        }
        #expect(error?.code == code)
      }
      await open.close()
    }
  }

  @Test func `tells of a table that was renamed, by either name`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let open = try await Replica.open(a.path, options: options())
      let start = try await open.nextChanges(since: nil).cursor
      try a.write("ALTER TABLE item RENAME TO person")
      let reset = try await open.nextChanges(since: start, tables: ["item"])
      #expect(reset.reset)
      _ = try await open.save(["id": .text("1")], in: "person")
      for name in ["item", "person", "PERSON"] {
        let news = try await open.nextChanges(since: reset.cursor, tables: [name])
        #expect(news.changes.map(\.table) == ["person"], "\(name)")
        let keys = try await a.library.changedKeys(
          since: reset.cursor, tables: [name], isExact: false, within: .seconds(10))
        #expect(keys.tables.map(\.name) == ["person"] && keys.rows.count == 1, "\(name)")
      }
      await open.close()
    }
  }

  @Test func `tells each verdict once, also to a program that comes back`() async throws {
    try await TestSite.with { site in
      let (b, peers) = try await besideAnchor(site)
      var open = try await openInSync(b, to: peers)
      for id in ["1", "2", "3"] {
        _ = try await open.save(["id": .text(id)], in: "item").verdict()
      }
      let first = try await take(2, of: open.verdicts(after: 0))
      await open.close()
      open = try await Replica.open(b.path, options: options(to: peers))
      let rest = try await take(1, of: open.verdicts(after: first.last?.number))
      #expect((first + rest).map { $0.key["id"] } == [.text("1"), .text("2"), .text("3")])
      #expect((first + rest).map(\.verdict.verdict) == Array(repeating: "accepted", count: 3))
      // What a file that was put back does not know any more, nobody waits for.
      for number in [try #require(rest.last?.number) + 1, .max] {
        let error = await #expect(throws: FlotillaError.self) {
          for try await _ in open.verdicts(after: number) {}
        }
        #expect(error?.code == .refused)
      }
      await open.close()
    }
  }

  @Test func `tells the verdicts of edits that are made after its file was put back`()
    async throws
  {
    try await TestSite.with { site in
      let (b, peers) = try await besideAnchor(site)
      var open = try await openInSync(b, to: peers)
      let copy = site.folder + "/copy.db"
      try b.write("VACUUM INTO '\(copy)'")
      for id in ["1", "2", "3"] {
        _ = try await open.save(["id": .text(id)], in: "item").verdict()
      }
      let last = try await take(3, of: open.verdicts(after: 0)).last?.number
      await open.close()
      // The folder beside it stays.
      for ending in ["", "-wal", "-shm"] { unlink(b.path + ending) }
      try FileManager.default.copyItem(atPath: copy, toPath: b.path)
      open = try await Replica.open(b.path, options: options(to: peers))
      let told = open.verdicts(after: last)
      for id in ["4", "5", "6", "7", "8"] {
        _ = try await open.save(["id": .text(id)], in: "item").verdict()
      }
      let keys = try await take(5, of: told).map { $0.key["id"] }
      #expect(keys == ["4", "5", "6", "7", "8"].map { SQLValue.text($0) })
      await open.close()
    }
  }

  @Test func `begins where things stood when they were asked for, also while suspended`()
    async throws
  {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let open = try await Replica.open(a.path, options: options())
      let start = try await open.nextChanges(since: nil).cursor
      _ = try await open.save(["id": .text("1")], in: "item")
      _ = try await open.nextChanges(since: start)
      await open.suspend()
      let changes = open.changes()
      // A reader that has waited knows where it begins.
      let begin = try await take(1, of: changes)
      #expect(begin.first?.changes.isEmpty == true && begin.first?.reset == false)
      _ = try await open.save(["id": .text("2")], in: "item")
      try await open.resume()
      let told = try await take(2, of: changes)
      #expect(told.map(\.cursor).first == begin.first?.cursor)
      #expect(told.last?.changes.map { $0.key["id"] } == [.text("2")])
      await open.close()
    }
  }

  private func take<Element: Sendable>(
    _ count: Int, of stream: some AsyncSequence<Element, FlotillaError>
  ) async throws -> [Element] {
    var taken: [Element] = []
    for try await element in stream {
      taken.append(element)
      if taken.count == count { break }
    }
    return taken
  }

  @Test func `says what is wrong with a write, and writes nothing`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let open = try await Replica.open(a.path, options: options())
      _ = try await open.save(["id": .text("1")], in: "item")
      await #expect(throws: FlotillaError.self) {
        try await open.save(["id": .text("1")], in: "item")
      }
      await #expect(throws: FlotillaError.self) { try await open.save([:], in: "nowhere") }
      await #expect(throws: FlotillaError.self) {
        try await open.update("item", key: ["id": .text("9")], set: ["text": .text("x")])
      }
      await #expect(throws: FlotillaError.self) { try await open.remove("item", key: [:]) }
      // Of a part of a key there may be many rows, and of any other column.
      try a.write("INSERT INTO line VALUES ('x', 1, 'a'), ('x', 2, 'b'), ('y', 1, 'c')")
      for key: [String: SQLValue] in [["item": "x"], ["text": "c"]] {
        let part = await #expect(throws: FlotillaError.self) {
          try await open.remove("line", key: key)
        }
        #expect(part?.code == .usage && part?.message.contains("item, number") == true)
        let inside = await #expect(throws: FlotillaError.self) {
          try await open.transaction { try $0.update("line", key: key, set: ["text": "z"]) }
        }
        #expect(inside?.code == .usage)
      }
      #expect(try a.rows("SELECT group_concat(text, '') FROM line") == ["abc"])
      try a.write("CREATE UNIQUE INDEX t ON line(text)")
      _ = try await open.update("line", key: ["TEXT": "c"], set: ["number": 7])
      _ = try await open.remove("line", key: ["Item": "y", "number": 7, "text": "c"])
      #expect(try a.rows("SELECT group_concat(text, '') FROM line") == ["ab"])
      #expect(throws: FlotillaError.self) { try open.query("DELETE FROM item") }
      for statement in ["DROP TABLE item", "PRAGMA user_version = 7", "VACUUM"] {
        let error = await #expect(throws: FlotillaError.self) {
          for try await _ in try open.query(statement) {}
        }
        #expect(error?.message.contains("a query asks for rows") == true)
      }
      // Two statements are refused, whatever stands between them; a query may begin with WITH.
      for statement in [
        "SELECT 1; -- then\nDELETE FROM item", "SELECT 1 /* a */; /* b */ SELECT 2",
      ] {
        let error = await #expect(throws: FlotillaError.self) { try await open.read(statement) }
        #expect(error?.message.contains("one statement at a time") == true)
      }
      #expect(try await open.read("SELECT 1; -- the end\n;").rows == [[1]])
      let query = try open.query("WITH n AS (SELECT id FROM item) SELECT id FROM n")
      for try await answer in query { #expect(answer.report.rows == [["1"]]) }
      let error = await #expect(throws: FlotillaError.self) {
        try await open.save(["id": .text("2")], in: "item").verdict()
      }
      #expect(error?.code == .noAnchor)
      #expect(try a.count() == 2)
      await open.close()
      await #expect(throws: FlotillaError.self) { try await open.resume() }
    }
  }

  @Test func `writes one row by its key, also where the column takes two keys for one`()
    async throws
  {
    try await TestSite.with { site in
      let a = try await site.replica(
        "a",
        schema: """
          CREATE TABLE item(id INTEGER PRIMARY KEY, code TEXT COLLATE NOCASE);
          CREATE UNIQUE INDEX one ON item(code COLLATE BINARY);
          """)
      let open = try await Replica.open(a.path, options: options())
      try a.write("INSERT INTO item VALUES (1, 'a'), (2, 'A'), (3, 'b')")
      let error = await #expect(throws: FlotillaError.self) {
        try await open.remove("item", key: ["code": "a"])
      }
      #expect(error?.code == .usage && error?.message.contains("several rows of item") == true)
      let inside = await #expect(throws: FlotillaError.self) {
        try await open.transaction {
          try $0.save(["id": 4, "code": "c"], in: "item")
          try $0.update("item", key: ["code": "A"], set: ["code": "z"])
        }
      }
      #expect(inside?.code == .usage)
      #expect(try a.rows("SELECT group_concat(code, '') FROM item") == ["aAb"])
      _ = try await open.update("item", key: ["code": "B"], set: ["code": "d"])
      #expect(try a.rows("SELECT group_concat(code, '') FROM item") == ["aAd"])
      await open.close()
    }
  }

  @Test func `writes to a table that was renamed`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let open = try await Replica.open(a.path, options: options())
      try a.write("ALTER TABLE item RENAME TO person")
      let saved = try await open.save(["id": .text("1")], in: "person")
      #expect(saved.local.map(\.table) == ["person"] && saved.local.first?.values?[0] == "1")
      #expect(try a.count("person") == 1)
      await open.close()
    }
  }

  @Test func `takes literals for values`() {
    let row: [String: SQLValue] = ["a": 7, "b": 0.5, "c": "text", "d": nil]
    #expect(row == ["a": .integer(7), "b": .real(0.5), "c": .text("text"), "d": .null])
  }

  @Test func `is no plain file, and none that is not there`() async throws {
    try await TestSite.with { site in
      let path = site.folder + "/plain.db"
      for isThere in [false, true] {
        if isThere { try Connection(path: path, mode: .create).execute("CREATE TABLE t(a)") }
        let error = await #expect(throws: FlotillaError.self) {
          try await Replica.open(path, options: options())
        }
        #expect(error?.code == (isThere ? .notInitialised : .notADatabase))
      }
    }
  }

  @Test func `shows a row with NULL in its key, which nobody judges`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica(
        "a", schema: "CREATE TABLE item(id TEXT PRIMARY KEY, text TEXT)")
      let open = try await Replica.open(a.path, options: options())
      let receipt = try await open.save(["id": .null, "text": .text("x")], in: "item")
      #expect(receipt.local.first?.values == [.null, .text("x")])
      let error = await #expect(throws: FlotillaError.self) { try await receipt.verdict() }
      #expect(error?.code == .table)
      await open.close()
    }
  }
}
