import SQLite

/// Inserts COUNT rows with random keys into `item`, SIZE of them per transaction.
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
    for start in stride(from: 0, to: count, by: size) {
      try connection.transaction { () throws(SQLiteError) in
        for number in start..<min(start + size, count) {
          try connection.run(Items.insert, Items.row(number, key: Items.randomKey()))
        }
      }
    }
  }
}
