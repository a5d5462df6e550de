import Replication
import SQLite
import Store

/// What plain SQL shows, and what the store says.
extension SchemaNode {
  /// Every row of every table, as text, in the order of the keys.
  func everyRow() throws -> [String] {
    try reading.rows.flatMap { table, sql in
      try program.rows(sql).map { "\(table): \($0[0].string ?? "NULL")" }
    }
  }

  /// The mark of each row, empty if it has none.
  func marks() throws -> [EditTrail.Row: String] {
    var marks: [EditTrail.Row: String] = [:]
    for (table, sql) in reading.marks {
      for row in try program.rows(sql) {
        marks["\(table) \(row[0].string ?? "")".lowercased()] = row[1].string ?? ""
      }
    }
    return marks
  }

  /// Each row with its values, and the rows to which it refers.
  func rowsShown() throws -> [EditTrail.Row: AuthorTrail.Shown] {
    var shown: [EditTrail.Row: AuthorTrail.Shown] = [:]
    for (table, sql) in reading.whole {
      for row in try program.rows(sql) {
        let texts = row.map { $0.string ?? "" }
        let (values, parents) = (texts.dropFirst(2), texts.dropFirst(2 + table.columns.count))
        shown["\(table.first) \(texts[0])".lowercased()] = AuthorTrail.Shown(
          mark: texts[1], values: Dictionary(uniqueKeysWithValues: zip(table.columns, values)),
          parents: Dictionary(zip(table.references, parents)) { one, _ in one })
      }
    }
    return shown
  }

  /// The marks of rows that are in the log or parked, or stand here alone, and the rows of which a
  /// delete is in the log.
  func held() throws -> (marks: Set<String>, deleted: Set<EditTrail.Row>) {
    var marks: Set<String> = []
    var deleted: Set<EditTrail.Row> = []
    for conflict in try store.conflictLog.list(all: true) {
      guard let loser = conflict.loser else { continue }
      for case .text(let bytes) in loser.values.map(\.value) {
        marks.insert(String(decoding: bytes, as: UTF8.self))
      }
      if loser.isDeleted {
        let key = try (conflict.key.values ?? []).map(shown).joined(separator: ", ")
        let table = schema.tables.first { $0.name == conflict.table }?.first ?? conflict.table
        deleted.insert("\(table) \(key)".lowercased())
      }
    }
    for row in try store.tableSurvey.parkedRows() where !row.why.isEmpty {
      for case .text(let bytes) in row.values.map(\.value) {
        marks.insert(String(decoding: bytes, as: UTF8.self))
      }
    }
    for sql in reading.keyless {
      marks.formUnion(try program.rows(sql).compactMap(\.first?.string))
    }
    return (marks, deleted)
  }

  /// What no anchor has judged, though all have heard of everything. Where nobody judges, nothing
  /// waits for that.
  func unjudged(_ isJudged: Bool) throws -> [String] {
    let waiting = try watcher.scalar("SELECT count(*) FROM _flotilla_pending").integer ?? 0
    let asking = try store.verdicts.list(after: 0, through: .max).filter {
      isJudged && $0.outcome == .pending
    }
    return (waiting > 0 ? ["\(waiting) edits are pending"] : [])
      + asking.map { "the edit \($0.seq) in \($0.table) has no verdict" }
  }

  private func shown(_ value: Replication.Value) throws -> String {
    let value: SQLite.Value =
      switch value {
      case .null: .null
      case .integer(let value): .integer(value)
      case .real(let value): .real(value)
      case .text(let bytes): .text(bytes)
      case .blob(let bytes): .blob(bytes)
      }
    return try program.scalar("SELECT quote(?)", [value]).string ?? ""
  }

  /// What the product finds when it compares everything with its versions.
  func audited() throws -> AuditResult {
    let opened = try store.openAudit(at: now)
    defer { try? store.closeAudit(opened.id) }
    while true {
      switch try store.auditStep(opened.id, at: now) {
      case .done(let result): return result
      case .more: continue
      case .spent: _ = try store.renewAudit(opened.id, at: now)
      }
    }
  }

  /// Parked rows that would fit.
  func parkedForNothing() throws -> [String] {
    let parked = try store.tableSurvey.parkedRows()
    // Where a parent was deleted and its number given again, the row means the one that is gone.
    let waiting = parked.filter { $0.stray == nil }
    // Of two that claim the same value one may be in the way of the other.
    let alone = waiting.filter { $0.why == "reference" || $0.why == "parent" || parked.count == 1 }
    return try alone.filter(fits).map { "\($0.table) row is parked (\($0.why)) and would fit" }
  }

  private func fits(_ row: ParkedRow) throws -> Bool {
    guard let table = schema.tables.first(where: { $0.name == row.table }) else { return false }
    let known = Set(table.columns.filter { $0.generated == nil }.map(\.name))
    let values = row.values.filter { known.contains($0.name) }
    let names = values.map { quoted($0.name) }.joined(separator: ", ")
    let texts = try values.map { try shown($0.value) }.joined(separator: ", ")
    try program.execute("SAVEPOINT fitting; PRAGMA defer_foreign_keys = ON")
    defer { try? program.execute("ROLLBACK TO fitting; RELEASE fitting") }
    do {
      // One of them may change the row at once to what fits.
      for trigger in table.triggers { try program.execute("DROP TRIGGER \(trigger.name)") }
      try program.execute("INSERT OR ABORT INTO \(table.name)(\(names)) VALUES (\(texts))")
    } catch {
      guard error.refusesRow else { throw error }
      return false
    }
    return try program.rows("PRAGMA foreign_key_check").isEmpty
  }
}

/// Plain SQL that reads the tables of a schema.
struct SchemaReading {
  /// Every row as one text, by table.
  let rows: [(table: String, sql: String)]
  /// The key of each row as one text, and its mark.
  let marks: [(table: String, sql: String)]
  /// The key of each row, its mark, the values of columns and the marks of what it refers to.
  let whole: [(table: Whole, sql: String)]
  /// The marks of rows with NULL in their key, which are not replicated.
  let keyless: [String]
  /// How many rows break each CHECK.
  let broken: [String]
  let integrity: [String]

  /// What is read of a table.
  struct Whole {
    let first: String
    let columns: [Int]
    let references: [AuthorTrail.Reference]
  }

  init(_ schema: ApplicationSchema) {
    rows = schema.tables.map { table in
      let text = table.columns.map { quoted($0.name) }
        .map { "typeof(\($0)) || ' ' || quote(\($0))" }.joined(separator: " || ', ' || ")
      // What has NULL in its key is not replicated.
      let hasKey = table.key.map { schema.text("{\($0)} IS NOT NULL") }.joined(separator: " AND ")
      return (
        table.name,
        "SELECT \(text) FROM \(table.name) WHERE \(hasKey) ORDER BY \(schema.names(table.key))"
      )
    }
    marks = schema.tables.map { table in
      let key = table.key.map { schema.text("quote({\($0)})") }.joined(separator: " || ', ' || ")
      return (table.first, "SELECT \(key), \(schema.text("{\(table.mark)}")) FROM \(table.name)")
    }
    whole = schema.tables.map { Self.whole($0, schema) }
    keyless = schema.tables.map { table in
      let isNull = table.key.map { schema.text("{\($0)} IS NULL") }.joined(separator: " OR ")
      return "SELECT \(schema.text("{\(table.mark)}")) FROM \(table.name) WHERE \(isNull)"
    }
    broken = schema.tables.flatMap(schema.broken)
    integrity = schema.tables.map { "PRAGMA integrity_check(\(quoted($0.name)))" }
  }

  private static func whole(
    _ table: ApplicationSchema.Table, _ schema: ApplicationSchema
  ) -> (table: Whole, sql: String) {
    func name(_ number: Int) -> String { "o.\(schema.text("{\(number)}"))" }
    let key = table.key.map { "quote(\(name($0)))" }.joined(separator: " || ', ' || ")
    let columns = table.free.map(\.number)
    let references = schema.followed(table)
    let parents = references.map { reference, parent in
      "(SELECT \(schema.text("p.{\(parent.mark)}")) FROM \(parent.name) AS p"
        + " WHERE \(schema.text("p.{\(parent.key[0])}")) = \(name(reference.column)))"
    }
    let texts = [key, name(table.mark)] + columns.map { "quote(\(name($0)))" } + parents
    return (
      Whole(first: table.first, columns: columns, references: references.map(\.reference)),
      "SELECT \(texts.joined(separator: ", ")) FROM \(table.name) AS o"
    )
  }
}
