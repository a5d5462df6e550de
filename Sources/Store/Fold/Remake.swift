import Replication
import SQLite

/// What a migration that made a table anew has done to its columns, as far as that tells which
/// rows nobody has written.
///
/// Django adds `email` by copying the table: every row has '' there, and no row was edited. So what
/// a row counts without `email` is what its version counts, and it is an image of that version.
struct Remake: Equatable {
  /// Columns that are new or declared otherwise, by the hashes of their first names: the migration
  /// may have put a value there.
  private(set) var moved: Set<UInt64> = []
  /// Columns are gone or of another type: what they counted cannot be told from each row.
  private(set) var isVague = false
  /// Of the moved ones those that had another type: what a row counted there may be another form of
  /// what it shows.
  private(set) var retyped: Set<UInt64> = []
  /// Of the moved ones those that are new.
  private(set) var added: Set<UInt64> = []
  /// What the migration put into a new column, by the column: the sum of the value that more than
  /// half of the rows show. What another row shows a program may have written there.
  private(set) var fills: [UInt64: UInt64] = [:]
  /// Of the moved ones those that had another default. A default counts for nothing, so of a row
  /// that has the new one the hash does not tell whether it had the old one: it counts as changed.
  private(set) var renewed: Set<UInt64> = []
  /// Columns that are GENERATED now and were not: what they counted is gone.
  private(set) var computed: Set<UInt64> = []
  /// References to a table that has become the site's, by their links: rows that were written
  /// before do not say yet which row of it they mean.
  private(set) var naming: Set<UInt64> = []

  /// No migration, but references that rows are to name.
  init(naming links: [Parentage.Link]) { naming = Set(links.map { UInt64($0.id) }) }

  /// One of which nothing is known.
  init() {}

  init(from known: [ColumnNames.Known], to present: [ColumnNames.Known]) {
    for column in present {
      let old = known.first { isSameName($0.first, column.first) }
      guard !column.isGenerated else {
        if let old, !old.isGenerated { computed.insert(ContentHash.column(column.first)) }
        continue
      }
      guard let old else {
        moved.insert(ContentHash.column(column.first))
        added.insert(ContentHash.column(column.first))
        continue
      }
      guard old.declaration != column.declaration else { continue }
      moved.insert(ContentHash.column(column.first))
      if old.affinity != column.affinity {
        isVague = true
        retyped.insert(ContentHash.column(column.first))
      }
      if old.defaultText != column.defaultText {
        renewed.insert(ContentHash.column(column.first))
      }
    }
    let isGone = known.contains { old in !present.contains { isSameName($0.first, old.first) } }
    if isGone || !computed.isEmpty { isVague = true }
  }

  /// Whether it tells anything of rows.
  var isEmpty: Bool { moved.isEmpty && !isVague && naming.isEmpty }

  /// One migration came after another one before all rows were looked at.
  mutating func join(_ other: Remake) {
    moved.formUnion(other.moved)
    isVague = isVague || other.isVague
    retyped.formUnion(other.retyped)
    added.formUnion(other.added)
    fills.merge(other.fills) { known, _ in known }
    renewed.formUnion(other.renewed)
    naming.formUnion(other.naming)
    computed.formUnion(other.computed)
  }

  /// Looks what the migration has put into the columns that are new.
  mutating func readFills(
    _ statements: RowStatements, on connection: Connection
  ) throws(SQLiteError) {
    for (place, column) in statements.columnHashes.enumerated() where added.contains(column) {
      guard fills[column] == nil, let most = try statements.commonest(place, on: connection),
        most.count > most.of / 2
      else { continue }
      fills[column] = Self.sum(column, Replication.Value(most.value))
    }
  }

  private static func sum(_ column: UInt64, _ value: Replication.Value) -> UInt64 {
    var sum = ContentHash()
    sum.add(column: column, value)
    return sum.value
  }

  /// Columns that had a first name of their own here and are others of the site, if a default
  /// counts for nothing in them. Nobody knows which those had when a migration filled them.
  static func adopted(
    _ known: [ColumnNames.Known], by present: [ColumnNames.Known]
  ) -> Set<UInt64> {
    Set(
      present.filter { column in
        !column.defaultText.isEmpty
          && known.contains { isSameName($0.name, column.name) && $0.first != column.first }
      }.map { ContentHash.column($0.first) })
  }

  /// These columns may have had another default.
  mutating func renew(_ columns: Set<UInt64>) { renewed.formUnion(columns) }

  /// These columns are new.
  mutating func add(_ columns: Set<UInt64>) { added.formUnion(columns) }

  /// Nothing tells any more which rows a program has written since.
  mutating func blur() { isVague = true }

  /// What a row is to a version of before the migration.
  enum Likeness {
    /// It shows the same, but for what the migration put there.
    case image
    /// The migration may have made all of it of the version, or a program may have written since.
    case perhaps
    /// A program has written it.
    case edit
  }

  func likeness(
    of row: StandingRow, to hash: UInt64, _ statements: RowStatements, _ beside: Beside,
    on connection: Connection
  ) throws(SQLiteError) -> Likeness {
    if try match(hash, row, statements, beside, asFilled: true, on: connection) != nil {
      return .image
    }
    if isVague { return .perhaps }
    guard let search = try search(row, statements, beside, on: connection) else { return .edit }
    return search.isTooWide || search.counts(hash) != nil ? .perhaps : .edit
  }

  /// The columns that count otherwise than they are declared now, and whether they do. This is so
  /// where a row shows what a version of that hash says but for what the migration put there.
  ///
  /// Nil if it shows something else. `settled` are columns that are known to count as they are
  /// declared; `asFilled` is set where new columns are to show what most rows do.
  func match(
    _ hash: UInt64, _ row: StandingRow, _ statements: RowStatements, _ beside: Beside,
    settled: Set<UInt64> = [], asFilled: Bool = false, on connection: Connection
  ) throws(SQLiteError) -> [UInt64: Bool]? {
    if row.hash(beside) == hash { return [:] }
    return try search(
      row, statements, beside, settled: settled, asFilled: asFilled, on: connection
    )?.counts(hash)
  }

  /// Nil for a long row.
  private func search(
    _ row: StandingRow, _ statements: RowStatements, _ beside: Beside,
    settled: Set<UInt64> = [], asFilled: Bool = false, on connection: Connection
  ) throws(SQLiteError) -> RemakeSearch? {
    guard let values = row.values else { return nil }
    var search = RemakeSearch()
    for (place, value) in values.enumerated() {
      let column = statements.columnHashes[place]
      let (isKnown, isDefault) = (
        settled.contains(column) || beside.places.contains(place),
        statements.defaults[place] == value
      )
      if moved.contains(column), !isKnown {
        let isFilled =
          !asFilled || isDefault || fills[column].map { $0 == Self.sum(column, value) } ?? true
        var forms = [value] + (beside.writtenOver[place].map { [$0.value] } ?? [])
        if retyped.contains(column) {
          forms += try statements.others(of: value, in: place, on: connection)
        }
        var open = RemakeSearch.Open(column: column, isFilled: isFilled, forms: forms)
        if beside.writtenOver[place] == nil {
          open.isNew = isFilled && added.contains(column)
          let isAlike = !added.union(retyped).union(renewed).contains(column)
          open.likely = open.isNew ? false : isAlike ? !isDefault : nil
        }
        search.open.append(open)
      } else if !isDefault {
        search.base.add(column: column, value)
      }
    }
    beside.add(to: &search.base)
    return search
  }

  /// Whether a row refers to somebody by one of these links whom its version does not name.
  func names(_ row: StandingRow, _ version: Version, _ links: [Parentage.Link]) -> Bool {
    guard !naming.isEmpty, let values = row.values else { return false }
    return links.contains { link in
      naming.contains(UInt64(link.id)) && values[link.column] != .null
        && !version.numbering.parents.contains(where: link.isMeant)
    }
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
    let others = [
      (2, renewed), (4, retyped), (16, naming), (32, computed), (8, added),
    ].filter { !$0.1.isEmpty }
    writer.byte(others.reduce(isVague ? 1 : 0) { $0 | UInt8($1.0) })
    for columns in [moved] + others.map(\.1) {
      writer.uint(columns.count)
      for column in columns.sorted() { writer.word(column) }
    }
    guard !added.isEmpty else { return }
    writer.uint(fills.count)
    for (column, sum) in fills.sorted(by: { $0.key < $1.key }) {
      writer.word(column)
      writer.word(sum)
    }
  }

  init(from reader: inout ByteReader) throws(WireError) {
    let flags = try reader.byte("remake")
    isVague = flags & 1 != 0
    moved = try Self.columns(from: &reader)
    if flags & 2 != 0 { renewed = try Self.columns(from: &reader) }
    if flags & 4 != 0 { retyped = try Self.columns(from: &reader) }
    if flags & 16 != 0 { naming = try Self.columns(from: &reader) }
    if flags & 32 != 0 { computed = try Self.columns(from: &reader) }
    guard flags & 8 != 0 else { return }
    added = try Self.columns(from: &reader)
    for _ in 0..<(try reader.count("remake", limit: Limits.columns)) {
      let column = try reader.word("remake")
      fills[column] = try reader.word("remake")
    }
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
