import SQLite

/// Finds the rows that a REPLACE may displace through another key than its own.
///
/// "When the REPLACE conflict resolution strategy deletes rows in order to satisfy a constraint,
/// delete triggers fire if and only if recursive triggers are enabled"
/// (sqlite.org/lang_conflict.html). So BEFORE triggers look for them. They may find too many (fold
/// looks whether a row still exists), never too few. A row displaced by an INSERT through the
/// primary key needs no looking for: it has the key that is noted anyway.
struct Displacement {
  enum Event {
    case insert
    case update
  }

  let schema: TableSchema

  /// The table in FROM, under its own name, so that a qualified name in a condition still fits.
  ///
  /// Unless that is "new" or "old", which would hide the row that the trigger is about.
  var source: String {
    quoted(schema.name) + (isHidingRow ? " AS \(row)" : "")
  }

  /// The name of the table's rows in a condition.
  var row: String { isHidingRow ? "_flotilla_row" : quoted(schema.name) }

  private var isHidingRow: Bool { ["new", "old"].contains { isSameName($0, schema.name) } }

  /// One condition per search, each such that SQLite can use the index.
  func conditions(on event: Event) -> [String] {
    var conditions: [String] = []
    if let rowID { conditions.append("\(row).\(rowID) = NEW.\(rowID)") }
    return conditions + indexes.flatMap { searches($0, on: event) }
  }

  /// The conditions for the row whose key an update takes.
  ///
  /// That row is gone, and yet the update may not be made: the foreign keys of what refers to it
  /// may delete the very row that was to be updated. Then no trigger runs after it.
  var ofTakenKey: [String] {
    let terms = zip(schema.key, schema.keyCollations).map { column, collation in
      UniqueIndex.Term(source: .column(column), collation: collation)
    }
    let key = UniqueIndex(
      name: "", terms: terms, predicate: nil, predicateMentions: [], predicateMentionsRowID: false)
    return searches(key, on: .update)
  }

  /// The conditions for the rows that the new row displaces through an index.
  private func searches(_ index: UniqueIndex, on event: Event) -> [String] {
    let predicate = index.predicate.map { ["(\($0))"] } ?? []
    let search = (index.terms.map { match($0) } + predicate).joined(separator: " AND ")
    let doubts = doubts(about: index, on: event)
    guard !doubts.isEmpty else { return [search] }
    let doubt = "(" + doubts.joined(separator: " OR ") + ")"
    return [search, ([doubt] + predicate).joined(separator: " AND ")]
  }

  /// True if an update changes anything that the conditions depend on; nil where it is too long.
  ///
  /// It also names every column that a generated one is computed from: an UPDATE loads only those
  /// columns for a BEFORE trigger that the trigger mentions, and computes the generated ones from
  /// what is loaded (seen with 3.40.1).
  var changes: String? {
    var used: Set<Int> = []
    for index in indexes {
      used.formUnion(index.predicateMentions)
      for term in index.terms { used.formUnion(mentions(of: term)) }
    }
    for column in used where schema.columns[column].isGenerated {
      used.remove(column)
      used.formUnion(schema.columns[column].sources)
    }
    var terms = used.sorted().map { column in
      let name = quoted(schema.columns[column].name)
      return "OLD.\(name) IS NOT NEW.\(name) COLLATE BINARY"
    }
    let usesRowID = rowID != nil || indexes.contains { $0.predicateMentionsRowID }
    if usesRowID, let name = schema.rowIDName { terms.append("OLD.\(name) IS NOT NEW.\(name)") }
    return terms.count > 500 ? nil : terms.joined(separator: " OR ")
  }

  /// The name of a rowid that is a second key beside the primary key.
  private var rowID: String? { schema.hasIntegerKey ? nil : schema.rowIDName }

  /// The indexes through which a row with another primary key can be displaced.
  ///
  /// Not those that contain the whole primary key, at least as finely collated.
  private var indexes: [UniqueIndex] {
    schema.uniqueIndexes.filter { index in
      !zip(schema.key, schema.keyCollations).allSatisfy { column, collation in
        index.terms.contains { term in
          term.source == .column(column)
            && (schema.hasIntegerKey || [collation, "BINARY"].contains(term.collation))
        }
      }
    }
  }

  private func mentions(of term: UniqueIndex.Term) -> [Int] {
    switch term.source {
    case .column(let column): [column]
    case .expression(_, let mentions): mentions
    }
  }

  /// One term of the index, of the row in the table and of the new row.
  private func match(_ term: UniqueIndex.Term) -> String {
    switch term.source {
    case .column(let column):
      let collation =
        term.collation == schema.columns[column].collation ? "" : " COLLATE \(term.collation)"
      return "\(row).\(quoted(schema.columns[column].name))\(collation) = \(value(of: column))"
    case .expression(let expression, let mentions):
      let new = mentions.isEmpty ? "" : " FROM (\(newRow(mentions)))"
      return "(\(expression)) COLLATE \(term.collation) = (SELECT \(expression)\(new))"
    }
  }

  /// The new row as a subquery whose columns have the names, collations and affinities of the
  /// table's. So the expression's own text gives what it will give in the index.
  ///
  /// NEW.c has the collation of the column but not its affinity (expr.c, sqlite3ExprAffinity knows
  /// TK_COLUMN, not TK_TRIGGER). A CAST restores it, except BLOB, which differs from none when two
  /// columns are compared; so the columns of an empty SELECT go first, from which SQLite takes the
  /// affinities of a compound (select.c), and LIMIT keeps it from being taken apart again.
  private func newRow(_ columns: [Int]) -> String {
    // Each name twice: RENAME COLUMN changes the column, not what it is called here.
    let names = columns.map { quoted(schema.columns[$0].name) }
      .map { "\($0) AS \($0)" }.joined(separator: ", ")
    let values = columns.map { column in
      let collation = schema.columns[column].collation
      return castValue(of: column) + (collation == "BINARY" ? "" : " COLLATE \(collation)")
    }.joined(separator: ", ")
    return "SELECT \(names) FROM \(quoted(schema.name)) WHERE 0 "
      + "UNION ALL SELECT \(values) LIMIT 1"
  }

  /// The value that the row will have: REPLACE turns an explicit NULL into the column's default.
  ///
  /// "If a NOT NULL constraint violation occurs, the REPLACE conflict resolution replaces the NULL
  /// value with the default value for that column" (sqlite.org/lang_conflict.html).
  private func value(of column: Int) -> String {
    let new = "NEW.\(quoted(schema.columns[column].name))"
    guard hasDefault(column), let value = schema.columns[column].constantDefault else { return new }
    return "coalesce(\(new), \(value.sql))"
  }

  private func castValue(of column: Int) -> String {
    switch schema.columns[column].affinity {
    case .blob: value(of: column)
    case .text: "CAST(\(value(of: column)) AS TEXT)"
    case .real: "CAST(\(value(of: column)) AS REAL)"
    // As an affinity the two are one; as a CAST, INTEGER would cut a fraction off.
    case .integer, .numeric: "CAST(\(value(of: column)) AS NUMERIC)"
    }
  }

  /// True if a NULL that is written explicitly may become something else.
  private func hasDefault(_ column: Int) -> Bool {
    let isIntegerKey = schema.hasIntegerKey && schema.key == [column]
    return schema.columns[column].isNotNull && !isIntegerKey
      && schema.columns[column].constantDefault != .some(.null)
  }

  /// When the new row's terms cannot be known yet, so that every row of the index is noted.
  private func doubts(about index: UniqueIndex, on event: Event) -> [String] {
    var doubts: [String] = []
    func add(_ doubt: String) { if !doubts.contains(doubt) { doubts.append(doubt) } }
    func name(_ column: Int) -> String { "NEW.\(quoted(schema.columns[column].name))" }
    for term in index.terms {
      var isExpression = false
      if case .expression = term.source { isExpression = true }
      for column in mentions(of: term) {
        // The default is an expression: what it gives this time is not known.
        if hasDefault(column), schema.columns[column].constantDefault == nil {
          add("\(name(column)) IS NULL")
        }
        // The CAST would change the value, such as a text in a column of numbers.
        if isExpression, schema.columns[column].affinity != .blob {
          add("\(castValue(of: column)) IS NOT \(value(of: column))")
        }
        let sources = schema.columns[column].sources
        // A generated column was computed from the NULL, not from the default.
        for source in sources where hasDefault(source) { add("\(name(source)) IS NULL") }
        // "the value of NEW.rowid is undefined in a BEFORE INSERT trigger in which the rowid is
        // not explicitly set" (sqlite.org/lang_createtrigger.html): it is -1.
        let isComputed = isExpression || !sources.isEmpty
        if event == .insert, isComputed, schema.hasIntegerKey,
          (sources + [column]).contains(schema.key[0])
        {
          add("\(name(schema.key[0])) = -1")
        }
      }
    }
    return doubts
  }
}
