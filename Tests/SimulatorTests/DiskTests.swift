import SQLite
import Testing

@testable import Simulator

/// The simulated disk keeps SQLite's promises, and breaks them only as a real one would.
@Suite struct `A simulated disk` {
  private let path = "/test.db"

  private func open(_ process: DiskProcess) throws -> Connection {
    let connection = try Connection(path: path, vfs: process.name)
    try connection.execute("PRAGMA journal_mode = WAL")
    return connection
  }

  private func make(canLosePower: Bool = true) throws -> Disk {
    let disk = Disk(canLosePower: canLosePower)
    disk.install([], as: path)
    let process = DiskProcess(on: disk, random: Seeded(1))
    let connection = try open(process)
    try connection.execute("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
    return disk
  }

  private func values(_ disk: Disk) throws -> [Int64?] {
    let process = DiskProcess(on: disk, random: Seeded(2))
    let connection = try open(process)
    #expect(try connection.scalar("PRAGMA integrity_check").string == "ok")
    return try connection.rows("SELECT a FROM t ORDER BY a").map { $0[0].integer }
  }

  @Test func `shows two processes what each other has committed, and one writes at a time`() throws
  {
    let disk = try make()
    let (p, q) = (
      DiskProcess(on: disk, random: Seeded(1)), DiskProcess(on: disk, random: Seeded(2))
    )
    let (a, b) = (try open(p), try open(q))
    try a.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (2)")
    #expect(throws: SQLiteError.self) { try b.execute("INSERT INTO t VALUES (3)") }
    #expect(try b.rows("SELECT a FROM t").count == 1)
    try a.execute("COMMIT")
    try b.execute("INSERT INTO t VALUES (3)")
    #expect(try a.rows("SELECT a FROM t").count == 3)
  }

  @Test func `frees what a dead process held, and undoes what it had not committed`() throws {
    let disk = try make()
    let process = DiskProcess(on: disk, random: Seeded(1))
    let connection = try open(process)
    try connection.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (2)")
    process.die()
    #expect(throws: SQLiteError.self) { try connection.execute("COMMIT") }
    #expect(try values(disk) == [1])
  }

  @Test(arguments: 1...60 as ClosedRange<UInt64>)
  func `keeps what was synced through a power cut, and a sound file`(seed: UInt64) throws {
    let disk = try make()
    let process = DiskProcess(on: disk, random: Seeded(1))
    var random = Seeded(seed)
    let connection = try open(process)
    try connection.execute("PRAGMA synchronous = FULL; INSERT INTO t VALUES (2)")
    try connection.execute("PRAGMA synchronous = NORMAL; INSERT INTO t VALUES (3)")
    process.die()
    disk.cutPower(&random)
    let left = try values(disk)
    #expect(left == [1, 2] || left == [1, 2, 3])
  }

  @Test func `may lose what was not synced`() throws {
    var lost = 0
    for seed in 1...40 as ClosedRange<UInt64> {
      let disk = try make()
      let process = DiskProcess(on: disk, random: Seeded(1))
      let connection = try open(process)
      try connection.execute("PRAGMA synchronous = NORMAL; INSERT INTO t VALUES (2)")
      process.die()
      var random = Seeded(seed)
      disk.cutPower(&random)
      if try values(disk) == [1] { lost += 1 }
    }
    #expect(1..<40 ~= lost)
  }

  @Test(arguments: 0..<40)
  func `may die at any call of a commit, which is then whole or not there`(call: Int) throws {
    let disk = try make()
    let process = DiskProcess(on: disk, random: Seeded(1))
    let connection = try open(process)
    var count = 0
    process.fate = { _ in
      count += 1
      return count == call ? .deadBefore : .done
    }
    let result = Result {
      try connection.execute("BEGIN; INSERT INTO t VALUES (2); INSERT INTO t VALUES (3); COMMIT")
    }
    process.fate = nil
    let left = try values(disk)
    if case .success = result, !process.isDead { #expect(left == [1, 2, 3]) }
    #expect(left == [1] || left == [1, 2, 3])
  }

  @Test func `may bring a removed file back until its folder is synced`() throws {
    var back: [Bool: Int] = [:]
    for seed in 1...40 as ClosedRange<UInt64> {
      for syncsFolder in [false, true] {
        let disk = try make()
        // The last connection to be closed leaves no WAL behind; for a while the name may return.
        let process = DiskProcess(on: disk, random: Seeded(1))
        try open(process).execute("INSERT INTO t VALUES (2)")
        #expect(disk.file("\(path)-wal") == nil)
        if syncsFolder { disk.remove("/other", syncsFolder: true) }
        var random = Seeded(seed)
        disk.cutPower(&random)
        if disk.file("\(path)-wal") != nil { back[syncsFolder, default: 0] += 1 }
        #expect(try values(disk) == [1, 2])
      }
    }
    #expect(1..<40 ~= back[false] ?? 0 && back[true] == nil)
  }

  @Test func `may fail to read, and then again`() throws {
    let disk = try make()
    var failed = 0
    for failing in 1...12 {
      let process = DiskProcess(on: disk, random: Seeded(1))
      var count = 0
      process.failsToRead = {
        count += 1
        return count == failing
      }
      do {
        for _ in 0..<failing { _ = try open(process).rows("SELECT a FROM t") }
      } catch let error as SQLiteError {
        #expect(error.primary == 10, "the call \(failing)")
        failed += 1
      }
      process.failsToRead = nil
      #expect(try values(disk) == [1])
    }
    // Who closes a file does without the lock that it cannot have.
    #expect(failed >= 10)
  }

  @Test func `has no room, and then again`() throws {
    let disk = try make()
    let process = DiskProcess(on: disk, random: Seeded(1))
    let connection = try open(process)
    process.fate = { $0 == .write ? .full : .done }
    let error = #expect(throws: SQLiteError.self) {
      try connection.execute("INSERT INTO t VALUES (2)")
    }
    #expect(error?.isFull == true)
    process.fate = nil
    try connection.execute("INSERT INTO t VALUES (2)")
    #expect(try connection.rows("SELECT a FROM t").count == 2)
  }
}
