import SQLite

/// A table of the server as it is now.
struct ServerTable: Sendable, Equatable {
  struct Column: Sendable, Equatable {
    var name: String
    /// As `information_schema` writes it: `decimal(10,2)`, `enum('a','b')`.
    var type: String
    /// The same without its brackets: `decimal`.
    var base: String
    var letters: Int?
    var bytes: Int?
    var digits: Int
    var scale: Int
    var decimals: Int
    var collation: String?
    /// Whether a new row must say what it is.
    var isRequired: Bool
    var takesNull: Bool
    var isGenerated: Bool
    var isUnsigned: Bool
  }

  var schema: String
  var name: String
  var columns: [Column]
  /// The columns of its primary key.
  var key: [String]
  /// Triggers of others that may change what a row is given.
  var changesRows: Bool
  /// Whether others have any trigger of it.
  var hasTriggers: Bool
  var isTransactional: Bool

  var sqlName: String { "\(serverName(schema)).\(serverName(name))" }

  /// Nil if there is no such table.
  static func read(
    _ schema: String, _ name: String, on server: ServerConnection
  ) throws(ServerError) -> ServerTable? {
    let place: [Value] = [.string(schema), .string(name)]
    let table = try server.rows(
      of: 3,
      """
      SELECT table_schema, table_name, engine FROM information_schema.tables
      WHERE table_schema = ? AND table_name = ?
        AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')
      """, place
    ).first
    guard let table else { return nil }
    let columns = try server.rows(
      of: 12,
      """
      SELECT column_name, column_type, data_type, character_maximum_length,
        character_octet_length, numeric_precision, numeric_scale, datetime_precision,
        collation_name, is_nullable = 'NO' AND column_default IS NULL
          AND extra NOT LIKE '%auto_increment%', extra LIKE '%VIRTUAL GENERATED%'
          OR extra LIKE '%STORED GENERATED%' OR extra IN ('VIRTUAL', 'PERSISTENT'),
        is_nullable = 'YES'
      FROM information_schema.columns WHERE table_schema = ? AND table_name = ?
      ORDER BY ordinal_position
      """, place
    ).map { row in
      let type = row[1].string ?? ""
      return Column(
        name: row[0].string ?? "", type: type, base: (row[2].string ?? "").lowercased(),
        letters: row[3].count, bytes: row[4].count, digits: min(row[5].count ?? 0, 65),
        scale: min(row[6].count ?? 0, 65), decimals: min(row[7].count ?? 0, 6),
        collation: row[8].string,
        isRequired: row[9].integer == 1, takesNull: row[11].integer == 1,
        isGenerated: row[10].integer == 1,
        isUnsigned: type.contains("unsigned"))
    }
    // Of a table that keeps its history "the primary key … is extended with the row-end column"
    // (mariadb.com, "System-Versioned Tables"): of the rows that stand, the rest of it is the key.
    let indexes = try server.rows(
      of: 2,
      """
      SELECT index_name, column_name FROM information_schema.statistics
      WHERE table_schema = ? AND table_name = ? AND non_unique = 0 AND column_name NOT IN (
        SELECT column_name FROM information_schema.columns
        WHERE table_schema = ? AND table_name = ? AND generation_expression = 'ROW END')
      ORDER BY index_name, seq_in_index
      """, place + place)
    let triggers = try server.rows(
      of: 2,
      """
      SELECT count(*),
        CAST(IFNULL(sum(action_timing = 'BEFORE' AND event_manipulation <> 'DELETE'), 0) AS SIGNED)
      FROM information_schema.triggers WHERE event_object_schema = ? AND event_object_table = ?
      AND trigger_name NOT LIKE 'flotilla\\_%'
      """, place)
    return ServerTable(
      schema: table[0].string ?? schema, name: table[1].string ?? name, columns: columns,
      key: indexes.filter { $0[0].string == "PRIMARY" }.compactMap { $0[1].string },
      changesRows: triggers.first?[1].integer != 0, hasTriggers: triggers.first?[0].integer != 0,
      isTransactional: table[2].string?.lowercased() == "innodb")
  }

  func column(_ name: String) -> Column? {
    columns.first { $0.name.lowercased() == name.lowercased() }
  }
}

extension Value {
  /// A number of `information_schema`, whose types differ between servers.
  fileprivate var count: Int? {
    switch self {
    case .integer(let number): Int(clamping: max(0, min(number, 1 << 40)))
    case .text(let digits):
      Int(String(decoding: digits, as: UTF8.self)).map { max(0, min($0, 1 << 40)) } ?? 1 << 40
    default: nil
    }
  }
}

extension ServerTable.Column {
  /// What it takes; nil if it is of a type that is not mirrored.
  var kind: ColumnForm.Kind? {
    switch base {
    case "tinyint": integer(bits: 8)
    case "smallint": integer(bits: 16)
    case "mediumint": integer(bits: 24)
    case "int", "integer": integer(bits: 32)
    case "bigint": integer(bits: 64)
    case "year": .integer(least: 1901, most: 2155)
    // DOUBLE(10,2) rounds without a word.
    case "double": isUnsigned || type.contains("(") ? nil : .real
    case "char": .text(letters: letters, bytes: nil, trims: true)
    case "varchar": .text(letters: letters, bytes: nil, trims: false)
    case "tinytext", "text", "mediumtext", "longtext":
      .text(letters: nil, bytes: bytes, trims: false)
    case "varbinary", "tinyblob", "blob", "mediumblob", "longblob": .bytes(most: bytes ?? 0)
    case "decimal": .decimal(digits: digits, scale: scale, isUnsigned: isUnsigned)
    case "date": .date
    case "time": .time(decimals: decimals)
    case "datetime", "timestamp": .moment(decimals: decimals)
    case "enum": .choice(choices)
    default: nil
    }
  }

  private func integer(bits: Int) -> ColumnForm.Kind {
    isUnsigned
      ? .integer(least: 0, most: UInt64.max >> UInt64(64 - bits))
      : .integer(least: Int64.min >> Int64(64 - bits), most: UInt64(Int64.max) >> UInt64(64 - bits))
  }

  /// The words of `enum('a','b')`; a quote in one is doubled.
  private var choices: [String] {
    var (words, word): ([String], String?) = ([], nil)
    var letters = type.dropFirst("enum(".count)[...]
    while let letter = letters.popFirst() {
      guard var open = word else {
        if letter == "'" { word = "" }
        continue
      }
      if letter == "'" {
        guard letters.first == "'" else {
          words.append(open)
          word = nil
          continue
        }
        letters.removeFirst()
        open.append("'")
      } else {
        open.append(letter)
      }
      word = open
    }
    return words
  }
}
