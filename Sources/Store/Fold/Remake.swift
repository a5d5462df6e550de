import Replication

/// What a migration that made a table anew has done to its columns, as far as that tells which
/// rows nobody has written.
///
/// Django adds `email` by copying the table: every row has '' there, and no row was edited. So what
/// a row counts without `email` is what its version counts, and it is an image of that version.
struct Remake: Equatable {
  /// Columns that are new or declared otherwise, by the hashes of their first names: the migration
  /// may have put a value there.
  private(set) var moved: Set<UInt64> = []
  /// Columns are gone or of another type: what they counted cannot be told from the row any more.
  var isVague = false
  /// Of the moved ones those that had another default. A default counts for nothing, so of a row
  /// that has the new one the hash does not tell whether it had the old one: it counts as changed.
  private(set) var renewed: Set<UInt64> = []

  /// One of which nothing is known.
  init() {}

  init(from known: [ColumnNames.Known], to present: [ColumnNames.Known]) {
    for column in present {
      guard let old = known.first(where: { isSameName($0.first, column.first) }) else {
        moved.insert(ContentHash.column(column.first))
        continue
      }
      guard old.declaration != column.declaration else { continue }
      moved.insert(ContentHash.column(column.first))
      if old.affinity != column.affinity { isVague = true }
      if old.defaultText != column.defaultText {
        renewed.insert(ContentHash.column(column.first))
      }
    }
    if known.contains(where: { old in !present.contains { isSameName($0.first, old.first) } }) {
      isVague = true
    }
  }

  /// Whether it tells anything of rows.
  var isEmpty: Bool { moved.isEmpty && !isVague }

  /// One migration came after another one before all rows were looked at.
  mutating func join(_ other: Remake) {
    moved.formUnion(other.moved)
    isVague = isVague || other.isVague
    renewed.formUnion(other.renewed)
  }

  /// Columns that are tried, at most: each of them may count or not.
  private static let limit = 8

  /// Whether a row shows what a version of that hash says, but for what the migration put there.
  func shows(
    _ hash: UInt64, _ row: StandingRow, _ statements: RowStatements, _ beside: Beside
  ) -> Bool {
    match(hash, row, statements, beside) != nil
  }

  /// The same, with the columns that count otherwise than they are declared now, and whether they
  /// do; nil if the row shows something else. `settled` are columns that are known to count as they
  /// are declared.
  func match(
    _ hash: UInt64, _ row: StandingRow, _ statements: RowStatements, _ beside: Beside,
    settled: Set<UInt64> = []
  ) -> [UInt64: Bool]? {
    if row.hash(beside) == hash { return [:] }
    guard let values = row.values else { return nil }
    var base = ContentHash()
    var open: [(column: UInt64, value: Replication.Value)] = []
    for (place, value) in values.enumerated() {
      let column = statements.columnHashes[place]
      if moved.contains(column), !settled.contains(column) {
        open.append((column, value))
      } else if statements.defaults[place] != value {
        base.add(column: column, value)
      }
    }
    beside.add(to: &base)
    guard open.count <= Self.limit else { return nil }
    for mask in 0..<1 << open.count {
      var sum = base
      for (index, one) in open.enumerated() where mask >> index & 1 == 1 {
        sum.add(column: one.column, one.value)
      }
      guard sum.value == hash else { continue }
      return Dictionary(
        open.enumerated().map { ($1.column, mask >> $0 & 1 == 1) }, uniquingKeysWith: { $1 })
    }
    return nil
  }

  /// Whether a row has the default of a column that had another one.
  func renews(_ row: StandingRow, _ statements: RowStatements) -> Bool {
    guard !renewed.isEmpty else { return false }
    return statements.columnHashes.enumerated().contains { place, column in
      renewed.contains(column)
        && row.values.map { $0[place] == statements.defaults[place] } ?? true
    }
  }
}

extension Remake {
  func write(to writer: inout ByteWriter) {
    writer.byte((isVague ? 1 : 0) | (renewed.isEmpty ? 0 : 2))
    for columns in renewed.isEmpty ? [moved] : [moved, renewed] {
      writer.uint(columns.count)
      for column in columns.sorted() { writer.word(column) }
    }
  }

  init(from reader: inout ByteReader) throws(WireError) {
    let flags = try reader.byte("remake")
    isVague = flags & 1 != 0
    moved = try Self.columns(from: &reader)
    if flags & 2 != 0 { renewed = try Self.columns(from: &reader) }
  }

  private static func columns(from reader: inout ByteReader) throws(WireError) -> Set<UInt64> {
    var columns: Set<UInt64> = []
    for _ in 0..<(try reader.count("remake", limit: Limits.columns)) {
      columns.insert(try reader.word("remake"))
    }
    return columns
  }
}

extension ColumnNames.Known {
  /// That of the declared type, with which the declaration begins.
  fileprivate var affinity: Affinity {
    let type = declaration.prefix { $0 != "|" }
    return Affinity(declared: String(type), isStrict: false)
  }
}
