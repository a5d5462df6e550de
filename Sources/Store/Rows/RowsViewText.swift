import SQLite

/// Writes the SQL of the view of one table's rows.
///
/// Like the triggers it stays within what SQLite 3.22 parses, needs no extension and runs with
/// `trusted_schema` off. It reads Flotilla's tables alone and makes the key columns out of the
/// canonical key.
///
/// `LIMIT -1` keeps SQLite from taking a part into the query around it: the part would be written
/// out, and computed, wherever its result is used, and a LEFT JOIN with the view would compute it
/// for each pair of rows. As it is, SQLite computes the view once and finds its rows by an index
/// that it makes for the query ("automatic index"). It decides so by guessing how many rows there
/// are, and for `tbl = 1` it guesses ten; hence the ranges of one value.
struct RowsViewText {
  let schema: TableSchema
  let id: Int64

  /// What is passed from part to part beside the key.
  private static let carried = ["origin", "seq", "stamp", "created", "at", "author"]

  var sql: String {
    let parts = [Self.bytes] + schema.key.indices.map { "\(Self.part($0)) AS (\(stage($0)))" }
    return """
      CREATE VIEW \(quoted(RowsView.name(of: schema.name))) AS
      WITH \(parts.joined(separator: ",\n"))
      SELECT \((keyColumns + facts).joined(separator: ",\n  "))
      FROM \(Self.part(schema.key.count - 1)) AS v
      LEFT JOIN _flotilla_origin AS o ON o.id = coalesce(v.author, v.origin)
      LEFT JOIN _flotilla_author AS a ON a.origin = o.origin
      WHERE \(isWhole) LIMIT -1
      """
  }

  /// The bytes from 1 to 255 in order: where one stands in them is what it is, and 0 is nowhere.
  private static let bytes: String = {
    let digits = (1...255).map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
    return "_flotilla_b(bytes) AS (SELECT x'\(digits.joined())' FROM _flotilla_meta"
      + " WHERE name BETWEEN 'origin' AND 'origin')"
  }()

  /// The parts are named as no table of an application is: ALTER TABLE would take such a table for
  /// the part when it reads the view again ("no such column …", seen with 3.40.1).
  private static func part(_ index: Int) -> String { "_flotilla_s\(index)" }

  /// Decodes one key column from the rest `r` of the key, and cuts it off.
  private func stage(_ index: Int) -> String {
    let text = KeyColumnText(schema: schema, index: index)
    let before = (0..<index).map { "c\($0)" }
    let rest = text.isLast ? [] : ["\(text.rest) AS r", "bytes"]
    let terms = Self.carried + before + ["\(text.value) AS c\(index)"] + rest
    let source =
      index == 0
      ? """
      _flotilla_b CROSS JOIN (SELECT origin, seq, stamp, coalesce(cstamp, stamp) AS created, at,
        author, key AS r FROM _flotilla_version
        WHERE tbl BETWEEN \(id) AND \(id) AND hash IS NOT NULL)
      """ : Self.part(index - 1)
    let select = "SELECT \(terms.joined(separator: ", ")) FROM \(source) LIMIT -1"
    guard text.needsTypedColumn else { return select }
    // Some columns hold texts and numbers, and no CAST leaves both as they are. SQLite takes the
    // affinity of a compound from its first part.
    let typed = (0...index).map {
      "\(KeyColumnText(schema: schema, index: $0).typedNull) AS c\($0)"
    }
    let empty =
      Self.carried.map { "NULL AS \($0)" } + typed
      + (text.isLast ? [] : ["NULL AS r", "NULL AS bytes"])
    return "SELECT \(empty.joined(separator: ", ")) WHERE 0 UNION ALL " + select
  }

  private var keyColumns: [String] {
    schema.key.enumerated().map { "c\($0.offset) AS \(quoted(schema.columns[$0.element].name))" }
  }

  private var facts: [String] {
    [
      time("created", as: "created_at"), time("coalesce(at, stamp)", as: "updated_at"),
      time("stamp", as: "edited_at"), "a.name AS \(own("edited_by"))",
      "\(synced) AS \(own("synced"))",
    ]
  }

  /// False for a key that has a value which the table's column cannot have, or can but hardly ever
  /// has (`KeyColumnText`): it is of a time when the key was declared otherwise.
  private var isWhole: String {
    schema.key.indices.map { "c\($0) IS NOT NULL" }.joined(separator: " AND ")
  }

  /// The name of a column of ours; a key column of the same name goes before it.
  private func own(_ name: String) -> String {
    let isTaken = schema.key.contains { isSameName(schema.columns[$0].name, name) }
    return quoted(isTaken ? "_flotilla_" + name : name)
  }

  /// A stamp as text in UTC; NULL where the row was there before the site, at an unknown time.
  private func time(_ stamp: String, as name: String) -> String {
    "CASE WHEN \(stamp) >= 65536 THEN strftime('%Y-%m-%d %H:%M:%f', "
      + "(\(stamp) >> 16) / 1000.0 + 1577836800, 'unixepoch') END AS \(own(name))"
  }

  /// Whether what stands is safe elsewhere: see `docs/store.md`.
  private var synced: String {
    let key = schema.key.indices.map { "c\($0)" }.joined(separator: ", ")
    let noted = schema.key.indices.map { "k\($0)" }.joined(separator: ", ")
    return """
      CASE
        WHEN \(schema.key.count == 1 ? key : "(\(key))")
          IN (SELECT \(noted) FROM \(Journal.table) WHERE tbl = \(id)) THEN 0
        WHEN at IS NOT NULL THEN 1
        WHEN v.origin <> (SELECT value FROM _flotilla_meta WHERE name = 'origin') THEN 1
        WHEN v.seq > coalesce((SELECT value FROM _flotilla_meta WHERE name = 'delivered'), 0) THEN 0
        WHEN EXISTS (SELECT 1 FROM _flotilla_verdict AS w
          WHERE w.seq = v.seq AND w.verdict IS NULL) THEN 0
        ELSE 1 END
      """
  }
}
