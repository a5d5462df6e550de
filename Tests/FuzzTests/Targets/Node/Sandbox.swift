import Foundation
import Replication
import SQLite

@testable import Store

/// A small replica in a file of this process, as new for each input.
struct Sandbox {
  /// In memory if the machine has such a place: thousands of files a minute are no good for disks.
  ///
  /// Its name is new, for a run that was killed leaves its own behind and numbers of processes
  /// come again.
  private static let folder: String = {
    let place = access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : NSTemporaryDirectory()
    let folder = place + "flotilla-fuzz-\(UUID().uuidString)"
    demand(mkdir(folder, 0o700) == 0, "mkdir: \(String(cString: strerror(errno)))")
    atexit { try? FileManager.default.removeItem(atPath: Sandbox.folder) }
    return folder
  }()
  private static let node = Identity(high: 5, low: 5)
  static let now = Instant(uptime: 1_000, wall: 1_800_000_000_000)

  /// Tables with keys, constraints and defaults of many kinds; `secret` is not tracked.
  static let tracked = ["t", "pair", "firm", "person", "line"]
  static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT UNIQUE, n INT DEFAULT 7 CHECK(n < 100));
    CREATE TABLE pair(a TEXT COLLATE NOCASE, b, d AS (a || b), PRIMARY KEY(a, b)) WITHOUT ROWID;
    CREATE TABLE firm(k TEXT PRIMARY KEY COLLATE RTRIM, r REAL NOT NULL DEFAULT 1.5) STRICT;
    CREATE TABLE person(id INTEGER PRIMARY KEY AUTOINCREMENT, boss INTEGER REFERENCES person, v);
    CREATE TABLE line(person INTEGER REFERENCES person, n INTEGER, v, PRIMARY KEY(person, n));
    CREATE TABLE secret(name TEXT PRIMARY KEY, value);
    INSERT INTO person VALUES (1, NULL, 'mine'), (2, 1, 'mine');
    INSERT INTO line VALUES (1, 1, 'mine'), (2, 1, 'mine');
    INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2);
    INSERT INTO pair VALUES ('x', 'y');
    INSERT INTO secret VALUES ('k', 'v');
    """

  let path: String

  /// Makes the file anew, from a copy in memory.
  init(_ name: String, schema: String, tracking: [String]) throws {
    self.path = "\(Self.folder)/\(name).db"
    for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
    let template = "\(Self.folder)/\(name).template"
    if access(template, R_OK) != 0 {
      try Self.make(template, schema: schema, tracking: tracking)
    }
    Self.copy(template, to: path)
  }

  private static func make(_ path: String, schema: String, tracking: [String]) throws {
    try Connection(path: path, mode: .create).execute(schema + "\nPRAGMA user_version = 1;")
    try ReplicaFile.initialise(
      path: path,
      as: ReplicaFile.Identities(
        site: Identity(high: 1, low: 1), siteName: "site", node: node, nodeName: "node",
        origin: Origin(rawValue: 1)))
    let store = try Store(path: path)
    if !tracking.isEmpty { try store.track(tracking, rule: nil, at: now) }
    while try store.fold(at: now).hasMore {}
  }

  /// Copies a file, however often a signal comes in between.
  ///
  /// libFuzzer's timer interrupts a call every few seconds, for it sets no SA_RESTART, and
  /// Foundation takes that for an error of its copying.
  private static func copy(_ source: String, to target: String) {
    func call(_ name: String, _ body: () -> Int) -> Int {
      while true {
        let result = body()
        if result >= 0 { return result }
        demand(errno == EINTR, "\(name) \(target): \(String(cString: strerror(errno)))")
      }
    }
    let input = call("open") { Int(open(source, O_RDONLY | O_CLOEXEC)) }
    let output = call("create") {
      Int(open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600))
    }
    defer { for descriptor in [input, output] { close(Int32(descriptor)) } }
    while call("copy", { sendfile(Int32(output), Int32(input), nil, 1 << 20) }) > 0 {}
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

  /// Every object of the file but the triggers and views that come and go with the tracking of a
  /// table, and who the replica is; not what is noted of references, rows that wait and stamps.
  func tables() throws -> [String] {
    try rows(
      """
      SELECT type, name, sql FROM sqlite_schema
      WHERE type <> 'trigger' AND NOT (type = 'view' AND name GLOB '_flotilla_rows_*')
      ORDER BY 1, 2
      """)
      + rows(
        """
        SELECT * FROM _flotilla_meta WHERE name NOT IN ('references', 'sparedFrom', 'newestStamp')
        ORDER BY 1
        """)
  }
}

/// What went wrong in a sandbox, with the code and the SQL that tell where.
func explain(_ error: any Error) -> String {
  let cause = error as? SQLiteError ?? (error as? StoreError)?.cause
  guard let cause else { return "\(type(of: error)): \(error)" }
  return "\(type(of: error)): \(error), SQLite \(cause.code), by \(cause.sql ?? "no statement")"
}
