import SQLite

/// The rows of the larger measurements: random keys of 16 bytes, about 100 bytes of content.
enum Items {
  static let schema = """
    CREATE TABLE item(
      id BLOB PRIMARY KEY NOT NULL, name TEXT, quantity INTEGER, price REAL, note TEXT)
    """
  static let insert = "INSERT INTO item VALUES (?, ?, ?, ?, ?)"

  /// 80 bytes.
  static let noteText = String(repeating: "from the shelf at the door, second row, ", count: 2)
  private static let note = Value.string(noteText)

  static func randomKey() -> [UInt8] {
    (0..<2).flatMap { _ in withUnsafeBytes(of: UInt64.random(in: 0 ... .max)) { Array($0) } }
  }

  static func row(_ number: Int, key: [UInt8]) -> [Value] {
    [
      .blob(key), .string("item \(number)"), .integer(Int64(number % 1_000)),
      .real(Double(number % 977) / 8), note,
    ]
  }

  /// The same with a note of so many random letters, which nothing makes shorter.
  static func row(_ number: Int, key: [UInt8], noteOf count: Int) -> [Value] {
    let letters = (0..<count).map { _ in UInt8.random(in: UInt8(ascii: "a")...UInt8(ascii: "z")) }
    return row(number, key: key).dropLast() + [.text(letters)]
  }

  /// Fills a new file at `path` with so many rows, in its tables as `schema` makes them.
  ///
  /// One transaction with a cache that holds all: so a million rows with random keys take seconds.
  static func fill(_ path: String, _ rows: Int) throws {
    let connection = try Connection(path: path, mode: .create)
    try connection.execute(schema)
    try connection.execute(
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -4000000")
    try connection.transaction { () throws(SQLiteError) in
      for number in 0..<rows {
        try connection.run(insert, row(number, key: randomKey()))
      }
    }
    try connection.execute("PRAGMA journal_mode = WAL")
  }

  /// The bytes of a row as SQLite stores it: a header of types, and the values (Database File
  /// Format, 2.1: "a header and a body").
  static func size(of values: [Value]) -> Int {
    var (header, body) = (0, 0)
    for value in values {
      let (type, bytes) = typeAndSize(of: value)
      header += varintSize(type)
      body += bytes
    }
    // The header begins with its own length.
    return varintSize(header + 1) + header + body
  }

  private static func typeAndSize(of value: Value) -> (type: Int, bytes: Int) {
    switch value {
    case .null: return (0, 0)
    case .integer(0), .integer(1): return (8, 0)
    case .integer(let integer):
      // Types 1 to 6 are integers of 1, 2, 3, 4, 6 and 8 bytes.
      let sizes = [1, 2, 3, 4, 6, 8]
      let place = sizes.firstIndex { size in
        size == 8 || (integer >= -(1 << (size * 8 - 1)) && integer < 1 << (size * 8 - 1))
      }
      return ((place ?? 5) + 1, sizes[place ?? 5])
    case .real: return (7, 8)
    case .blob(let bytes): return (12 + 2 * bytes.count, bytes.count)
    case .text(let bytes): return (13 + 2 * bytes.count, bytes.count)
    }
  }

  /// Seven bits a byte.
  private static func varintSize(_ value: Int) -> Int {
    var (rest, size) = (value >> 7, 1)
    while rest > 0 { (rest, size) = (rest >> 7, size + 1) }
    return size
  }
}
