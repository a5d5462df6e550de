import Foundation
import Replication
import SQLite
import Testing

@testable import Store

/// A replica, and the file of one that has just joined and gets its pages.
struct PageCopySite {
  static let schema = """
    CREATE TABLE item(id BLOB PRIMARY KEY, name TEXT, qty INTEGER DEFAULT 0, price REAL, note TEXT);
    CREATE INDEX item_name ON item(name COLLATE NOCASE, qty DESC);
    CREATE TABLE line(item BLOB REFERENCES item, n INTEGER, t TEXT COLLATE NOCASE,
      PRIMARY KEY(item, n)) WITHOUT ROWID;
    CREATE TABLE tag(t TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, n INTEGER UNIQUE);
    CREATE TABLE seen(id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL);
    CREATE TABLE secret(id INTEGER PRIMARY KEY, word TEXT);
    CREATE VIEW both AS SELECT name, t FROM item JOIN line ON item.id = line.item;
    CREATE TRIGGER count AFTER INSERT ON line BEGIN UPDATE item SET qty = qty + 1
      WHERE id = NEW.item; END;
    """
  static let tracked = ["item", "line", "tag", "seen"]

  let a: TestReplica
  let folder: String
  /// Nil if the site is not closed.
  var exempt: Set<Origin>?
  /// Who was appointed; nil if nobody signs that.
  var appointees: Appointees?

  init(schema: String = Self.schema, tracking: [String] = Self.tracked) throws {
    a = try TestReplica(1, schema: schema, tracking: tracking, isJoining: false)
    folder = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  var pages: String { folder + "/pages" }
  var joiner: String { folder + "/b.db" }

  func fill(_ count: Int = 500) throws {
    try a.write(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO item SELECT randomblob(16), 'Item ' || i, i % 7, i / 3.0, hex(randomblob(40))
      FROM n;
      INSERT INTO line SELECT id, 1, 'Line' FROM item WHERE qty > 4;
      INSERT INTO tag SELECT 'Tag' || name, qty * 1000 + rowid FROM item WHERE qty = 1;
      INSERT INTO seen(at) SELECT price FROM item LIMIT 20;
      """)
    try a.foldAll()
    try a.write("DELETE FROM item WHERE qty = 2; INSERT INTO secret VALUES(1, 'SESAME')")
    try a.foldAll()
  }

  /// What the inviter sends.
  @discardableResult
  func make() throws -> PageSource.Made {
    try? FileManager.default.removeItem(atPath: pages)
    return try a.store.openPages(to: pages, at: a.now).make()
  }

  /// The file of a joiner right after it was let in.
  func join() throws {
    try? FileManager.default.removeItem(atPath: joiner)
    _ = try Connection(path: joiner, mode: .create).rows("PRAGMA user_version")
    try ReplicaFile.initialise(
      path: joiner,
      as: ReplicaFile.Identities(
        site: TestReplica.site, siteName: "Test", node: Identity(high: 2, low: 0), nodeName: "b",
        origin: Origin(rawValue: 2 << 60 | 2)),
      creating: try a.store.schemaCopy.objects(),
      copying: FirstCopy(inviter: a.store.node, name: "a", address: "127.0.0.1:1", rows: 1))
  }

  /// All that the joiner does with the pages.
  func adopt() throws {
    let received = ReceivedPages(path: pages)
    let graft = try PageGraft(received, into: joiner)
    let (exempt, appointees) = (exempt, appointees)
    let moment = a.now.moment
    let sealed = try graft.takeOver(at: moment) { _ in
      let surety = Surety(
        exempt: { exempt }, appointees: { appointees }, isNamed: { _ in true }
      ) { reach in
        reach.signature == Array(repeating: 1, count: Reach.signatureLength)
      }
      return ([], surety)
    }
    try received.checkPages()
    let versions = try received.checkVersions(by: sealed, at: moment)
    try received.compare(try received.checkRows(), versions, try received.checkIndexes())
    try graft.finish(versions)
  }

  /// The replica that has come of it.
  func copied() throws -> Store {
    try make()
    try join()
    try adopt()
    return try Store(path: joiner)
  }

  func rows(_ sql: String) throws -> [String] { try Connection(path: joiner).prepareRows(sql) }
}

extension PageCopySite {
  /// Makes the digest in the pages that of the versions in them, as a liar would.
  func recount() throws {
    let copy = try Connection(path: pages)
    var names: [Int64: UInt64] = [:]
    for row in try copy.rows("SELECT id, name FROM _flotilla_local") {
      if let id = row[0].integer, let name = row[1].string { names[id] = tableSeed(name) }
    }
    let origins = try Origins(copy)
    var digest = Digest()
    for row in try copy.rows("SELECT tbl, key, origin, seq, hash FROM _flotilla_version") {
      guard let hash = row[4].integer, let key = row[1].blob, let table = row[0].integer,
        let seed = names[table], let number = row[2].integer,
        let origin = origins.origin(of: number), let seq = row[3].integer
      else { continue }
      digest.add(
        place: hash64(key, seed: seed), Dot(origin, UInt64(clamping: seq)),
        hash: UInt64(bitPattern: hash))
    }
    try copy.execute("DELETE FROM _flotilla_digest")
    for (bucket, sum) in digest.buckets.enumerated() where sum != 0 {
      try copy.run(
        "INSERT INTO _flotilla_digest VALUES(?, ?)",
        [.integer(Int64(bucket)), .integer(Int64(bitPattern: sum))])
    }
  }
}
