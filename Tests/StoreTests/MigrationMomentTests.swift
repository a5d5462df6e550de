import SQLite
import Testing

@testable import Store

/// Another program migrates while the node looks at what was written, at each moment at which that
/// can be.
@Suite("A migration in the middle of a fold") struct MigrationMomentTests {
  private static let schema = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT)"
  private static let migration = """
    BEGIN IMMEDIATE;
    ALTER TABLE note ADD COLUMN place TEXT;
    UPDATE note SET place = 'filled' WHERE id <> 'theirs';
    COMMIT
    """

  private func replica(_ number: UInt64) throws -> TestReplica {
    try TestReplica(number, schema: Self.schema, tracking: ["note"])
  }

  /// Folds, and migrates from another connection once SQLite has gone so many times so many steps
  /// for the node, or later if that has the write lock then; false if it came to its end before.
  private func fold(
    _ replica: TestReplica, migratingAt moment: Int, of steps: Int
  ) throws -> Bool {
    let application = try Connection(path: replica.path)
    var (seen, isDone) = (0, false)
    replica.store.connection.setWatch(every: steps) {
      seen += 1
      guard seen > moment, !isDone else { return true }
      do {
        try application.execute(Self.migration)
        isDone = true
      } catch {
        application.rollBack()
      }
      return true
    }
    defer { replica.store.connection.setWatch(every: 0, nil) }
    try replica.foldAll()
    return isDone
  }

  private func places(_ replica: TestReplica) throws -> [String?] {
    try replica.application.rows("SELECT place FROM note ORDER BY id").map { $0[0].string }
  }

  /// The moments, until the fold is over before.
  private func atEachMoment(_ body: (Int) throws -> Bool) throws {
    var moment = 0
    while try body(moment) { moment += 1 }
    #expect(moment > 20, "too few moments to tell")
  }

  @Test func `loses no value of the new column`() throws {
    try atEachMoment { moment in
      let a = try replica(1)
      try a.write("INSERT INTO note VALUES ('mine', 'x'), ('other', 'y')")
      guard try fold(a, migratingAt: moment, of: 4) else { return false }
      try a.foldAll()
      let b = try replica(2)
      try b.write("ALTER TABLE note ADD COLUMN place TEXT")
      try b.pull(from: a)
      #expect(try places(b) == ["filled", "filled"], "at moment \(moment)")
      return true
    }
  }

  @Test func `loses none where values of others wait for the column`() throws {
    try atEachMoment { moment in
      let (a, b) = (try replica(1), try replica(2))
      try b.write("ALTER TABLE note ADD COLUMN place TEXT")
      try b.write("INSERT INTO note VALUES ('theirs', 'z', 'there')")
      try b.foldAll()
      try a.write("INSERT INTO note VALUES ('mine', 'x')")
      try a.foldAll()
      try a.pull(from: b)
      try a.write("CREATE TABLE place(id TEXT PRIMARY KEY)")
      guard try fold(a, migratingAt: moment, of: 40) else { return false }
      try a.foldAll()
      #expect(try places(a) == ["filled", "there"], "at moment \(moment)")
      try b.pull(from: a)
      #expect(try places(b) == ["filled", "there"], "at moment \(moment)")
      return true
    }
  }
}
