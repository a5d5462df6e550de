import SQLite

/// Whether all rows of a table are found by their keys, as `PRAGMA integrity_check` tells.
///
/// An index that lacks an entry hides a row that is there. `quick_check` does not see it: "it does
/// not verify that index content matches table content" (sqlite.org/pragma.html).
enum IndexCheck {
  /// What is damaged of a table of this name in the file; nil if all is well.
  static func damage(of table: String, on connection: Connection) throws(SQLiteError) -> String? {
    let said: [String]
    do {
      try connection.execute("PRAGMA ignore_check_constraints = ON")
      defer { try? connection.execute("PRAGMA ignore_check_constraints = OFF") }
      said = try connection.rows("PRAGMA main.integrity_check(\(quoted(table)))")
        .compactMap { $0[0].string }
    } catch {
      // What only its program can read nobody else can check.
      guard error.isOfProgram else { throw error }
      return nil
    }
    return said.first { $0 != "ok" && !isOfValue($0) }
  }

  /// Whether a finding is of a value that a column may not hold, as "NULL value in t.v": the row is
  /// found all the same.
  private static func isOfValue(_ finding: String) -> Bool {
    finding.contains(" value in ") && !finding.contains(" index ")
  }
}

extension StoreError.Code {
  /// The file does not hold what SQLite has written to it.
  package static let damaged = StoreError.Code("damaged")
}

extension StoreError {
  /// A row that no index finds must not be taken for deleted.
  static func damaged(_ table: String, in path: String, _ finding: String) -> StoreError {
    StoreError(
      .damaged, "the table \(table) in \(path) is damaged: \(finding)",
      remedy: "Make its indexes anew: sqlite3 \(path) REINDEX, then: flotilla verify \(path)")
  }
}
