import SQLite

/// Tables whose two sides never met, while they are compared for the first time.
///
/// Patient 5 is Ann on the server and Bob here, since before there was a mirror. A program makes
/// Bob Bill while all rows are compared. That goes out as any change does, and nobody would know of
/// Ann. So what the server has of such a row is kept in the conflict log before it is overwritten.
final class FirstMeeting {
  /// So many rows are kept in mind; of others too much is logged rather than too little.
  private static let most = 100_000

  /// What each table was found to be on the server; nil before that was read.
  private var tables: [Int: Comparison?] = [:]
  /// Rows that have been equal on both sides since, as far as nothing else says so.
  private var met: Set<RowKey> = []
  /// Rows that the comparison has left to others, who bring them later.
  private var left: Set<RowKey> = []

  /// Whether there is nothing to be kept.
  var isOver: Bool { tables.isEmpty && left.isEmpty }

  /// Whether a table is compared for the first time.
  func isFirst(_ number: Int) -> Bool { tables[number] != nil }

  /// These tables are about to be compared.
  func begin(_ numbers: some Sequence<Int>) {
    for number in numbers { tables[number] = .some(nil) }
  }

  /// What the server has of a table is known.
  func found(_ comparison: Comparison) {
    let number = comparison.link.number
    if tables[number] != nil { tables[number] = comparison }
  }

  /// A table is equal on both sides, but for rows that were left.
  func end(_ number: Int) {
    tables[number] = nil
    if tables.isEmpty { met = [] }
  }

  /// Both sides have these rows alike.
  func meet(_ rows: some Sequence<RowKey>) {
    guard !isOver else { return }
    for row in rows {
      left.remove(row)
      if tables[row.number] != nil, met.count < Self.most { met.insert(row) }
    }
  }

  /// Rows of which the server has another content go out later.
  func leave(_ rows: some Sequence<RowKey>) {
    for row in rows where tables[row.number] != nil { leave(row) }
  }

  /// The same of one, in whatever table.
  func leave(_ row: RowKey) {
    if left.count < Self.most { left.insert(row) }
  }

  /// Those of which the server may have a content that was never here.
  func strange(among rows: [MirroredRow]) throws(SQLiteError) -> [MirroredRow] {
    guard !isOver else { return [] }
    var strange: [MirroredRow] = []
    for row in rows where try isStrange(row.name) { strange.append(row) }
    return strange
  }

  private func isStrange(_ row: RowKey) throws(SQLiteError) -> Bool {
    if left.contains(row) { return true }
    guard let found = tables[row.number], !met.contains(row) else { return false }
    guard let comparison = found else { return true }
    return try comparison.isOpen(row)
  }
}
