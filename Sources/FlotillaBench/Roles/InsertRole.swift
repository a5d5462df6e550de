import SQLite

/// Inserts COUNT rows with random keys into `item`, SIZE of them per transaction, with
/// synchronous = NORMAL; prints when it began and when it had ended (CLOCK_MONOTONIC, ns).
struct InsertRole {
  let path: String
  let count: Int
  let size: Int

  init(_ words: [String]) throws {
    let arguments = try RoleArguments(words, count: 3)
    path = words[0]
    count = try arguments.integer(1)
    size = try arguments.integer(2)
  }

  func run() throws {
    let connection = try Connection(path: path)
    connection.setBusyTimeout(milliseconds: 5_000)
    try connection.execute("PRAGMA synchronous = NORMAL")
    let begin = Clock.now
    for start in stride(from: 0, to: count, by: size) {
      try connection.transaction { () throws(SQLiteError) in
        for number in start..<min(start + size, count) {
          try connection.run(Items.insert, Items.row(number, key: Items.randomKey()))
        }
      }
    }
    print("\(begin) \(Clock.now)")
  }

  /// What it has printed.
  static func times(_ output: String) throws -> (began: Int64, ended: Int64) {
    let words = output.split { $0 == " " || $0 == "\n" }.compactMap { Int64($0) }
    guard words.count == 2 else { throw BenchError("the writer did not say when") }
    return (words[0], words[1])
  }
}
