/// The text of a statement, by which a prepared one is found again.
///
/// Texts are long, and to hash one as a whole takes longer than to run many a statement; so a few
/// of its bytes count, and its length. Whether two are equal is seen when they are compared.
struct StatementText: Hashable {
  let sql: String

  /// Looks at so many bytes.
  private static let samples = 24

  func hash(into hasher: inout Hasher) {
    var (sql, sum) = (sql, UInt64(0))
    sql.withUTF8 { bytes in
      sum = UInt64(bytes.count)
      for index in stride(from: 0, to: bytes.count, by: 1 + bytes.count / Self.samples) {
        sum = sum &* 0x0000_0100_0000_01B3 ^ UInt64(bytes[index])
      }
    }
    hasher.combine(sum)
  }
}
