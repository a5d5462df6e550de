import SQLite
import Testing

@testable import Store

/// A row that breaks the rules of its table does not damage its file.
@Suite struct QuickCheckTests {
  @Test func `a computed value that is not of its type is no damage`() throws {
    let connection = try Connection(path: ":memory:")
    try connection.execute(
      """
      CREATE TABLE st(id INTEGER PRIMARY KEY, v INT AS (id + 1) VIRTUAL) STRICT;
      CREATE TABLE ch(id INTEGER PRIMARY KEY, w INTEGER CHECK (w > 0));
      """)
    var look = try QuickCheck(connection)
    #expect(look.damage == nil && look.breach == nil && look.misfit == nil)
    try connection.execute(
      """
      INSERT INTO st VALUES (9223372036854775807);
      PRAGMA ignore_check_constraints = ON; INSERT INTO ch VALUES (1, -1);
      PRAGMA ignore_check_constraints = OFF
      """)
    look = try QuickCheck(connection)
    #expect(look.damage == nil)
    #expect(look.misfit == "non-INT value in st.v")
    #expect(look.breach == "CHECK constraint failed in ch")
  }
}
