import Foundation
import SQLite
import Testing

@testable import Gateway

@Suite struct `The shapes of tables` {
  private func columns(_ table: String, in file: OpenFile) throws -> [String] {
    try file.shape(of: table).columns.map(\.name)
  }

  /// As the node makes it for a table that is replicated.
  private func table(_ name: String, _ column: String) -> String {
    """
    CREATE TABLE "\(name)"(id INTEGER PRIMARY KEY, \(column));
    CREATE VIEW "_flotilla_rows_\(name)" AS SELECT 1;
    """
  }

  @Test func `are read again when another program has changed the schema`() throws {
    let path = NSTemporaryDirectory() + "flotilla-shape-\(UUID().uuidString).db"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let other = try Connection(path: path, mode: .create)
    try other.execute(table("t", "v"))
    let file = OpenFile(try Connection(path: path))
    #expect(try columns("t", in: file) == ["id", "v"])
    try other.execute("ALTER TABLE t ADD COLUMN w")
    #expect(try columns("t", in: file) == ["id", "v", "w"])
    // One that came back is told of as it is now; one that is replicated no more is gone.
    try other.execute("DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
    #expect(try columns("t", in: file) == ["id", "x"])
    try other.execute("DROP VIEW _flotilla_rows_t")
    let problem = #expect(throws: Problem.self) { try file.shape(of: "t") }
    #expect(problem?.status == 404)
    try other.execute("CREATE VIEW _flotilla_rows_t AS SELECT 1")
    #expect(try columns("t", in: file) == ["id", "x"])
  }

  @Test func `are those of the name as its bytes say it`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
    try connection.execute(table(composed, "a") + table(decomposed, "b"))
    let file = OpenFile(connection)
    #expect(try columns(composed, in: file) == ["id", "a"])
    #expect(try columns(decomposed, in: file) == ["id", "b"])
  }
}
