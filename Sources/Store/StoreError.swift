import SQLite

/// What the store could not do, to which table or file, and the way out.
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure; new kinds may be added, so match with a default.
  package struct Code: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    /// A table cannot be tracked, or is not known.
    package static let table = Code("table")
    /// The database has none of Flotilla's tables yet.
    package static let notInitialised = Code("not-initialised")
    /// The database has Flotilla's tables already.
    package static let alreadyInitialised = Code("already-initialised")
    /// Flotilla's tables were made by a newer version.
    package static let newerFormat = Code("newer-format")
    /// A statement failed in SQLite; `cause` tells how.
    package static let sqlite = Code("sqlite")
    /// A table's definition needs what Flotilla does not have.
    package static let schema = Code("schema")
    /// The replica was closed meanwhile.
    package static let closed = Code("closed")
    /// The journal holds more than one slice, so this has to wait.
    package static let backlog = Code("backlog")
  }

  package let code: Code
  /// One sentence: what happened, to which table or file.
  package let message: String
  /// One sentence: what to do, if there is something to do.
  package let remedy: String?
  package let cause: SQLiteError?

  package init(
    _ code: Code, _ message: String, remedy: String? = nil, cause: SQLiteError? = nil
  ) {
    self.code = code
    self.message = message
    self.remedy = remedy
    self.cause = cause
  }

  /// An error of SQLite, as it came.
  package init(_ cause: SQLiteError) {
    self.init(.sqlite, cause.message, cause: cause)
  }

  package var description: String {
    guard let remedy else { return message }
    return "\(message)\n  \(remedy)"
  }
}

/// Runs `body` and reports an error of SQLite as one of the store.
package func reporting<Result>(
  _ body: () throws(SQLiteError) -> Result
) throws(StoreError) -> Result {
  do {
    return try body()
  } catch {
    throw StoreError(error)
  }
}
