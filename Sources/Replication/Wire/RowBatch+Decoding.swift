extension RowBatch {
  /// Reads a batch; everything is checked before anything is used.
  package init(bytes: [UInt8]) throws(WireError) {
    var reader = ByteReader(bytes)
    let tables = try Self.tables(from: &reader)
    let origins = try Self.origins(from: &reader)
    let count = try reader.count("Rows", limit: Limits.rowsPerBatch)
    var rows: [WireRow] = []
    rows.reserveCapacity(count)
    var room = Limits.valuesPerBatch
    for _ in 0..<count {
      let row = try Self.row(from: &reader, tables: tables, origins: origins)
      room -= row.values.count
      guard room >= 0 else { throw WireError(.tooLong, "Rows") }
      rows.append(row)
    }
    try reader.finish("Rows")
    self.tables = tables
    self.rows = rows
  }

  /// The tables of a batch, of which this is the beginning; all of them must be named in it.
  package static func tableNames(
    inBeginning bytes: [UInt8]
  ) throws(WireError) -> [String] {
    var reader = ByteReader(bytes)
    let names = try tables(from: &reader).map(\.name)
    guard !names.isEmpty else { throw WireError(.malformed, "Rows: tables") }
    return names
  }

  private static func tables(from reader: inout ByteReader) throws(WireError) -> [TableShape] {
    let count = try reader.count("Rows: tables", limit: Limits.tablesPerBatch)
    var tables: [TableShape] = []
    for _ in 0..<count {
      let name = try reader.text("Rows: table")
      let keyCount = try reader.count("Rows: key", limit: Limits.columns)
      let columnCount = try reader.count("Rows: columns", limit: Limits.columns)
      guard keyCount >= 1, keyCount <= columnCount else {
        throw WireError(.malformed, "Rows: key")
      }
      var columns: [String] = []
      for _ in 0..<columnCount { columns.append(try reader.text("Rows: column")) }
      // As SQLite compares names; Swift would hold two spellings of one letter for equal.
      let folded = Set(columns.map { KeyCollation.nocase.canonical(Array($0.utf8)) })
      guard folded.count == columns.count else {
        throw WireError(.malformed, "Rows: columns")
      }
      var collations: [KeyCollation] = []
      for _ in 0..<keyCount {
        guard let collation = KeyCollation(rawValue: try reader.byte("Rows: collation")) else {
          throw WireError(.malformed, "Rows: collation")
        }
        collations.append(collation)
      }
      tables.append(
        TableShape(name: name, keyCount: keyCount, columns: columns, collations: collations))
    }
    return tables
  }

  private static func origins(from reader: inout ByteReader) throws(WireError) -> [Origin] {
    let count = try reader.count("Rows: origins", limit: Limits.frontierEntries)
    var origins: [Origin] = []
    for _ in 0..<count { origins.append(Origin(rawValue: try reader.word("Rows: origin"))) }
    return origins
  }

  private static func row(
    from reader: inout ByteReader, tables: [TableShape], origins: [Origin]
  ) throws(WireError) -> WireRow {
    let table = try index(from: &reader, below: tables.count)
    let flags = try reader.byte("Row")
    guard flags < 8, flags & 5 != 5 else { throw WireError(.malformed, "Row: flags") }
    let dot = try dot(from: &reader, origins: origins)
    let stamp = try reader.uint("Row: stamp")
    guard stamp <= UInt64(Stamp.highest.rawValue) else {
      throw WireError(.malformed, "Row: stamp")
    }
    let hash = try reader.word("Row: hash")
    let isDeleted = flags & 1 != 0
    guard (hash == 0) == isDeleted else { throw WireError(.malformed, "Row: hash") }
    let created = flags & 2 != 0 ? dot : try self.dot(from: &reader, origins: origins)
    let version = Version(
      dot: dot, created: created, stamp: Stamp(rawValue: Int64(stamp)), hash: hash,
      isDeleted: isDeleted)
    let shape = tables[table]
    let keyOnly = flags & 5 != 0
    var values: [Value] = []
    for _ in 0..<(keyOnly ? shape.keyCount : shape.columns.count) {
      values.append(try reader.value("Row"))
    }
    let hasNullKey = values.prefix(shape.keyCount).contains { $0 == .null }
    guard !hasNullKey else { throw WireError(.malformed, "Row: key") }
    let content: WireRow.Content =
      isDeleted ? .deleted(key: values) : keyOnly ? .withheld(key: values) : .values(values)
    return WireRow(table: table, version: version, content: content)
  }

  private static func dot(
    from reader: inout ByteReader, origins: [Origin]
  ) throws(WireError) -> Dot {
    let origin = try index(from: &reader, below: origins.count)
    let seq = try reader.uint("Row: seq")
    guard 1...(1 << 62) ~= seq else { throw WireError(.malformed, "Row: seq") }
    return Dot(origins[origin], seq)
  }

  private static func index(
    from reader: inout ByteReader, below count: Int
  ) throws(WireError) -> Int {
    let index = try reader.uint("Row")
    guard index < UInt64(count) else { throw WireError(.malformed, "Row: index") }
    return Int(index)
  }
}
