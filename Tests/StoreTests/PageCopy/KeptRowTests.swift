import Replication
import SQLite
import Testing

@testable import Store

/// Rows of a first copy as pages that wait beside their table: they are what their versions say.
@Suite struct KeptRowTests {
  /// Pages in which one row of `item` waits, with a note so long, after a change of its content.
  private func adopt(
    _ noteBytes: Int, why: Shelf.Why = .constraint, pending: Bool = false, standing: Bool = false,
    _ change: (inout Shelf.Entry) -> Void
  ) throws -> [String] {
    let site = try PageCopySite()
    try site.fill(20)
    let note = String(repeating: "long ", count: noteBytes / 5)
    try site.a.write("INSERT INTO item VALUES (x'FF', 'it''s', 0, 1.5, '\(note)')")
    try site.a.foldAll()
    try site.make()
    try site.join()
    let copy = try Connection(path: site.pages)
    let row = try #require(
      try copy.row("SELECT id, name, qty, price, note FROM item WHERE id = x'FF'"))
    var entry = Shelf.Entry(
      why: why,
      values: zip(["id", "name", "qty", "price", "note"], row.map(Replication.Value.init))
        .map { (name: $0, value: $1) }, keyCount: 1)
    change(&entry)
    let key = try #require(Key([.blob([0xFF])], collations: [.binary])).bytes
    let table = try copy.scalar("SELECT id FROM _flotilla_local WHERE name = 'item'")
    if pending {
      try copy.run(
        """
        INSERT INTO _flotilla_pending(tbl, key, \(VersionTable.columns), row)
        SELECT tbl, key, \(VersionTable.columns), ? FROM _flotilla_version
        WHERE tbl = ? AND key = ?
        """, [.blob(Shelf.encode(entry)), table, .blob(key)])
    } else {
      try copy.run(
        "INSERT INTO _flotilla_shelf VALUES (?, ?, ?, ?, NULL)",
        [table, .blob(key), .string(why.rawValue), .blob(Shelf.encode(entry))])
    }
    if !pending, !standing { try copy.execute("DELETE FROM item WHERE id = x'FF'") }
    do {
      try site.adopt()
    } catch let error as StoreError {
      #expect(error.code == .rowsOnly)
      return [error.message]
    }
    return try site.rows(
      "SELECT length(row) > \(noteBytes) FROM _flotilla_\(pending ? "pending" : "shelf")")
  }

  private static let lengths = [10, 70_000, 2_000_000]

  @Test(arguments: lengths, [false, true])
  func `a row that waits as its version says comes`(length: Int, pending: Bool) throws {
    #expect(try adopt(length, pending: pending) { _ in } == ["1"])
    // Columns come in any order.
    let sorted = try adopt(length, pending: pending) { $0.values[1...].reverse() }
    #expect(sorted == ["1"])
  }

  @Test(arguments: lengths, [false, true])
  func `a row that waits with another content than its version says is none`(
    length: Int, pending: Bool
  ) throws {
    let changes: [(inout Shelf.Entry) -> Void] = [
      { $0.values[1].value = .text(Array("yours".utf8)) },
      { $0.values[4].value = .null },
      { entry in
        guard case .text(var bytes) = entry.values[4].value else { return }
        bytes[bytes.count - 1] ^= 1
        entry.values[4].value = .text(bytes)
      },
      { $0.values[2].value = .integer(7) },
      { $0.values.append((name: "more", value: .integer(7))) },
      { $0.values.removeLast() },
      { $0.rest = 5 },
    ]
    for change in changes {
      let error = try adopt(length, pending: pending, change)
      #expect(error == ["a row beside its table is not as its version says"])
    }
  }

  @Test func `a row that was never written does not wait`() throws {
    let error = try adopt(10, why: .reference) { entry in
      entry.values[0].value = .blob([0xFE])
    }
    #expect(error == ["a row beside its table has another key"])
    let large = try adopt(10, why: .tooLarge) { _ in }
    #expect(large == ["a row beside its table is none"])
  }

  @Test func `what is kept beside is read to its end and no further`() throws {
    var entry = Shelf.Entry(
      why: .constraint,
      values: [
        ("id", .blob([1])), ("name", .text([0x61])), ("qty", .integer(-3)), ("price", .real(1.5)),
        ("note", .null),
      ], keyCount: 1)
    entry.rest = 9
    let bytes = Shelf.encode(entry)
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, row BLOB)")
    func read(_ bytes: [UInt8]) throws -> KeptRow {
      try connection.run("INSERT OR REPLACE INTO t VALUES (1, ?)", [.blob(bytes)])
      return try KeptRow(
        try BlobReader(table: "t", column: "row", row: 1, on: connection), keyBytes: 9)
    }
    let row = try read(bytes)
    #expect(row.parts.map(\.value) == entry.values.map(\.value))
    #expect(row.parts.map(\.hash) == entry.values.map { ContentHash.content($0.value) })
    #expect(row.rest == 9 && row.keyCount == 1)
    for end in 0..<bytes.count where end != bytes.count - 8 {
      #expect(throws: SQLiteError.self) { try read(Array(bytes[..<end])) }
    }
    #expect(throws: SQLiteError.self) { try read(bytes + [0]) }
    #expect(throws: SQLiteError.self) {
      try read([1, 1, 1, 0x61, 4, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F])
    }
  }
}
