import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// What `doctor` says of the machine, and what it writes for somebody who helps.
  @Suite struct DoctorTests {
    @Test func `writes a file for helpers that has no rows and no keys in it`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.sql("a.db", "INSERT INTO t VALUES ('secret key', 'secret text')")
        try await desk.succeed("init", "a.db", "--all")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let port = try #require(node.address.split(separator: ":").last)
        // What a command of the operator has printed.
        let log = try #require(FileHandle(forWritingAtPath: node.log))
        try log.seekToEnd()
        try log.write(contentsOf: Data("{\"row\":\"secret\"}\nsecret\n".utf8))
        let said = try await desk.flotilla("doctor", "a.db", "--bundle", "help.json")
        #expect(said.status == 0 && said.error.contains("wrote help.json"), "\(said)")
        #expect(said.output.contains("a node runs on port \(port);"), "\(said)")
        #expect(said.output.contains("ok       disk"), "\(said)")
        let path = desk.path("help.json")
        let data = try Data(contentsOf: URL(filePath: path))
        let parts = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(
          Set(parts.keys) == [
            "made", "version", "machine", "doctor", "status", "members", "tables", "anchor",
            "schema", "log", "log_before", "journal",
          ])
        let text = String(decoding: data, as: UTF8.self)
        #expect(text.contains("CREATE TABLE t") && !text.contains("secret"))
        for key in try keys(desk) { #expect(!text.contains(key)) }
        #expect(!text.contains(#"{"error""#), "\(text)")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let again = try await desk.flotilla("doctor", "a.db", "--bundle", "help.json")
        #expect(again.status == 1 && again.error.contains("File exists"), "\(again)")
        #expect(try Data(contentsOf: URL(filePath: path)) == data)
        try await desk.succeed("stop", "a.db")
        try desk.write("a.db", Data(repeating: 7, count: 4_096))
        let broken = try await desk.flotilla("doctor", "a.db", "--bundle", "broken.json")
        #expect(broken.status == 1, "\(broken)")
        let rest = try String(contentsOfFile: desk.path("broken.json"), encoding: .utf8)
        #expect(rest.contains(#""doctor":{"findings""#) && rest.contains(#""status":{"error""#))
        let nowhere = try await desk.flotilla("doctor", "a.db", "--bundle", "no/help.json")
        #expect(nowhere.status == 1 && nowhere.error.contains("No such file"), "\(nowhere)")
      }
    }

    @Test func `drops rows of tables that nobody tracks, if their author was shut out`()
      async throws
    {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        try await desk.sql("b.db", "INSERT INTO t VALUES ('theirs', 'x')")
        try await desk.succeed("sync", "b.db", node.address)
        try await desk.succeed("stop", "a.db")
        // As if it had sent a row of such a table.
        try await desk.sql(
          "a.db",
          """
          INSERT INTO _flotilla_local(name) VALUES ('invented');
          INSERT INTO _flotilla_version(tbl, key, origin, seq, stamp, hash)
            SELECT l.id, v.key, v.origin, v.seq, v.stamp, v.hash
            FROM _flotilla_author a JOIN _flotilla_origin o ON o.origin = a.origin
            JOIN _flotilla_version v ON v.origin = o.id, _flotilla_local l
            WHERE a.name = 'second' AND l.name = 'invented' LIMIT 1
          """)
        let waits = try await desk.flotilla("doctor", "a.db")
        #expect(
          waits.output.contains("1 row of tables that nobody tracks (invented) wait until"),
          "\(waits)")
        _ = try await desk.flotilla("doctor", "a.db", "--repair")
        let left = "SELECT count(*) FROM _flotilla_local WHERE name = 'invented'"
        #expect(try await desk.sql("a.db", left) == "1")
        try await desk.succeed("revoke", "a.db", "second")
        let found = try await desk.flotilla("doctor", "a.db")
        #expect(found.output.contains("(invented) wait: members that were shut out"), "\(found)")
        let mended = try await desk.flotilla("doctor", "a.db", "--repair")
        #expect(mended.output.contains("(invented) were dropped, on every node"), "\(mended)")
        #expect(try await desk.sql("a.db", left) == "0")
        #expect(try await desk.sql("a.db", "SELECT count(*) FROM t WHERE id = 'theirs'") == "1")
      }
    }

    @Test func `that is to repair looks at all else where a node runs`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let said = try await desk.flotilla("doctor", "a.db", "--repair")
        #expect(said.status == 1, "\(said)")
        for part in ["a node runs for", "cannot be repaired now", "flotilla stop", "is sound"] {
          #expect(said.output.contains(part), "\(part): \(said)")
        }
        _ = node
        // Who does not know the time of the site takes nothing in, and says so.
        try await desk.sql("b.db", "DROP TABLE _flotilla_journal")
        try await desk.sql("b.db", "UPDATE _flotilla_meta SET value = NULL WHERE name = 'clock'")
        let mended = try await desk.flotilla("doctor", "b.db", "--repair")
        #expect(mended.output.contains("once this node knows the time of the site"), "\(mended)")
      }
    }

    /// What is in the files of the folder beside the database that hold secrets.
    private func keys(_ desk: Desk) throws -> [String] {
      let folder = desk.path("a.db-flotilla/keys")
      let files = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(!files.isEmpty)
      return try files.map { file in
        let lines = try String(contentsOfFile: folder + "/" + file, encoding: .utf8)
          .split(separator: "\n")
        try #require(lines.count == 3)
        return String(lines[1])
      }
    }

    @Test func `tells of a disk with no room`() async throws {
      try await Desk.with { desk in
        let small = desk.path("small")
        try FileManager.default.createDirectory(atPath: small, withIntermediateDirectories: true)
        // Only root may; where nobody may, this cannot be tried.
        let mount = ["mount", "-t", "tmpfs", "-o", "size=20m", "none", small]
        guard try await desk.run(mount).status == 0 else { return }
        defer { umount2(small, Int32(MNT_DETACH)) }
        try await desk.make("small/a.db")
        try await desk.succeed("init", "small/a.db", "--all")
        let said = try await desk.flotilla("doctor", "small/a.db")
        #expect(said.status == 0 && said.output.contains("warning  disk"), "\(said)")
        #expect(said.output.contains(" MB free"), "\(said)")
      }
    }

    @Test func `a file system that is read-only is called so`() async throws {
      try await Desk.with { desk in
        let small = desk.path("small")
        try FileManager.default.createDirectory(atPath: small, withIntermediateDirectories: true)
        // Only root may; where nobody may, this cannot be tried.
        let mount = ["mount", "-t", "tmpfs", "-o", "size=20m", "none", small]
        guard try await desk.run(mount).status == 0 else { return }
        defer { umount2(small, Int32(MNT_DETACH)) }
        try await desk.make("small/a.db")
        try await desk.succeed("init", "small/a.db", "--all")
        guard try await desk.run("mount", "-o", "remount,ro", small).status == 0 else { return }
        for words in [
          ["status", "small/a.db"], ["doctor", "small/a.db"], ["run", "small/a.db"],
          ["sql", "small/a.db", "SELECT 1"], ["init", "small/b.db"],
        ] {
          let said = try await desk.run(["flotilla"] + words)
          #expect(said.status == 1, "\(words): \(said)")
          #expect(
            (said.output + said.error).contains(
              "the file system of \(words[1]) is read-only"), "\(words): \(said)")
        }
      }
    }

    /// The findings of `doctor`, as lines.
    private func findings(_ database: String, _ desk: Desk) async throws -> String {
      let said = try await desk.flotilla("doctor", database)
      #expect(said.status == 0, "\(said)")
      return said.output
    }

    @Test func `tells which Flotilla others run, and of the port`() async throws {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db", rows: 3)
        let second = try await desk.start(
          "b.db", "--listen", "127.0.0.1:0", "--peer", first.address)
        #expect(
          try await eventually(within: .seconds(20)) {
            try await desk.flotilla("status", "b.db").status == 0
          })
        for (database, port) in [("a.db", first.port), ("b.db", second.port)] {
          let said = try await findings(database, desk)
          #expect(said.contains("all connected peers speak protocol 5, as this"), "\(said)")
          #expect(said.contains("port \(port) was not tried from outside: all"), "\(said)")
        }
        let status = try await desk.flotilla("status", "a.db", "--json").output
        #expect(status.matches(of: #/"program":"0\.1\.0"/#).count == 2, "\(status)")
        let members = try await desk.flotilla("members", "a.db", "--json").output
        #expect(members.matches(of: #/"program":"0\.1\.0"/#).count == 2, "\(members)")
        try await desk.succeed("stop", "b.db")
        let words = ["python3", "\(Desk.fixtures)/fake-peer.py", "\(first.port)", "newer"]
        async let told = desk.run(words + ["\(desk.folder)/b.db"], within: 60)
        var said = ""
        for _ in 0..<50 where !said.contains("is older than second (protocol 6)") {
          try await Task.sleep(for: .milliseconds(100))
          said = try await findings("a.db", desk)
        }
        #expect(said.contains("warning  version"), "\(said)")
        try await desk.succeed("stop", "a.db")
        _ = try await told
      }
    }

    @Test func `tells of a firewall where nobody is connected`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 3)
        for (file, text, said) in [
          ("ufw/ufw.conf", "ENABLED=yes", "ufw is on, and no peer is connected"),
          (
            "systemd/system/sysinit.target.wants/nftables.service", "x",
            "nftables is on, and no peer is connected"
          ),
        ] {
          let place = desk.path("etc-\(UUID().uuidString.prefix(4))")
          let nft = "table inet f { chain i { type filter hook input priority 0; policy drop; } }"
          for (file, text) in [(file, text), ("nftables.conf", nft)] {
            let folder = URL(filePath: place + "/" + file).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try text.write(toFile: place + "/" + file, atomically: true, encoding: .utf8)
          }
          let mount = "mount -t overlay none -o lowerdir=\(place):/etc /etc"
          // Only root may; where nobody may, this cannot be tried.
          guard try await desk.run("unshare", "-m", "sh", "-c", mount).status == 0 else { return }
          let found = try await desk.run(
            "unshare", "-m", "sh", "-c", mount + " && flotilla doctor a.db")
          #expect(found.output.contains(said), "\(found)")
          #expect(found.output.contains("If port \(node.port) is not open yet: "), "\(found)")
        }
      }
    }

    @Test func `tells of a file in a layer of a container`() async throws {
      try await Desk.with { desk in
        _ = try await desk.run("mkdir", "low", "up", "work", "all")
        try await desk.make("low/a.db")
        let mount = "mount -t overlay none -o lowerdir=low,upperdir=up,workdir=work all"
        // Only root may; where nobody may, this cannot be tried.
        let tried = try await desk.run("unshare", "-m", "sh", "-c", mount)
        guard tried.status == 0 else { return }
        let words = "\(mount) && flotilla init all/a.db --all >&2 && flotilla doctor all/a.db"
        let found = try await desk.run("unshare", "-m", "sh", "-c", words)
        #expect(found.output.contains("warning  file system"), "\(found)")
        #expect(found.output.contains("all/a.db is in a layer of a container"), "\(found)")
      }
    }
  }
}
