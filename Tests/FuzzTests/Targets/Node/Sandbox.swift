import Foundation
import Replication
import SQLite

@testable import Store

/// A small replica in a file of this process, as new for each input.
struct Sandbox {
  /// In memory if the machine has such a place: thousands of files a minute are no good for disks.
  private static let folder =
    (access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : NSTemporaryDirectory())
    + "flotilla-fuzz-\(getpid())"
  private static let node = Identity(high: 5, low: 5)
  static let now = Instant(uptime: 1_000, wall: 1_800_000_000_000)

  /// Tables with keys, constraints and defaults of many kinds; `secret` is not tracked.
  static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT UNIQUE, n INT DEFAULT 7 CHECK(n < 100));
    CREATE TABLE pair(a TEXT COLLATE NOCASE, b, d AS (a || b), PRIMARY KEY(a, b)) WITHOUT ROWID;
    CREATE TABLE firm(k TEXT PRIMARY KEY COLLATE RTRIM, r REAL NOT NULL DEFAULT 1.5) STRICT;
    CREATE TABLE secret(name TEXT PRIMARY KEY, value);
    INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2);
    INSERT INTO pair VALUES ('x', 'y');
    INSERT INTO secret VALUES ('k', 'v');
    """

  let path: String

  /// Makes the file anew, from a copy in memory.
  init(_ name: String, schema: String, tracking: [String]) throws {
    self.path = "\(Self.folder)/\(name).db"
    try FileManager.default.createDirectory(atPath: Self.folder, withIntermediateDirectories: true)
    for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
    let template = "\(Self.folder)/\(name).template"
    if access(template, R_OK) != 0 {
      try Self.make(template, schema: schema, tracking: tracking)
    }
    try FileManager.default.copyItem(atPath: template, toPath: path)
  }

  private static func make(_ path: String, schema: String, tracking: [String]) throws {
    atexit { try? FileManager.default.removeItem(atPath: Sandbox.folder) }
    try Connection(path: path, mode: .create).execute(schema + "\nPRAGMA user_version = 1;")
    try Store.initialise(
      path: path,
      as: Store.Identities(
        site: Identity(high: 1, low: 1), siteName: "site", node: node, nodeName: "node",
        origin: Origin(rawValue: 1)))
    let store = try Store(path: path)
    if !tracking.isEmpty { try store.track(tracking, rule: nil, at: now) }
    while try store.fold(at: now).hasMore {}
  }

  /// All rows of a query, as text.
  func rows(_ sql: String) throws -> [String] {
    try Connection(path: path).rows(sql).map { "\($0)" }
  }

  /// The file is whole, and it has the tables that it had.
  func expectWhole(since schema: [String]) throws {
    let verdict = try Connection(path: path).rows("PRAGMA integrity_check").map { $0[0].string }
    demand(verdict == ["ok"], "\(verdict)")
    let now = try tables()
    demand(now == schema, "\(now) was \(schema)")
  }

  /// Every object of the file but Flotilla's triggers, and who the replica is.
  func tables() throws -> [String] {
    try rows("SELECT type, name, sql FROM sqlite_schema WHERE type <> 'trigger' ORDER BY 1, 2")
      + rows("SELECT * FROM _flotilla_meta ORDER BY 1")
  }
}
