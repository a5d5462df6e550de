import CSQLite

/// "SQLITE_CONSTRAINT_UNIQUE (2067)" (sqlite.org/rescode.html), a macro that Swift does not read.
private let uniqueConstraint: Int32 = SQLITE_CONSTRAINT | (8 << 8)

/// What SQLite said: the extended result code, its message and the SQL, never a bound value.
package struct SQLiteError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The extended result code.
  package let code: Int32
  package let message: String
  package let sql: String?
  /// The statement was running: it was right, and so the values may be to blame.
  package let wasRunning: Bool

  package init(
    code: Int32, message: String, sql: String? = nil, wasRunning: Bool = false
  ) {
    self.code = code
    self.message = message
    self.sql = sql
    self.wasRunning = wasRunning
  }

  /// Reads the error of the call that has just failed; later calls overwrite it.
  init(
    _ code: Int32, on handle: OpaquePointer?, sql: String? = nil, wasRunning: Bool = false
  ) {
    let extended = handle.map { sqlite3_extended_errcode($0) } ?? code
    let isSame = extended & 0xFF == code & 0xFF
    self.code = isSame ? extended : code
    let text = isSame ? handle.flatMap { sqlite3_errmsg($0) } : sqlite3_errstr(code)
    self.message = text.map { String(cString: $0) } ?? "error \(code)"
    self.sql = sql
    self.wasRunning = wasRunning
  }

  /// What a check of the file has found.
  package static func corrupt(_ finding: String) -> SQLiteError {
    SQLiteError(code: SQLITE_CORRUPT, message: finding)
  }

  /// The primary result code: the low eight bits.
  package var primary: Int32 { code & 0xFF }

  package var isBusy: Bool { primary == SQLITE_BUSY || primary == SQLITE_LOCKED }
  package var isConstraint: Bool { primary == SQLITE_CONSTRAINT }
  /// Another row has a value that must be unique.
  package var isOfUniqueValue: Bool { code == uniqueConstraint }
  /// The row cannot stand in its table: a constraint, or a text where the key is a rowid
  /// ("SQLITE_MISMATCH", sqlite.org/rescode.html). Or an index, a CHECK or a generated column
  /// computes something that fails with its values, as `json_extract` of a text that is no JSON.
  package var refusesRow: Bool {
    isConstraint || primary == SQLITE_MISMATCH
      || wasRunning && [SQLITE_ERROR, SQLITE_TOOBIG].contains(primary)
  }
  /// What was to be written is to blame, or what the schema makes of it: a constraint, a trigger,
  /// the expression of an index, a function that only some programs have. Others may fit.
  package var isOfRow: Bool {
    [SQLITE_ERROR, SQLITE_ABORT, SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_RANGE]
      .contains(primary)
  }
  /// The schema names a function or a collation that no connection has but those of its program.
  package var isOfProgram: Bool {
    let openings = ["unknown function: ", "no such function: ", "no such collation sequence: "]
    return primary == SQLITE_ERROR && openings.contains { message.hasPrefix($0) }
  }
  package var isFull: Bool { primary == SQLITE_FULL }
  package var isReadOnly: Bool { primary == SQLITE_READONLY }
  package var isNotADatabase: Bool { primary == SQLITE_NOTADB }
  package var isCorrupt: Bool { primary == SQLITE_CORRUPT }
  package var cannotOpen: Bool { primary == SQLITE_CANTOPEN }
  package var isSchemaChange: Bool { primary == SQLITE_SCHEMA }
  package var isTooBig: Bool { primary == SQLITE_TOOBIG }
  /// The authorizer has refused it.
  package var isRefused: Bool { primary == SQLITE_AUTH }
  /// The watch has ended it.
  package var isInterrupted: Bool { primary == SQLITE_INTERRUPT }

  /// The file is to blame, or who else uses it, and not what was wanted of it: it may work later.
  package var isOfFile: Bool {
    isBusy || isFull || isReadOnly || cannotOpen || primary == SQLITE_IOERR
  }

  package var description: String { "\(message) (SQLite \(code))" }
}
