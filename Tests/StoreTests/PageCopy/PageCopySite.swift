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
    let exempt = exempt
    try graft.takeOver { _ in
      let surety = Surety(exempt: { exempt }) { reach in
        reach.signature == Array(repeating: 1, count: Reach.signatureLength)
      }
      return ([], surety)
    }
    try received.checkPages()
    let versions = try received.checkVersions()
    try received.compare(try received.checkRows(), versions, try received.checkIndexes())
    try graft.finish()
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
