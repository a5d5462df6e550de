import SQLite

/// Commits rows with the numbers FIRST… one by one, one every PAUSE µs.
///
/// Prints for each: number, time before and time after the commit (CLOCK_MONOTONIC, ns).
struct WriteRole {
  static let schema = "CREATE TABLE mark(n INTEGER PRIMARY KEY, note TEXT NOT NULL)"

  let path: String
  let first: Int
  let count: Int
  let pause: Int64

  init(_ words: [String]) throws {
    let arguments = try RoleArguments(words, count: 4)
    path = words[0]
    first = try arguments.integer(1)
    count = try arguments.integer(2)
    pause = Int64(try arguments.integer(3)) * 1_000
  }

  func run() throws {
    let connection = try Connection(path: path)
    connection.setBusyTimeout(milliseconds: 5_000)
    try connection.execute("PRAGMA synchronous = NORMAL")
    let note = Value.string(String(repeating: "x", count: 80))
    var lines: [String] = []
    // The statement is prepared before the first time that counts.
    try connection.run("DELETE FROM mark WHERE n < 0")
    var next = Clock.now
    for number in first..<(first + count) {
      Clock.sleep(until: next)
      let start = Clock.now
      try connection.run("INSERT INTO mark VALUES (?, ?)", [.integer(Int64(number)), note])
      let end = Clock.now
      lines.append("\(number) \(start) \(end)")
      next = max(next + pause, end)
    }
    print(lines.joined(separator: "\n"))
  }
}
