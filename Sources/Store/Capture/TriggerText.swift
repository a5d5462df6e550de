import SQLite

/// Writes the SQL of the capture triggers of one table.
///
/// The text stays within what SQLite 3.22 parses, and calls only functions that SQLite brings along
/// and trusts (so it runs with `trusted_schema=0`). It names no column but those of the key and of
/// unique indexes: any other one can still be dropped or renamed.
struct TriggerText {
  let schema: TableSchema
  let id: Int64

  /// ms since 1970; half a ms more, because a Julian day is only exact to 0.04 ms and CAST cuts.
  ///
  /// "'now' … always returns the same value for multiple invocations within the same
  /// sqlite3_step()" (sqlite.org/lang_datefunc.html, in other words).
  static let now = "CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)"

  static func prefix(_ id: Int64) -> String { "_flotilla_\(id)_" }

  /// The local id in the name of a trigger; nil if it is none of ours.
  static func id(of trigger: String) -> Int64? {
    let parts = trigger.split(separator: "_", maxSplits: 2)
    guard parts.count == 3, let id = Int64(parts[1]), trigger.hasPrefix(prefix(id)) else {
      return nil
    }
    return id
  }

  var all: [Capture.Trigger] {
    var triggers = [
      trigger("insert", "AFTER INSERT", [note("VALUES (\(values(of: "NEW")))")]),
      trigger(
        "update", "AFTER UPDATE",
        [
          note("VALUES (\(values(of: "OLD", at: "NEW")))"),
          note("SELECT \(values(of: "NEW")) WHERE \(keyChanges)"),
        ]),
      trigger("delete", "AFTER DELETE", [note("VALUES (\(values(of: "OLD")))")]),
    ]
    let displacement = Displacement(schema: schema)
    triggers.append(
      trigger(
        "before_key", "BEFORE UPDATE OF \(keyNames)", when: keyChanges,
        displacement.ofTakenKey.map { noteRows($0, displacement) }))
    let onInsert = displacement.conditions(on: .insert)
    if !onInsert.isEmpty {
      triggers.append(
        trigger("before_insert", "BEFORE INSERT", onInsert.map { noteRows($0, displacement) }))
    }
    let onUpdate = displacement.conditions(on: .update)
    if !onUpdate.isEmpty {
      triggers.append(
        trigger(
          "before_update", "BEFORE UPDATE", when: displacement.changes,
          onUpdate.map { noteRows($0, displacement) }))
    }
    return triggers
  }

  private func trigger(
    _ name: String, _ event: String, when condition: String? = nil, _ statements: [String]
  ) -> Capture.Trigger {
    let name = Self.prefix(id) + name
    let when = condition.map { "\nWHEN \($0)" } ?? ""
    let body = statements.map { "  \($0);\n" }.joined()
    return Capture.Trigger(
      name: name,
      sql: "CREATE TRIGGER \(quoted(name)) \(event) ON \(quoted(schema.name))\(when)\n"
        + "BEGIN\n\(body)END")
  }

  private func note(_ rows: String) -> String {
    let names = ["tbl", "at"] + (rowID == nil ? [] : ["row"])
    let columns = (names + schema.key.indices.map { "k\($0)" }).joined(separator: ", ")
    return "INSERT INTO \(Journal.table)(\(columns)) \(rows)"
  }

  private func noteRows(_ condition: String, _ displacement: Displacement) -> String {
    note("SELECT \(values(of: displacement.row)) FROM \(displacement.source) WHERE \(condition)")
  }

  /// `place` is what has the rowid that the row has now, if another one than what has the key.
  private func values(of row: String, at place: String? = nil) -> String {
    let key = schema.key.map { "\(row).\(quoted(schema.columns[$0].name))" }
    let rowID = rowID.map { ["\(place ?? row).\($0)"] } ?? []
    return (["\(id)", Self.now] + rowID + key).joined(separator: ", ")
  }

  /// The name of the rowid by which a row is found that the index of its key hides.
  private var rowID: String? { schema.hasIntegerKey ? nil : schema.rowIDName }

  /// What an UPDATE may call the columns of the key.
  private var keyNames: String {
    let names = schema.key.map { schema.columns[$0].name }
    let rowID = schema.hasIntegerKey ? schema.rowIDNames : []
    return (names + rowID).map(quoted).joined(separator: ", ")
  }

  /// True if the update changes any bit of the key.
  ///
  /// Stricter than SQLite's idea of one key: where only the case of a NOCASE key changes, both
  /// spellings are noted. But the column's own collation would not do either, for the key's index
  /// may have a finer one.
  private var keyChanges: String {
    schema.key.map { column in
      let name = quoted(schema.columns[column].name)
      let collation = schema.hasIntegerKey ? "" : " COLLATE BINARY"
      return "OLD.\(name) IS NOT NEW.\(name)\(collation)"
    }.joined(separator: " OR ")
  }
}
