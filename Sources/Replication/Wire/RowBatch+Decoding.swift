extension RowBatch {
  /// Reads a batch; everything is checked before anything is used.
  package init(bytes: [UInt8]) throws(WireError) {
    let packed = try PackedBatch(bytes: bytes) { _, _ in }
    tables = packed.tables
    rows = try packed.rows
  }

  /// What comes before the rows of a batch: what they name by small numbers.
  struct Header: Sendable {
    let tables: [TableShape]
    fileprivate let names: Names

    /// A batch that fills more than a frame `isLong`: it was made of one row, and names its table.
    init(from reader: inout ByteReader, isLong: Bool) throws(WireError) {
      tables = try RowBatch.tables(
        from: &reader, most: isLong ? 1 : Limits.tablesPerBatch)
      let origins = try RowBatch.origins(from: &reader)
      names = Names(origins: origins, terms: try RowBatch.terms(from: &reader))
    }

    /// The next row.
    func row(from reader: inout ByteReader) throws(WireError) -> WireRow {
      var (head, columns) = try RowBatch.head(from: &reader, tables, names)
      while head.values.count < columns { head.values.append(try reader.value("Row")) }
      return head.row
    }

    /// The same row, of which what stands beside the key is checked, and not kept.
    func head(from reader: inout ByteReader) throws(WireError) -> RowHead {
      let (head, columns) = try RowBatch.head(from: &reader, tables, names)
      for _ in head.values.count..<columns { try reader.skipValue("Row") }
      return head
    }
  }

  /// The tables of a batch, of which this is the beginning; all of them must be named in it.
  package static func tableNames(
    inBeginning bytes: [UInt8]
  ) throws(WireError) -> [String] {
    var reader = ByteReader(bytes)
    let names = try tables(from: &reader, most: Limits.tablesPerBatch).map(\.name)
    guard !names.isEmpty else { throw WireError(.malformed, "Rows: tables") }
    return names
  }

  private static func tables(
    from reader: inout ByteReader, most: Int
  ) throws(WireError) -> [TableShape] {
    let count = try reader.count("Rows: tables", limit: most)
    var tables: [TableShape] = []
    for _ in 0..<count {
      let name = try reader.text("Rows: table")
      let keyCount = try reader.count("Rows: key", limit: Limits.columns)
      let columnCount = try reader.count("Rows: columns", limit: Limits.columns)
      guard keyCount >= 1, keyCount <= columnCount else {
        throw WireError(.malformed, "Rows: key")
      }
      var columns: [String] = []
      var bytes = 0
      for _ in 0..<columnCount {
        columns.append(try reader.text("Rows: column"))
        bytes += columns[columns.count - 1].utf8.count
        guard bytes <= Limits.namesBytes else { throw WireError(.tooLong, "Rows: columns") }
      }
      guard areDifferent(columns) else {
        throw WireError(.malformed, "Rows: columns")
      }
      var key: [(affinity: KeyAffinity, collation: KeyCollation)] = []
      for _ in 0..<keyCount {
        guard let parts = KeyShape.parts(of: try reader.byte("Rows: collation")) else {
          throw WireError(.malformed, "Rows: collation")
        }
        key.append(parts)
      }
      let generation = try reader.uint("Rows: generation")
      guard generation <= Limits.generations else {
        throw WireError(.malformed, "Rows: generation")
      }
      tables.append(
        TableShape(
          name: name, keyCount: keyCount, columns: columns, collations: key.map(\.collation),
          affinities: key.map(\.affinity), generation: generation))
    }
    return tables
  }

  /// As SQLite compares names, and as Swift does: it holds two spellings of a letter for equal.
  private static func areDifferent(_ names: [String]) -> Bool {
    guard names.allSatisfy({ $0.utf8.allSatisfy { $0 < 0x80 } }) else {
      var others = ShapeNames()
      return names.allSatisfy { others.take($0) == nil }
    }
    func isSame(_ left: UInt8, _ right: UInt8) -> Bool {
      left == right || left ^ right == 0x20 && 0x61...0x7A ~= left | 0x20
    }
    // The names of a few columns are compared sooner than they are hashed.
    if names.count <= 8 {
      return names.indices.allSatisfy { index in
        !names[..<index].contains { $0.utf8.elementsEqual(names[index].utf8, by: isSame) }
      }
    }
    let folded = Set(names.map { KeyCollation.nocase.canonical(Array($0.utf8)) })
    return folded.count == names.count
  }

  private static func origins(from reader: inout ByteReader) throws(WireError) -> [Origin] {
    let count = try reader.count("Rows: origins", limit: Limits.frontierEntries)
    var origins: [Origin] = []
    for _ in 0..<count { origins.append(Origin(rawValue: try reader.word("Rows: origin"))) }
    return origins
  }

  private static func terms(from reader: inout ByteReader) throws(WireError) -> [Term] {
    let count = try reader.count("Rows: terms", limit: Limits.termsPerBatch)
    var terms: [Term] = []
    for _ in 0..<count {
      let term = try reader.term("Rows: term")
      guard term.number > 0 else { throw WireError(.malformed, "Rows: term") }
      terms.append(term)
    }
    return terms
  }

  /// What rows name by a small number.
  fileprivate struct Names: Sendable {
    var origins: [Origin]
    var terms: [Term]
  }

  /// A row as far as its key, and how many values it has with that.
  private static func head(
    from reader: inout ByteReader, _ tables: [TableShape], _ names: Names
  ) throws(WireError) -> (head: RowHead, columns: Int) {
    let table = try index(from: &reader, below: tables.count)
    let flags = RowFlags(rawValue: try reader.byte("Row"))
    guard flags.isPossible else { throw WireError(.malformed, "Row: flags") }
    let dot = try dot(from: &reader, names)
    let stamp = try reader.stamp("Row: stamp")
    let hash = try reader.word("Row: hash")
    let (isDeleted, isRuling) = (flags.contains(.deleted), flags.contains(.ruling))
    guard (hash == 0) == (isDeleted || isRuling) else { throw WireError(.malformed, "Row: hash") }
    var (created, createdAt) = (dot, stamp)
    if !flags.contains(.createdHere) {
      created = try self.dot(from: &reader, names)
      guard created != dot else { throw WireError(.malformed, "Row: created") }
      createdAt = try reader.stamp("Row: created", before: stamp)
    }
    var version = Version(
      dot: dot, created: created, createdAt: createdAt, stamp: stamp, hash: hash,
      isDeleted: isDeleted)
    if flags.contains(.standing) { try readStanding(of: &version, from: &reader, names) }
    if flags.contains(.references) {
      version.numbering = try Numbering(from: &reader) { reader throws(WireError) in
        try Self.dot(from: &reader, names)
      }
    }
    let ruling = isRuling ? try self.ruling(from: &reader, names) : nil
    let shape = tables[table]
    let keyOnly = !flags.isDisjoint(with: .keyOnly)
    let columns = keyOnly ? shape.keyCount : shape.columns.count
    var values: [Value] = []
    values.reserveCapacity(columns)
    for _ in 0..<shape.keyCount {
      let value = try reader.value("Row")
      guard value != .null else { throw WireError(.malformed, "Row: key") }
      values.append(value)
    }
    let head = RowHead(
      table: table, version: version, ruling: ruling, isKeyOnly: keyOnly, values: values)
    return (head, columns)
  }

  private static func readStanding(
    of version: inout Version, from reader: inout ByteReader, _ names: Names
  ) throws(WireError) {
    let flags = Standing.Flags(rawValue: try reader.byte("Row: standing"))
    guard flags.isPossible else { throw WireError(.malformed, "Row: standing") }
    var said = Version.Particulars()
    defer { version.particulars = said }
    said.isUndated = flags.contains(.undated)
    said.isDangling = flags.contains(.dangling)
    if flags.contains(.term) {
      said.term = names.terms[try index(from: &reader, below: names.terms.count)]
      said.epoch = try reader.number("Row: epoch")
    }
    if flags.contains(.epoch) {
      said.epoch = try reader.number("Row: epoch")
      guard said.epoch > 0 else { throw WireError(.malformed, "Row: epoch") }
    }
    if flags.contains(.certificate) {
      guard said.term != .none else { throw WireError(.malformed, "Row: certificate") }
      said.certificate = Version.Certificate(
        edit: try dot(from: &reader, names), at: try reader.stamp("Row: certified"))
    }
    if flags.contains(.session) { said.session = try reader.word("Row: session") }
    if flags.contains(.image) { said.image = try dot(from: &reader, names) }
    guard flags.contains(.context) else { return }
    var dots: [Dot] = []
    for _ in 0..<(try reader.count("Row: context", limit: RowContext.limit)) {
      dots.append(try dot(from: &reader, names))
    }
    guard let context = RowContext(dots), !context.isEmpty else {
      throw WireError(.malformed, "Row: context")
    }
    said.context = context
  }

  private static func ruling(
    from reader: inout ByteReader, _ names: Names
  ) throws(WireError) -> Ruling {
    guard let kind = Ruling.Kind(rawValue: try reader.byte("Row: ruling")) else {
      throw WireError(.malformed, "Row: ruling")
    }
    let edit = try dot(from: &reader, names)
    return Ruling(kind, edit: edit, rule: try reader.text("Row: rule"))
  }

  private static func dot(
    from reader: inout ByteReader, _ names: Names
  ) throws(WireError) -> Dot {
    let origin = try index(from: &reader, below: names.origins.count)
    let seq = try reader.number("Row: seq")
    guard seq > 0 else { throw WireError(.malformed, "Row: seq") }
    return Dot(names.origins[origin], seq)
  }

  private static func index(
    from reader: inout ByteReader, below count: Int
  ) throws(WireError) -> Int {
    let index = try reader.uint("Row")
    guard index < UInt64(count) else { throw WireError(.malformed, "Row: index") }
    return Int(index)
  }
}
