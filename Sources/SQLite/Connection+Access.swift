import CSQLite
import Glibc

extension Connection {
  /// What a statement that is being prepared wants to do (sqlite.org/c3ref/c_alter_table.html).
  package enum Access: Sendable, Equatable {
    case select
    case recursive
    /// A column of a table or view of this schema. "If a table is referenced by a SELECT but no
    /// column values are extracted from that table […] then the SQLITE_READ callback is invoked
    /// once for that table with a column name that is an empty string": then the schema may be
    /// unknown, and the name may be that of a subquery.
    case read(table: String, column: String, schema: String?)
    case function(String)
    case other(Int32)
  }

  /// Has every statement that is prepared from now on ask for each thing that it wants to do, and
  /// for which view or trigger; the answer false makes it an error.
  ///
  /// "The authorizer callback is invoked […] during sqlite3_prepare()", and again where a schema
  /// has changed under a statement (sqlite.org/c3ref/set_authorizer.html).
  package func setAuthorizer(_ allows: ((Access, _ within: String?) -> Bool)?) {
    authorizer = allows
    guard allows != nil else {
      sqlite3_set_authorizer(handle, nil, nil)
      return
    }
    let owner = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_set_authorizer(
      handle,
      { owner, code, first, second, schema, within in
        guard let owner else { return SQLITE_DENY }
        let connection = Unmanaged<Connection>.fromOpaque(owner).takeUnretainedValue()
        let (name, detail) = (text(first), text(second))
        let access: Access =
          switch code {
          case SQLITE_SELECT: .select
          case SQLITE_RECURSIVE: .recursive
          case SQLITE_READ:
            .read(table: name ?? "", column: detail ?? "", schema: text(schema))
          case SQLITE_FUNCTION: .function(detail ?? "")
          default: .other(code)
          }
        let isAllowed = connection.authorizer?(access, text(within)) ?? false
        return isAllowed ? SQLITE_OK : SQLITE_DENY
      }, owner)
  }

  /// Whether the open transaction has references that lead nowhere, which fails its commit
  /// (sqlite.org/c3ref/c_dbstatus_options.html, SQLITE_DBSTATUS_DEFERRED_FKS).
  package var hasOpenReferences: Bool {
    var (now, most): (Int32, Int32) = (0, 0)
    sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &now, &most, 0)
    return now > 0
  }

  /// Has a function of SQLite be an error with so many arguments.
  package func refuse(
    _ function: String, arguments: Int, _ message: String
  ) throws(SQLiteError) {
    let words = strdup(message)
    let code = sqlite3_create_function_v2(
      handle, function, Int32(clamping: arguments),
      // Else an index that uses it would make the schema unreadable.
      SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, words,
      { context, _, _ in
        let words = sqlite3_user_data(context)?.assumingMemoryBound(to: CChar.self)
        sqlite3_result_error(context, words, -1)
      }, nil, nil, { free($0) })
    if code != SQLITE_OK { throw SQLiteError(code: code, message: "no function \(function)") }
  }

  /// How much a statement may be and make (sqlite.org/c3ref/c_limit_attached.html).
  package enum Limit: Sendable {
    /// Bytes of a text, blob or row.
    case length
    /// Bytes of a statement.
    case statement
    /// Expressions in one another.
    case depth
    /// SELECTs of one UNION.
    case compound
    /// Instructions of a prepared statement.
    case instructions
    case arguments
    case pattern
    case values
    case attached

    var code: Int32 {
      switch self {
      case .length: SQLITE_LIMIT_LENGTH
      case .statement: SQLITE_LIMIT_SQL_LENGTH
      case .depth: SQLITE_LIMIT_EXPR_DEPTH
      case .compound: SQLITE_LIMIT_COMPOUND_SELECT
      case .instructions: SQLITE_LIMIT_VDBE_OP
      case .arguments: SQLITE_LIMIT_FUNCTION_ARG
      case .pattern: SQLITE_LIMIT_LIKE_PATTERN_LENGTH
      case .values: SQLITE_LIMIT_VARIABLE_NUMBER
      case .attached: SQLITE_LIMIT_ATTACHED
      }
    }
  }

  package func limit(_ limit: Limit, to most: Int) {
    sqlite3_limit(handle, limit.code, Int32(clamping: most))
  }
}

private func text(_ text: UnsafePointer<CChar>?) -> String? { text.map { String(cString: $0) } }
