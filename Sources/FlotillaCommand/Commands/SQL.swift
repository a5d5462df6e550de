import Flotilla

/// `flotilla sql`: runs a statement here.
enum SQL {
  static let command = Command(
    name: "sql",
    summary: "runs a statement here and prints the rows it gave or touched",
    discussion: """
      Any other program can write to the file as well; this is the way to see what an
      edit did, and with --online what becomes of it at the anchor. Tables that are
      not replicated are nothing to judge.
      """,
    parameters: [
      .database,
      Parameter(name: "STATEMENT", kind: .text, help: "one SQL statement"),
    ],
    options: [
      Option(name: "--online", help: "waits for the anchor's verdict"),
      Option(
        name: "--timeout",
        value: Option.Value(name: "TIME", kind: .duration(atLeast: .zero), standard: "10s"),
        help: "how long to wait for the anchor, and for a lock"),
      .json,
    ],
    statuses: [
      .failed: "failed, or --online and there is no anchor",
      .notInSync: "--online, and there is no verdict yet, for instance because the anchor is not "
        + "in reach; the edit stays",
      .rejected: "--online, and the anchor rejected the edit",
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    if call.arguments.has("--online") { return try await runOnline(call) }
    let report = try await call.replica.sql(
      call.arguments.text("STATEMENT") ?? "", timeout: call.arguments.duration("--timeout"))
    if call.json {
      call.output.data(json(report).description)
      return .done
    }
    if !report.columns.isEmpty {
      call.output.result(text(report.cut(for: call.output), colour: call.output.colour))
    }
    for line in touched(report.cut(for: call.output), colour: call.output.colour) {
      call.output.result(line)
    }
    if let remark = outcome(of: call.arguments.text("STATEMENT") ?? "", report) {
      call.output.remark(remark)
    }
    return .done
  }

  /// What a statement did, beside the rows that are shown; nil if it only asked.
  static func outcome(of statement: String, _ report: SQLReport) -> String? {
    switch statement.drop(while: \.isWhitespace).prefix(while: \.isLetter).uppercased() {
    case "CREATE", "ALTER", "DROP":
      return "done here; the schema is not replicated: do the same at every node"
    case "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH":
      if report.returnedRows, report.changes == 0 { return nil }
      return "\(counted(report.changes, "row")) changed"
    default: return report.returnedRows ? nil : "done"
    }
  }

  /// The touched rows, a table for each table; a row that is gone, or is nobody else's, shows its
  /// key.
  static func touched(_ report: SQLReport, colour: Bool) -> [String] {
    var names: [String] = []
    for row in report.touched where !names.contains(row.table) { names.append(row.table) }
    return names.flatMap { name in
      let rows = report.touched.filter { $0.table == name }
      let present = rows.filter { $0.values != nil && !$0.isKeyless }
      var lines = ["\(printable(name)):"]
      if let columns = present.first?.columns {
        lines.append(text(columns, present.compactMap(\.values), colour: colour))
      }
      for row in rows where row.values == nil || row.isKeyless {
        let key = row.key.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value.words)" }
        lines.append(
          (row.isKeyless ? "not replicated, for NULL in the key: " : "gone: ")
            + printable(key.joined(separator: ", ")))
      }
      return lines
    }
  }

  /// JSON: `{"columns":[…],"rows":[{column:value}],"changes":n,"touched":[{table,key,row}]}`.
  ///
  /// Columns of one name would hide each other in an object, so the second `id` becomes `id:1`,
  /// as SQLite itself does ("CREATE TABLE … AS SELECT").
  static func json(_ report: SQLReport) -> JSON {
    let keys = distinct(report.columns)
    let rows = report.rows.map { row in
      JSON.object(Dictionary(uniqueKeysWithValues: zip(keys, row.map { JSON($0) })))
    }
    return .object([
      "columns": .array(keys.map { .text($0) }), "rows": .array(rows),
      "changes": .number(String(report.changes)),
      "touched": .array(report.touched.map(json)),
    ])
  }

  /// `{table, key:{column:value}, row:{column:value} or null}`.
  private static func json(_ row: TouchedRow) -> JSON {
    let values = row.values.map { values in
      JSON.object(
        Dictionary(uniqueKeysWithValues: zip(row.columns, values.map { JSON($0) })))
    }
    return .object([
      "table": .text(row.table), "key": .object(row.key.mapValues { JSON($0) }),
      "row": values ?? .null,
    ])
  }

  private static func distinct(_ columns: [String]) -> [String] {
    var taken: Set<String> = []
    return columns.map { column in
      var name = column
      var count = 0
      while !taken.insert(name).inserted {
        count += 1
        name = "\(column):\(count)"
      }
      return name
    }
  }

  /// The rows in aligned columns, numbers to the right.
  static func text(_ report: SQLReport, colour: Bool) -> String {
    text(report.columns, report.rows, colour: colour)
  }

  private static func text(_ names: [String], _ rows: [[SQLValue]], colour: Bool) -> String {
    let columns = names.indices.map { place in
      let numbers = rows.allSatisfy { $0[place].isNumberOrNull }
      return Table.Column(
        heading: printable(names[place]), toTheRight: numbers && !rows.isEmpty)
    }
    var table = Table(columns: columns)
    table.rows = rows.map { row in
      row.map { Table.Cell($0.words, $0 == .null ? .grey : nil) }
    }
    return table.text(colour: colour)
  }
}

extension SQLValue {
  fileprivate var isNumberOrNull: Bool {
    switch self {
    case .null, .integer, .real: true
    case .text, .malformedText, .blob: false
    }
  }

  /// The value for a person; a blob is cut short.
  var words: String {
    switch self {
    case .null: return "NULL"
    case .integer(let number): return String(number)
    case .real(let number): return number.description
    case .text(let text): return text
    case .malformedText(let bytes): return "CAST(\(Self.digits(bytes)) AS TEXT)"
    case .blob(let bytes): return Self.digits(bytes)
    }
  }

  private static func digits(_ bytes: [UInt8]) -> String {
    let digits = bytes.prefix(16).map { byte in
      String(UInt16(byte) + 0x100, radix: 16).dropFirst()
    }
    let more = bytes.count > 16 ? "… (\(counted(bytes.count, "byte")))" : ""
    return "x'\(digits.joined())'" + more
  }
}
