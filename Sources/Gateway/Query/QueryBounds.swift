import SQLite

/// What a statement of a client may take of the node.
enum QueryBounds {
  /// Rows and bytes of an answer; more are left out, and the answer says so.
  static let mostRows = 10_000
  static let longest = 8 << 20
  /// Bytes that SQLite may take for what it sorts and gathers.
  static let memory = 64 << 20
  /// Tables and columns that a statement may name, those within its views counted each time: a
  /// view of a view of a view can double what is read at each step.
  static let mostAccesses = 20_000
  /// Bytes of a value. `instr` and `replace` compare every place of a text with another text in
  /// one step, which nothing ends.
  static let longestValue = 256 << 10
  static let longestStatement = 64 << 10
  static let mostValues = 1_000

  static func set(on connection: Connection) throws(SQLiteError) {
    // What is sorted would otherwise go to files, which nothing bounds.
    try connection.execute("PRAGMA temp_store = MEMORY")
    // Functions that give rows are made ready at their first use, and that asks the authorizer for
    // more than the statement does.
    _ = try connection.rows("SELECT 1 FROM json_each('[]'), json_tree('[]')")
    connection.clearStatements()
    connection.limit(.length, to: longestValue)
    connection.limit(.statement, to: longestStatement)
    connection.limit(.depth, to: 100)
    connection.limit(.compound, to: 50)
    connection.limit(.instructions, to: 50_000)
    connection.limit(.arguments, to: 100)
    connection.limit(.pattern, to: Filter.longestPattern)
    connection.limit(.values, to: mostValues)
    connection.limit(.attached, to: 0)
    // They compare each letter of one text with each of another in one step.
    for name in ["trim", "ltrim", "rtrim"] {
      try connection.refuse(name, arguments: 2, "\(name) takes one argument here")
    }
  }

  /// Ends a statement that takes too long or too much.
  static func watch(_ connection: Connection, until end: ContinuousClock.Instant) {
    let most = Memory.held + memory
    connection.setWatch(every: 1) { .now < end && Memory.held < most }
  }
}
