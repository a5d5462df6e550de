import SQLite

/// The message of the constraint that `body` would break; nil if it went through.
func brokenConstraint(
  _ body: () throws(SQLiteError) -> Void
) throws(SQLiteError) -> String? {
  do {
    try body()
    return nil
  } catch {
    guard error.refusesRow else { throw error }
    return error.message
  }
}
