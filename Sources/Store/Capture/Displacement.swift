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
    // First, as the terms may not be computed of other rows: what is no JSON has no value in it.
    let predicate = index.predicate.map { ["(\($0))"] } ?? []
    let terms = index.terms.map { match($0, of: index) }
    let search = (predicate + terms).joined(separator: " AND ")
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
  ///
  /// An expression is computed of no new row that a partial index leaves out: it may fail there.
  private func match(_ term: UniqueIndex.Term, of index: UniqueIndex) -> String {
    switch term.source {
    case .column(let column):
      let collation =
        term.collation == schema.columns[column].collation ? "" : " COLLATE \(term.collation)"
      return "\(row).\(quoted(schema.columns[column].name))\(collation) = \(value(of: column))"
    case .expression(let expression, let mentions):
      var new = ""
      if !mentions.isEmpty {
        new = " FROM (\(newRow(of: index, mentions))) AS \(quoted(schema.name))"
        if let predicate = index.predicate { new += " WHERE \(predicate)" }
      }
      return "(\(expression)) COLLATE \(term.collation) = (SELECT \(expression)\(new))"
    }
  }

  /// The new row as a subquery whose columns have the names, collations and affinities of the
  /// table's. So the expression's own text gives what it will give in the index.
  ///
  /// NEW.c has the value that the row will have and the collation of the column, but not its
  /// affinity (expr.c, sqlite3ExprAffinity knows TK_COLUMN, not TK_TRIGGER). So the columns of an
  /// empty SELECT go first, from which SQLite takes the affinities of a compound (select.c), and
  /// LIMIT keeps it from being taken apart again.
  private func newRow(of index: UniqueIndex, _ mentions: [Int]) -> String {
    let columns = Set(mentions + index.predicateMentions).sorted()
    // Each name twice: RENAME COLUMN changes the column, not what it is called here.
    var names = columns.map { quoted(schema.columns[$0].name) }.map { "\($0) AS \($0)" }
    var values = columns.map { column in
      let collation = schema.columns[column].collation
      return typedValue(of: column) + (collation == "BINARY" ? "" : " COLLATE \(collation)")
    }
    if index.predicateMentionsRowID {
      names += schema.rowIDNames.map { "\($0) AS \($0)" }
      values += schema.rowIDNames.map { "NEW.\($0)" }
    }
    return "SELECT \(names.joined(separator: ", ")) FROM \(quoted(schema.name)) WHERE 0 "
      + "UNION ALL SELECT \(values.joined(separator: ", ")) LIMIT 1"
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

  /// The value as an expression that lets a compound keep the affinity of the column.
  ///
  /// It is lost where others of its SELECTs may give text in a column of numbers, or numbers in one
  /// of text (since 3.41). A function may give anything, and NEW.c is taken for a number.
  private func typedValue(of column: Int) -> String {
    switch schema.columns[column].affinity {
    case .blob: value(of: column)
    case .text: "CAST(\(value(of: column)) AS TEXT)"
    case .real, .integer, .numeric: "NEW.\(quoted(schema.columns[column].name))"
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
    func add(_ more: [String]) { doubts += more.filter { !doubts.contains($0) } }
    for term in index.terms {
      for column in mentions(of: term) {
        add(self.doubts(about: column, isInExpression: term.isExpression, on: event))
      }
    }
    guard index.predicate != nil, index.terms.contains(where: \.isExpression) else {
      return doubts
    }
    for column in index.predicateMentions {
      add(self.doubts(about: column, isInExpression: true, on: event))
    }
    if index.predicateMentionsRowID, event == .insert, let name = schema.rowIDName {
      add(["NEW.\(name) = -1"])
    }
    return doubts
  }

  private func doubts(
    about column: Int, isInExpression: Bool, on event: Event
  ) -> [String] {
    var doubts: [String] = []
    func name(_ column: Int) -> String { "NEW.\(quoted(schema.columns[column].name))" }
    let affinity = schema.columns[column].affinity
    // The default is an expression, and what it gives this time is not known; or it is left out.
    let isLeftOut = isInExpression && ![.blob, .text].contains(affinity)
    if hasDefault(column), isLeftOut || schema.columns[column].constantDefault == nil {
      doubts.append("\(name(column)) IS NULL")
    }
    // The CAST would change the value: a column of text has a BLOB.
    if isInExpression, affinity == .text {
      doubts.append("\(typedValue(of: column)) IS NOT \(value(of: column))")
    }
    let sources = schema.columns[column].sources
    // A generated column was computed from the NULL, not from the default.
    doubts += sources.filter(hasDefault).map { "\(name($0)) IS NULL" }
    // "the value of NEW.rowid is undefined in a BEFORE INSERT trigger in which the rowid is
    // not explicitly set" (sqlite.org/lang_createtrigger.html): it is -1.
    let isComputed = isInExpression || !sources.isEmpty
    if event == .insert, isComputed, schema.hasIntegerKey,
      (sources + [column]).contains(schema.key[0])
    {
      doubts.append("\(name(schema.key[0])) = -1")
    }
    return doubts
  }
}

extension UniqueIndex.Term {
  fileprivate var isExpression: Bool {
    if case .expression = source { true } else { false }
  }
}
