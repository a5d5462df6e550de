import Foundation
import Glibc
import Testing

/// A server that has no room, or says nothing any more.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A server in need` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT);
    INSERT INTO t VALUES (1, 'v'); INSERT INTO u VALUES (1, 'v');
    """

  /// Its one file may grow to this.
  private static func room(_ megabytes: Int) -> [String] {
    [
      "--innodb-file-per-table=0",
      "--innodb-data-file-path=ibdata1:12M:autoextend:max:\(megabytes)M",
    ]
  }

  @Test func `gets everything when its disk is not full any more`() async throws {
    try await Office.with { office in
      try await office.end(try #require(office.daemon))
      let server = try await office.startServer(Self.room(24))
      _ = try await office.open(Self.schema, "--create")
      try await office.site(
        """
        WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
          INSERT INTO t SELECT i, hex(randomblob(10000)) FROM n;
        """)
      let says = try await eventually {
        (try await office.status()["trouble"] as? String)?.contains("full") == true
      }
      let status = try await office.status()
      #expect(says, "\(status)")
      // What programs of the server still do comes in.
      try await office.server("UPDATE u SET v = 'office'")
      try await office.siteComesTo("office", "SELECT v FROM u")
      try await office.end(server)
      try await office.startServer(Self.room(400))
      try await office.serverComesTo("3000", "SELECT count(*) FROM t")
      try await office.isInSync()
      let digest = "SELECT count(*), sum(length(v)), max(v), min(v) FROM t"
      #expect(try await office.server(digest) == office.site(digest))
    }
  }

  /// A disk of its own, which a file of somebody else fills.
  @Test(.enabled(if: getuid() == 0, "only root can mount"))
  func `goes on when there is room on a disk that was full`() async throws {
    try await Office.with { office in
      try await office.end(try #require(office.daemon))
      let moved = try await office.run(["mv", office.path("data"), office.path("before")])
      #expect(moved.status == 0)
      mkdir(office.path("data"), 0o755)
      // Who has the disk, whatever becomes of the server.
      let holder = try office.start(
        [
          "unshare", "-m", "sh", "-c",
          "mount -t tmpfs -o size=400m tmpfs data && cp -a before/. data && touch there && "
            + "exec sleep 900",
        ], "holder")
      let isThere = try await eventually {
        FileManager.default.fileExists(atPath: office.path("there"))
      }
      try #require(isThere)
      let entry = ["nsenter", "-t", "\(holder.processIdentifier)", "-m"]
      let server = try await office.startServer(["--user=root"], behind: entry)
      let disk = "/proc/\(holder.processIdentifier)/root\(office.path("data"))"
      _ = try await office.open(Self.schema, "--create")
      try await office.isInSync()
      let filled = try await office.run(
        ["sh", "-c", "dd if=/dev/zero of=\(disk)/ballast bs=64k || true"])
      #expect(filled.text.contains("No space left"), "\(filled.text)")
      try await office.site(
        """
        WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
          INSERT INTO t SELECT i, hex(randomblob(10000)) FROM n;
        """)
      let says = try await eventually {
        (try await office.status()["trouble"] as? String) != nil
      }
      let status = try await office.status()
      #expect(says, "\(status)")
      try await Task.sleep(for: .seconds(5))
      try FileManager.default.removeItem(atPath: disk + "/ballast")
      // Some servers end where they find no room.
      if !server.isRunning { try await office.startServer(["--user=root"], behind: entry) }
      try await office.serverComesTo("3000", "SELECT count(*) FROM t")
      try await office.server("UPDATE u SET v = 'office'")
      try await office.siteComesTo("office", "SELECT v FROM u")
      try await office.isInSync()
      let digest = "SELECT count(*), sum(length(v)), max(v), min(v) FROM t"
      #expect(try await office.server(digest) == office.site(digest))
    }
  }

  @Test func `does not keep the node from ending`() async throws {
    try await Office.with { office in
      let node = try await office.open(Self.schema, "--create")
      let server = try #require(office.daemon)
      kill(server.processIdentifier, SIGSTOP)
      defer { kill(server.processIdentifier, SIGCONT) }
      // It is asked several times a second.
      try await Task.sleep(for: .seconds(3))
      kill(node.processIdentifier, SIGTERM)
      // A connection waits for an answer for a minute.
      let end = ContinuousClock.now + .seconds(40)
      while node.isRunning, ContinuousClock.now < end {
        try await Task.sleep(for: .milliseconds(50))
      }
      #expect(!node.isRunning)
    }
  }
}
