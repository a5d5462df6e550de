import Replication
import SQLite

/// Which rows hold a unique value that another one claims, asked of the indexes of whole columns.
///
/// It costs one search in each index. What indexes over expressions or a part of the table hold,
/// `Rivals` finds. Of rows that are in no index, numbers tell which may claim the same value.
struct Claims {
  private struct Question {
    /// Of the shape, in the order of the index.
    let columns: [Int]
    let select: String
  }

  /// An index of columns, of the whole table or a part of it.
  private struct Numbering {
    /// Of the shape, in the order of the index.
    var columns: [Int] = []
    var affinities: [Affinity] = []
    var collations: [KeyCollation] = []
  }

  private let questions: [Question]
  private let hasOthers: Bool
  private let numberings: [Numbering]
  /// Some index has expressions, or computed columns.
  private let hasExpressions: Bool
  private let defaults: [Replication.Value?]

  init(_ table: ReplicaTable, _ statements: RowStatements) {
    defaults = statements.defaults
    guard let schema = table.schema else {
      (questions, hasOthers, numberings, hasExpressions) = ([], true, [], true)
      return
    }
    numberings = schema.uniqueIndexes.compactMap { index in
      var numbering = Numbering()
      for term in index.terms {
        guard case .column(let column) = term.source,
          let place = statements.column(here: schema.columns[column].name)
        else { return nil }
        numbering.columns.append(place)
        numbering.affinities.append(schema.columns[column].affinity)
        numbering.collations.append(KeyCollation(named: term.collation))
      }
      return numbering
    }
    hasExpressions = numberings.count < schema.uniqueIndexes.count
    let shape = statements.shape
    let key = statements.names.prefix(shape.keyCount).map(quoted).joined(separator: ", ")
    questions = schema.uniqueIndexes.compactMap { index in
      guard index.predicate == nil else { return nil }
      var columns: [Int] = []
      var terms: [String] = []
      for term in index.terms {
        guard case .column(let column) = term.source,
          let place = statements.column(here: schema.columns[column].name)
        else { return nil }
        columns.append(place)
        terms.append("\(quoted(schema.columns[column].name)) = ? COLLATE \(term.collation)")
      }
      return Question(
        columns: columns,
        select: "SELECT \(key) FROM main.\(quoted(statements.tableName)) "
          + "WHERE \(terms.joined(separator: " AND "))")
    }
    hasOthers = questions.count < schema.uniqueIndexes.count
  }

  /// Whether rows can claim nothing.
  var areNone: Bool { numberings.isEmpty && !hasExpressions }

  /// Numbers for the unique values that a row claims; nil if its table alone can tell. Rows that
  /// claim one value have a number in common; others may.
  func numbers(
    of known: [(column: Int, value: Replication.Value)], on connection: Connection
  ) throws(SQLiteError) -> Set<Int64>? {
    guard !hasExpressions else { return nil }
    var values = defaults
    for (column, value) in known { values[column] = value }
    var found: Set<Int64> = []
    for (number, index) in numberings.enumerated() {
      var claimed: [Replication.Value] = []
      for (column, affinity) in zip(index.columns, index.affinities) {
        guard let value = values[column] else { return nil }
        claimed.append(try affinity.applied(to: value, on: connection))
      }
      guard let key = Key(claimed, collations: index.collations) else { continue }
      found.insert(Int64(bitPattern: hash64(key.bytes, seed: UInt64(number))))
    }
    return found
  }

  /// Whether these are all unique values that the row can claim.
  func areAll(of known: [(column: Int, value: Replication.Value)]) -> Bool {
    let columns = Set(known.map(\.column))
    return !hasOthers && questions.allSatisfy { columns.isSuperset(of: $0.columns) }
  }

  /// The keys of the rows that hold one of these values; NULL is no value.
  func holders(
    of known: [(column: Int, value: Replication.Value)], on connection: Connection
  ) throws(SQLiteError) -> [[SQLite.Value]] {
    var found: [[SQLite.Value]] = []
    for question in questions {
      let values = question.columns.compactMap { column in
        known.first { $0.column == column }?.value.sqlite
      }
      guard values.count == question.columns.count, !values.contains(.null) else { continue }
      if let row = try connection.row(question.select, values) { found.append(row) }
    }
    return found
  }
}
