import SQLite

/// The rows of the larger measurements: random keys of 16 bytes, about 100 bytes of content.
enum Items {
  static let schema = """
    CREATE TABLE item(
      id BLOB PRIMARY KEY NOT NULL, name TEXT, quantity INTEGER, price REAL, note TEXT)
    """
  static let insert = "INSERT INTO item VALUES (?, ?, ?, ?, ?)"

  private static let note = Value.string(
    String(repeating: "from the shelf at the door, second row ", count: 2))

  static func randomKey() -> [UInt8] {
    (0..<2).flatMap { _ in withUnsafeBytes(of: UInt64.random(in: 0 ... .max)) { Array($0) } }
  }

  static func row(_ number: Int, key: [UInt8]) -> [Value] {
    [
      .blob(key), .string("item \(number)"), .integer(Int64(number % 1_000)),
      .real(Double(number % 977) / 8), note,
    ]
  }
}
