import SQLite

/// What a statement of a client may read: replicated tables that its token and the node may read,
/// and views, whose own tables are looked at in the same way.
final class QueryAccess {
  /// Functions that give rows, and read no table.
  private static let rowFunctions: Set<String> = ["json_each", "json_tree"]
  /// Those of SQLite that work on what they are given alone: others reach beyond the file, tell of
  /// the process, or change the connection (`fts3_tokenizer` takes the address of code).
  private static let functions: Set<String> = [
    "abs", "avg", "char", "coalesce", "count", "cume_dist", "current_date",
    "current_time", "current_timestamp", "date", "datetime", "dense_rank", "first_value",
    "format", "glob", "group_concat", "hex", "ifnull", "iif", "instr", "julianday", "json",
    "json_array", "json_array_length", "json_error_position", "json_extract",
    "json_group_array", "json_group_object", "json_insert", "json_object", "json_quote",
    "json_remove", "json_replace", "json_set", "json_type", "json_valid", "lag", "last_value",
    "lead", "length", "like", "likelihood", "likely", "lower", "ltrim", "max", "min", "nth_value",
    "ntile", "nullif", "octet_length", "percent_rank", "printf", "quote", "random",
    "rank", "replace", "round", "row_number", "rtrim", "sign", "soundex", "strftime", "string_agg",
    "substr", "substring", "sum", "time", "timediff", "total", "trim", "typeof", "unhex",
    "unicode", "unixepoch", "unlikely", "upper", "zeroblob", "acos", "acosh", "asin",
    "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "cos", "cosh", "degrees", "exp", "floor",
    "ln", "log", "log10", "log2", "mod", "pi", "pow", "power", "radians", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc", "->", "->>",
  ]

  /// In small letters, as the next ones.
  let readable: Set<String>
  let views: Set<String>
  /// Other tables, and views of Flotilla's own.
  private let hidden: Set<String>
  /// Whether a name without a column is none of the hidden ones, for the statement was taken apart
  /// before where there are none: it is that of a subquery then.
  var namesAreKnown = false
  private let end: ContinuousClock.Instant
  private var accesses = 0
  /// What was refused first, as a client may hear it.
  private(set) var refused: String?

  init(
    _ connection: Connection, until end: ContinuousClock.Instant,
    mayRead: (String) -> Bool
  ) throws(SQLiteError) {
    self.end = end
    let shapes = try TableShape.names(on: connection).filter(mayRead)
    readable = Set(shapes.map(\.asciiLowercased))
    let objects = try connection.rows(
      "SELECT name, type FROM main.sqlite_schema WHERE type IN ('table', 'view')")
    var (views, hidden): (Set<String>, Set<String>) = ([], [])
    for row in objects {
      let name = (row[0].string ?? "").asciiLowercased
      if row[1].string == "view", !name.hasPrefix("_flotilla_") {
        views.insert(name)
      } else if !readable.contains(name) {
        hidden.insert(name)
      }
    }
    (self.views, self.hidden) = (views, hidden)
  }

  /// The same where nothing is hidden.
  init(readable: Set<String>, views: Set<String>, until end: ContinuousClock.Instant) {
    (self.readable, self.views, self.hidden, self.end) = (readable, views, [], end)
  }

  func allows(_ access: Connection.Access, within view: String?) -> Bool {
    accesses += 1
    // SQLite asks here even while it takes a statement apart, which nothing else would end.
    guard accesses <= QueryBounds.mostAccesses, .now < end else {
      refused = refused ?? "the statement reads too much at a time"
      return false
    }
    switch access {
    case .select, .recursive: return true
    case .read(let table, let column, let schema):
      if mayRead(table.asciiLowercased, column, schema) { return true }
      let blamed = view.flatMap { views.contains($0.asciiLowercased) ? $0 : nil } ?? table
      refused = refused ?? "no such table: \(blamed)"
    case .function(let name):
      if Self.functions.contains(name.asciiLowercased) { return true }
      refused = refused ?? "the function \(name) is not for clients"
    case .other: refused = refused ?? "a query only reads rows: SELECT, WITH or VALUES"
    }
    return false
  }

  private func mayRead(_ name: String, _ column: String, _ schema: String?) -> Bool {
    guard schema == nil || schema == "main" else { return false }
    if readable.contains(name) || views.contains(name) { return true }
    // A table of that name is what SQLite reads.
    if Self.rowFunctions.contains(name) { return !hidden.contains(name) }
    // Without a column it may be the name of a subquery: then nothing of the file has that name.
    guard column.isEmpty, schema == nil else { return false }
    let isOfSQLite = ["sqlite_", "pragma_", "dbstat", "bytecode", "tables_used"]
      .contains(where: name.hasPrefix)
    return !isOfSQLite && (namesAreKnown || !hidden.contains(name))
  }
}
