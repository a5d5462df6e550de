import SQLite

/// SQL that is being written: names are quoted as the file has them, values are bound. Nothing that
/// a client has sent becomes part of the text.
struct SQLText: Equatable {
  private(set) var text = ""
  private(set) var values: [Value] = []

  static func == (left: SQLText, right: SQLText) -> Bool {
    left.text == right.text && left.values == right.values
  }

  mutating func add(_ fixed: StaticString) { text += fixed.description }

  /// The operator of a comparison.
  mutating func add(_ comparison: Filter.Comparison) { text += comparison.sql }

  /// A number of the gateway's own.
  mutating func add(number: Int) { text += String(number) }

  mutating func add(name: String) { text += quoted(name) }

  mutating func add(table: TableShape) { text += "main." + quoted(table.name) }

  /// A list of columns.
  mutating func add(columns: [TableShape.Column]) {
    text += columns.map { quoted($0.name) }.joined(separator: ", ")
  }

  /// Adds a value; gives its number, by which it can stand in the text once more.
  @discardableResult
  mutating func bind(_ value: Value) -> Int {
    values.append(value)
    text += "?"
    return values.count
  }

  /// A value that is bound already.
  mutating func add(bound number: Int) { text += "?" + String(number) }

  /// Whether more can be bound; SQLite takes 32,766 (sqlite.org/limits.html).
  var isTooLong: Bool { values.count > 30_000 }
}

extension SQLText {
  /// The condition of a filter.
  mutating func add(_ filter: Filter, on table: TableShape) throws(Problem) {
    switch filter {
    case .compare(let name, let comparison, let text):
      let place = try table.column(name)
      add(name: table.columns[place].name)
      add(" ")
      add(comparison)
      add(" ")
      bind(try Self.operand(text, of: table.columns[place]))
      if comparison == .like { add(" ESCAPE '\\'") }
    case .isIn(let name, let texts):
      let place = try table.column(name)
      add(name: table.columns[place].name)
      add(" IN (")
      for (index, text) in texts.enumerated() {
        if index > 0 { add(", ") }
        bind(try Self.operand(text, of: table.columns[place]))
      }
      add(")")
    case .isNull(let name):
      add(name: table.columns[try table.column(name)].name)
      add(" IS NULL")
    case .all(let parts): try add(parts, " AND ", on: table)
    case .any(let parts): try add(parts, " OR ", on: table)
    case .not(let part):
      add("NOT (")
      try add(part, on: table)
      add(")")
    }
    guard !isTooLong else { throw .badRequest("filter", "the filter has too many values") }
  }

  private mutating func add(
    _ parts: [Filter], _ between: StaticString, on table: TableShape
  ) throws(Problem) {
    add("(")
    for (index, part) in parts.enumerated() {
      if index > 0 { add(between) }
      try add(part, on: table)
    }
    add(")")
  }

  /// The condition that a row has this key.
  mutating func add(key: [Value], of table: TableShape) {
    for (index, (column, value)) in zip(table.keyColumns, key).enumerated() {
      if index > 0 { add(" AND ") }
      add(name: column.name)
      add(" IS ")
      bind(value)
    }
  }

  /// A value in a query or a path. A column with a type makes of a text what it is meant to be;
  /// for one without, what looks like a number is one.
  static func operand(_ text: String, of column: TableShape.Column) throws(Problem) -> Value {
    if text.hasPrefix("{\""), let form = try? JSONReader.read(Array(text.utf8)),
      let value = try? form.stored()
    {
      return value
    }
    if column.isUntyped, let json = try? JSONReader.read(Array(text.utf8)), case .number = json,
      let number = try? json.stored()
    {
      return number
    }
    return .string(text)
  }
}
