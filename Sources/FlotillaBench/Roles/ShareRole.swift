import Foundation
import SQLite

/// An application beside a node: by turns it probes the write lock for a second and writes for
/// two, until the file STOP exists or SECONDS have passed.
///
/// While it probes nobody else writes, so every moment at which the lock is taken is the node's.
/// Prints `hold`, `free`, `lock` and `commit` with ns, `failed` with SQLite's code.
struct ShareRole {
  private let path: String
  private let stop: String
  private let end: Int64
  private var lines: [String] = []

  init(_ words: [String]) throws {
    let arguments = try RoleArguments(words, count: 3)
    path = words[0]
    stop = words[1]
    end = Clock.now + Int64(try arguments.integer(2)) * 1_000_000_000
  }

  func run() throws {
    var share = self
    let connection = try Connection(path: path)
    while !share.isOver {
      try share.probe(connection, until: Clock.now + 1_000_000_000)
      share.write(connection, until: Clock.now + 2_000_000_000)
    }
    print(share.lines.joined(separator: "\n"))
  }

  private var isOver: Bool { Clock.now > end || access(stop, F_OK) == 0 }

  /// Takes and releases the lock in a tight loop, without waiting for it.
  private mutating func probe(_ connection: Connection, until turn: Int64) throws {
    connection.setBusyTimeout(milliseconds: 0)
    var isTaken: Bool?
    var since = Clock.now
    while Clock.now < turn {
      let wasTaken = isTaken
      do throws(SQLiteError) {
        try connection.execute("BEGIN IMMEDIATE")
        try connection.execute("ROLLBACK")
        isTaken = false
      } catch {
        guard error.isBusy else { throw error }
        isTaken = true
      }
      if isTaken != wasTaken {
        let now = Clock.now
        if let wasTaken { lines.append("\(wasTaken ? "hold" : "free") \(now - since)") }
        since = now
      }
      Clock.sleep(.microseconds(50))
    }
  }

  /// Small transactions, one after the other, with the usual busy timeout.
  private mutating func write(_ connection: Connection, until turn: Int64) {
    connection.setBusyTimeout(milliseconds: 5_000)
    var number = 0
    while Clock.now < turn, !isOver {
      number += 1
      let start = Clock.now
      do throws(SQLiteError) {
        try connection.execute("BEGIN IMMEDIATE")
        lines.append("lock \(Clock.now - start)")
        try connection.run(Items.insert, Items.row(number, key: Items.randomKey()))
        try connection.execute("COMMIT")
        lines.append("commit \(Clock.now - start)")
      } catch {
        connection.rollBack()
        lines.append("failed \(error.code)")
      }
      Clock.sleep(.milliseconds(1))
    }
  }
}
