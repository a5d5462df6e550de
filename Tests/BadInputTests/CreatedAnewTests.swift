import Testing

extension BadInputTests {
  /// Tables that a program drops and creates while their nodes run.
  @Suite struct CreatedAnewTests {
    @Test(arguments: [(0, true), (3, true), (3, false)])
    func `the rows of a table that is dropped and created come back by themselves`(
      _ more: Int, _ isAtOnce: Bool
    ) async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        for number in 0..<more {
          try await desk.sql("b.db", "INSERT INTO t VALUES ('more\(number)', 'x')")
        }
        try await desk.succeed("wait", "b.db", "--for", "first")
        let creating = "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT, w)"
        if isAtOnce {
          try await desk.sql("a.db", "BEGIN; DROP TABLE t; \(creating); COMMIT")
        } else {
          try await desk.sql("a.db", "DROP TABLE t")
          let isSeen = try await eventually(within: .seconds(20)) {
            try await desk.flotilla("status", "a.db").status == 3
          }
          #expect(isSeen)
          try await desk.sql("a.db", creating)
        }
        // Nobody writes anything, so nothing but this tells the other one.
        let areBack = try await eventually(within: .seconds(40)) {
          try await desk.sql("a.db", "SELECT count(*) FROM t") == "\(20 + more)"
        }
        #expect(areBack)
        let isInSync = try await eventually(within: .seconds(20)) {
          try await desk.flotilla("status", "a.db").status == 0
        }
        #expect(isInSync)
        #expect(try await desk.flotilla("verify", "a.db").status == 0)
      }
    }

    @Test func `rows that no machine has any more are told with what ends it`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let anew = "BEGIN; DROP TABLE t; CREATE TABLE t(id TEXT PRIMARY KEY, v TEXT); COMMIT"
        try await desk.sql("b.db", "INSERT INTO t VALUES ('more', 'x')")
        try await desk.succeed("sync", "b.db", node.address)
        try await desk.sql("b.db", anew)
        try await desk.sql("a.db", anew)
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        let isTold = try await eventually(within: .seconds(20)) {
          try await desk.flotilla("status", "a.db").output.contains(
            "that went with table t of first have not come again (if no machine has them any more: "
              + "flotilla untrack a.db t, then track it)")
        }
        #expect(isTold)
        try await desk.succeed("untrack", "a.db", "t")
        try await desk.succeed("track", "a.db", "t")
        let isOver = try await eventually(within: .seconds(20)) {
          try await desk.flotilla("status", "a.db").status == 0
        }
        #expect(isOver)
      }
    }
  }
}
