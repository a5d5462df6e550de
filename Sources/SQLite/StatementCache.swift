/// The prepared statements of one connection, found again by their texts.
struct StatementCache {
  /// Found by its address, for a program mostly asks with the same text in the same place.
  private struct Recent {
    let start: UInt
    /// Keeps the text where it is, so that no other one can have its address.
    let text: String
    let statement: Statement
  }

  /// Which columns a row brings along its author decides: the cache does not grow without end.
  private static let most = 1_000
  private static let places = 256
  /// A shorter text lies in the variable itself, and has no address of its own.
  private static let shortest = 16

  private var statements: [StatementText: Statement] = [:]
  private var recent = [Recent?](repeating: nil, count: places)

  /// The statement of that text, which may be in use.
  mutating func find(_ sql: String) -> Statement? {
    guard let start = Self.address(of: sql) else { return statements[StatementText(sql: sql)] }
    let place = Int(start >> 4) & (Self.places - 1)
    if let one = recent[place], one.start == start, one.text.utf8.count == sql.utf8.count {
      return one.statement
    }
    guard let statement = statements[StatementText(sql: sql)] else { return nil }
    recent[place] = Recent(start: start, text: sql, statement: statement)
    return statement
  }

  mutating func add(_ statement: Statement) {
    if statements.count >= Self.most { clear() }
    statements[StatementText(sql: statement.sql)] = statement
  }

  /// Forgets those that nobody uses.
  mutating func clear() {
    statements = statements.filter { $0.value.isInUse }
    recent = [Recent?](repeating: nil, count: Self.places)
  }

  private static func address(of sql: String) -> UInt? {
    guard sql.utf8.count >= shortest else { return nil }
    return sql.utf8.withContiguousStorageIfAvailable { $0.baseAddress.map { UInt(bitPattern: $0) } }
      ?? nil
  }
}
