import Replication
import SQLite

/// What the rows of a table say to a reading of its columns after a migration.
///
/// A row that has, with `full_name` counted as `name`, the content hash that it had is a proof that
/// `name` was renamed. It is none if it has that hash with each column under its own name as well.
/// A row that nobody has written since and that has another hash may speak against it. So one that
/// happens to have an equal value in the new column proves nothing.
final class RenameEvidence {
  enum Verdict {
    /// More rows prove it than speak against it.
    case proven
    /// No row proves it, and rows have other hashes, which nothing else explains.
    case refuted
    case none
  }

  private let connection: Connection
  private let shelf: Shelf
  private let table: ReplicaTable
  private let schema: TableSchema
  private let columns: Renames.Columns
  private let versions: VersionTable
  private var sample: Sample?
  /// Each column under the name that it has.
  private lazy var plain = Reading([], [], schema, columns)
  /// Whether a row is as it was with each column under the name that it has, once asked.
  private var isPlain: [Int: Bool] = [:]

  /// Rows that are looked at, at most.
  private static let mostRows = 2_000
  /// So many that prove it are enough where none speaks against it.
  private static let enough = 64

  init(
    _ connection: Connection, _ versions: VersionTable, _ shelf: Shelf, _ table: ReplicaTable,
    _ schema: TableSchema, _ columns: Renames.Columns
  ) {
    (self.connection, self.versions, self.shelf) = (connection, versions, shelf)
    (self.table, self.schema, self.columns) = (table, schema, columns)
  }

  private struct Sample {
    var rows: [(key: Key, version: Version)] = []
    /// Rows that programs have written since.
    var written: Set<Key>
  }

  /// The rows that are looked at. Most migrations ask about none.
  private func rows() throws(SQLiteError) -> Sample {
    if let sample { return sample }
    var read = Sample(written: try Journal.writtenKeys(of: table, on: connection))
    let keys = try connection.rows(
      "SELECT key FROM _flotilla_version WHERE tbl = ? AND hash IS NOT NULL LIMIT ?",
      [.integer(table.id), .integer(Int64(Self.mostRows))]
    ).compactMap { $0[0].blob.map(Key.init) }
    for key in keys {
      guard let version = try versions.version(table: table.id, key: key), !version.isDeleted
      else { continue }
      read.rows.append((key, version))
    }
    sample = read
    return read
  }

  /// A column that is new, and the one whose name it may have replaced, by their places.
  struct Pair: Equatable {
    var new: Int
    var old: Int
  }

  /// What the rows say to these renames; `others` are known.
  func verdict(on pairs: [Pair], beside others: [Pair] = []) throws(SQLiteError) -> Verdict {
    guard !pairs.isEmpty else { return .none }
    let reading = Reading(pairs, others, schema, columns)
    var tally = Tally()
    let sample = try rows()
    for (index, row) in sample.rows.enumerated() {
      guard let finding = try look(at: row, by: reading) else { continue }
      if finding.isMet {
        if !finding.proving.isEmpty, try !isPlain(row, index) { tally.prove(finding) }
      } else if !sample.written.contains(row.key) {
        tally.miss(finding, isPlain: try isPlain(row, index), isWhole: reading.isWhole)
      }
      tally.note(finding)
      if tally.isEnough { break }
    }
    return tally.verdict
  }

  private func isPlain(
    _ row: (key: Key, version: Version), _ index: Int
  ) throws(SQLiteError) -> Bool {
    if let known = isPlain[index] { return known }
    let found = try look(at: row, by: plain)?.isMet ?? false
    isPlain[index] = found
    return found
  }

  /// Nil for a row that cannot tell: it is not in its table, say.
  private func look(
    at standing: (key: Key, version: Version), by reading: Reading
  ) throws(SQLiteError) -> Finding? {
    let ((key, version), statements) = (standing, reading.statements)
    guard let row = try StandingRow.read(key, statements, on: connection) else { return nil }
    let shelved = try shelf.entry(table: table.id, key: key)
    if shelved?.why.isWhole == true { return nil }
    let beside = try row.beside(shelved, statements, key, on: connection)
    let shown = try reading.places.map { (place) throws(SQLiteError) in
      try row.value(of: place, statements, key, on: connection)
    }
    let counts = try reading.remake.match(
      version.hash, row, statements, beside, settled: reading.settled, on: connection)
    guard let counts else {
      return Finding(
        shown: shown.map(Self.hash), isMet: false, rest: reading.rest(of: row, beside, version))
    }
    // Of two columns with one value nothing tells which is which.
    let proving = shown.indices.filter { index in
      let (place, value) = (reading.places[index], shown[index])
      return shown.count { $0 == value } == 1
        && counts[statements.columnHashes[place]] ?? (value != statements.defaults[place])
    }
    return Finding(shown: shown.map(Self.hash), isMet: true, proving: proving)
  }

  private static func hash(_ value: Replication.Value?) -> UInt64 {
    value.map(ContentHash.content) ?? 0
  }
}

extension RenameEvidence {
  /// The columns of the table, some of them under names that others had.
  private struct Reading {
    let statements: RowStatements
    let remake: Remake
    let places: [Int]
    /// Columns that are taken for renamed ones and count as they are declared.
    let settled: Set<UInt64>
    /// Whether none of the columns of before is gone.
    let isWhole: Bool

    init(
      _ pairs: [Pair], _ others: [Pair], _ schema: TableSchema, _ columns: Renames.Columns
    ) {
      let renamed = Dictionary(
        (pairs + others).map { (folded(schema.columns[$0.new].name), columns.known[$0.old].first) },
        uniquingKeysWith: { $1 })
      let names = columns.names(of: schema, renamed: renamed)
      let statements = RowStatements(schema, names)
      places = pairs.compactMap { statements.column(here: schema.columns[$0.new].name) }
      // What else the migration has done to columns explains a hash as well.
      remake = Remake(from: columns.known, to: schema.known(names))
      settled = Set(places.map { statements.columnHashes[$0] }).subtracting(remake.renewed)
      let firsts = Set(names.firsts.map(folded))
      isWhole = columns.known.allSatisfy { firsts.contains(folded($0.first)) }
      self.statements = statements
    }

    /// What columns that are gone have counted in a row, where that is all that is not known of it.
    func rest(of row: StandingRow, _ beside: Beside, _ version: Version) -> UInt64? {
      guard !isWhole, remake.moved == remake.added, let values = row.values else { return nil }
      var sum = ContentHash()
      for (place, column) in statements.columnHashes.enumerated()
      where values[place] != statements.defaults[place] && !remake.added.contains(column) {
        sum.add(column: column, values[place])
      }
      beside.add(to: &sum)
      return sum.rest(to: version.hash)
    }
  }

  /// What a row says to a reading.
  private struct Finding {
    /// The hashes of its values in the columns that are asked about: a value may be long.
    var shown: [UInt64]
    /// Whether it is as it was.
    var isMet: Bool
    /// The values that say that it is, by their places among these.
    var proving: [Int] = []
    var rest: UInt64?
  }

  private struct Tally {
    /// Rows that prove it: what they show, and which of it does.
    private var proofs: [Finding] = []
    /// Two rows of which a column that is gone had one value, and other values in these.
    private var pairs = 0
    /// Rows that are as they were without the renames, and not with them.
    private var objections = 0
    /// What rows show that are otherwise in any case.
    private var doubts: [[UInt64]] = []
    private var mismatches = 0
    private var rows = 0
    private var commonest: [[UInt64: Int]] = []
    private var rests: [UInt64: [UInt64]] = [:]

    /// Whether no more rows are needed.
    var isEnough: Bool { proofs.count >= RenameEvidence.enough && mismatches + objections == 0 }

    /// A row proves it.
    mutating func prove(_ finding: Finding) { proofs.append(finding) }

    /// A row that nobody has written has another hash. `isPlain`: not so under the present names;
    /// `isWhole`: no column that is gone can explain it.
    mutating func miss(_ finding: Finding, isPlain: Bool, isWhole: Bool) {
      if isPlain { objections += 1 }
      guard isWhole else { return }
      mismatches += 1
      if !isPlain { doubts.append(finding.shown) }
    }

    /// Any row. Where two have one `rest` and show other values, no other reading gives both what
    /// they had.
    mutating func note(_ finding: Finding) {
      rows += 1
      if commonest.isEmpty { commonest = finding.shown.map { _ in [:] } }
      for (index, value) in finding.shown.enumerated() { commonest[index][value, default: 0] += 1 }
      guard let rest = finding.rest else { return }
      let before = rests.updateValue(finding.shown, forKey: rest)
      if let before, before != finding.shown { pairs += 1 }
    }

    /// What a migration has put into most rows is a weak proof that a row had it. Rows that show
    /// the same, and are not as they were, speak against that.
    var verdict: Verdict {
      let fills = commonest.map { values in values.first { $0.value > rows / 2 }?.key }
      let strong = proofs.count { proof in proof.proving.contains { proof.shown[$0] != fills[$0] } }
      let doubtful = doubts.count { shown in zip(shown, fills).contains { $0 == $1 } }
      if strong + pairs > objections || proofs.count + pairs > objections + doubtful {
        return .proven
      }
      return mismatches > 0 || objections > 0 ? .refuted : .none
    }
  }
}
