import Replication
import SQLite

/// Which rows hold a unique value that another one claims, asked of the indexes of whole columns.
///
/// It costs one search in each index. What indexes over expressions or a part of the table hold,
/// `Rivals` finds.
struct Claims {
  private struct Question {
    /// Of the shape, in the order of the index.
    let columns: [Int]
    let select: String
  }

  private let questions: [Question]
  private let hasOthers: Bool

  init(_ table: ReplicaTable, _ statements: RowStatements) {
    guard let schema = table.schema else {
      (questions, hasOthers) = ([], true)
      return
    }
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
