import Foundation
import Network
import Replication
import SQLite
import Testing

@testable import Flotilla
@testable import Store

/// What keeps a node from its file, step by step.
@Suite struct FileTroubleTests {
  static let full = FlotillaError(.diskFull, "full", remedy: "Make room.")
  static let locked = FlotillaError(.locked, "locked")
  static let denied = FlotillaError(.readOnly, "denied")

  private func at(_ uptime: Int64) -> Instant { Instant(uptime: uptime, wall: 1_000 + uptime) }

  @Test func `is told once, tried again ever more slowly, and over when it works`() throws {
    var it = FileTrouble()
    #expect(it.receive(.worked, at: at(0)) == nil)
    #expect(!it.rests(at: at(0)))
    #expect(it.receive(.failed(Self.full), at: at(0)) == "full. Make room.")
    var (now, pauses): (Int64, [Int64]) = (0, [])
    for _ in 0..<7 {
      let next = try #require(it.current?.nextTry)
      pauses.append(next - now)
      #expect(it.rests(at: at(next - 1)) && !it.rests(at: at(next)))
      // Several that fail in one pause are one try.
      #expect(it.receive(.failed(Self.full), at: at(next - 1)) == nil)
      #expect(it.receive(.failed(Self.full), at: at(next)) == nil)
      now = next
    }
    #expect(pauses == [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000])
    #expect(it.current?.since == 1_000 && it.current?.kind == .diskFull)
    #expect(it.receive(.worked, at: at(now)) == "the file can be written again")
    #expect(it.current == nil)
    #expect(it.receive(.worked, at: at(now)) == nil)
  }

  /// SQLite makes the files beside a database with the permissions that it has then.
  @Test func `does not outlast the permissions of the database in files beside it`() throws {
    let path = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString).db"
    let places = [path, path + "-wal", path + "-shm"]
    defer { for place in places { try? FileManager.default.removeItem(atPath: place) } }
    func modes() throws -> [Int] {
      try places.map {
        let attributes = try FileManager.default.attributesOfItem(atPath: $0)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
      }
    }
    func set(_ mode: Int, on place: String) throws {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: place)
    }
    for place in places {
      #expect(FileManager.default.createFile(atPath: place, contents: nil))
      try set(0o444, on: place)
    }
    WriteAccess.follow(path)
    #expect(try modes() == [0o444, 0o444, 0o444])
    try set(0o664, on: path)
    WriteAccess.follow(path)
    #expect(try modes() == [0o664, 0o664, 0o664])
    // What is more open than the database stays so.
    try set(0o600, on: path)
    WriteAccess.follow(path)
    #expect(try modes() == [0o600, 0o664, 0o664])
  }

  /// One transaction that stays open keeps everybody out; many that follow one another do not.
  @Test func `is no program that commits again and again`() async throws {
    let path = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString).db"
    defer {
      for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
    }
    let program = try Connection(path: path, mode: .create)
    _ = try program.rows("PRAGMA journal_mode = WAL")
    try program.execute("CREATE TABLE t(a); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)")
    let error = #expect(throws: StoreError.self) {
      try ReplicaFile.tryWriting(path: path, patience: 50)
    }
    #expect(error?.cause?.isBusy == true)
    try program.execute("COMMIT")
    let (isDone, commits) = (Locked(false), Locked(0))
    let writing = Task.detached {
      let busy = try Connection(path: path)
      busy.setBusyTimeout(milliseconds: 60_000)
      while !isDone.withLock({ $0 }) {
        try busy.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (1); COMMIT")
        commits.withLock { $0 += 1 }
      }
    }
    // Until the program has committed beside it: a busy machine starts it late.
    var tries = 0
    let end = ContinuousClock.now + .seconds(60)
    while tries < 40 || commits.withLock({ $0 }) < 5, ContinuousClock.now < end {
      tries += 1
      let before = commits.withLock { $0 }
      do {
        try ReplicaFile.tryWriting(path: path, patience: 20)
      } catch {
        // On a busy machine the program itself may stand still, with its transaction open.
        #expect(error.cause?.isBusy == true && commits.withLock { $0 } <= before + 1)
      }
    }
    #expect(commits.withLock { $0 } >= 5)
    isDone.withLock { $0 = true }
    try await writing.value
  }

  @Test func `of another kind is told, too`() {
    var it = FileTrouble()
    #expect(it.receive(.failed(Self.locked), at: at(0)) == "locked")
    #expect(it.receive(.failed(Self.full), at: at(9_000)) != nil)
    #expect(it.current?.kind == .diskFull && it.current?.since == 10_000)
  }

  /// Programs that find no room do not tell the node, which goes on meanwhile.
  @Test func `a disk with hardly any room is told, and keeps the node from nothing`() {
    var it = FileTrouble()
    let (some, less) = (DiskRoom.shortage(9 << 20, of: "a.db"), DiskRoom.shortage(7, of: "a.db"))
    #expect(it.receive(.scarce(some), at: at(0))?.contains("only 9.4 MB free. Make room") == true)
    #expect(it.receive(.scarce(less), at: at(2_000)) == nil)
    #expect(it.told?.kind == .diskLow && it.told?.error == less && it.told?.since == 1_000)
    #expect(it.current == nil && !it.rests(at: at(2_000)))
    // What fails is told first; when it works again the disk is still as it was.
    #expect(it.receive(.failed(Self.full), at: at(3_000)) != nil)
    #expect(it.told?.kind == .diskFull)
    #expect(it.receive(.worked, at: at(4_000)) != nil)
    #expect(it.told?.kind == .diskLow)
    #expect(it.receive(.roomy, at: at(5_000)) == "the disk has room again")
    #expect(it.told == nil)
    #expect(it.receive(.roomy, at: at(6_000)) == nil)
  }

  @Test func `the room on a disk is known of folders that are there alone`() {
    #expect(DiskRoom.known(at: "/proc/a.db") == 0)
    #expect(DiskRoom.known(at: NSTemporaryDirectory() + "a.db") ?? 0 > 0)
    #expect(DiskRoom.known(at: "/no folder/a.db") == nil)
  }

  @Test func `with the permissions lasts until they allow it again`() {
    var it = FileTrouble()
    #expect(it.receive(.denied(Self.denied), at: at(0)) == "denied")
    #expect(it.receive(.denied(Self.denied), at: at(2_000)) == nil)
    // What is open may still be written, and what fails meanwhile fails because of it.
    #expect(it.receive(.worked, at: at(3_000)) == nil)
    #expect(it.receive(.failed(Self.full), at: at(3_000)) == nil)
    #expect(it.current?.kind == .readOnly)
    #expect(it.receive(.allowed, at: at(4_000)) != nil)
    #expect(it.current == nil)
    _ = it.receive(.failed(Self.full), at: at(5_000))
    #expect(it.receive(.allowed, at: at(6_000)) == nil)
    #expect(it.current?.kind == .diskFull)
  }

  @Test(arguments: [5, 6, 8, 10, 13, 14, 10 | 4 << 8])
  func `is what the file is to blame for`(_ code: Int32) {
    #expect(SQLiteError(code: code, message: "").isOfFile)
  }

  @Test(arguments: [1, 11, 19, 20, 26])
  func `is not what the rows or the statement are to blame for`(_ code: Int32) {
    #expect(!SQLiteError(code: code, message: "").isOfFile)
  }

  /// Whoever folds until nothing waits would do so until the time is known.
  @Test func `a backlog waits without the time of the site, and keeps nobody busy`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      var machine = MachineClock.here
      machine.boot = Identity(high: 1, low: 2)
      let actor = try StoreActor(path: a.path, machine: machine)
      try a.write(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO item SELECT i, 'x' FROM n
        """)
      let waits = try await actor.run { (store) throws(StoreError) in try store.hasBacklog() }
      let now = actor.clock.now
      #expect(waits && now.site == nil)
      try await actor.foldBacklog { _, _ in Issue.record("something was folded") }
      await actor.close()
    }
  }

  @Test func `waiting for the write lock lets others look at the file`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let actor = try StoreActor(path: a.path)
      try a.write("INSERT INTO item VALUES ('x', '1')")
      let other = try Connection(path: a.path)
      try other.execute("BEGIN IMMEDIATE")
      let fold = Task { try await actor.fold().0.versions }
      for _ in 0..<3 {
        #expect(
          try await actor.run { (store) throws(StoreError) in try store.survey.figures() }.unfolded
            == 1)
      }
      try other.execute("COMMIT")
      #expect(try await fold.value == 1)
      await actor.close()
    }
  }

  @Test func `names the program that has the write lock`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let other = try Connection(path: a.path)
      try other.execute("BEGIN IMMEDIATE")
      // This process itself is no other program.
      #expect(LockHolder(writing: a.path) == nil)
      #expect(throws: StoreError.self) { try ReplicaFile.tryWriting(path: a.path, patience: 1) }
      try other.execute("COMMIT")
      try ReplicaFile.tryWriting(path: a.path, patience: 1)
    }
  }

  @Test func `a file system without shared memory is told, and the file stays as it was`() throws {
    let path = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString).db"
    defer { unlink(path) }
    let file = try Connection(path: path, mode: .create)
    try file.execute("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL)")
    let before = FileManager.default.contents(atPath: path)
    let who = ReplicaFile.Identities(
      site: Identity(high: 1, low: 1), siteName: "Test", node: Identity(high: 3, low: 0),
      nodeName: "node", origin: Origin(rawValue: 3))
    let error = #expect(throws: StoreError.self) {
      // "unix-dotfile" has no xShmMap, as SQLite's own file systems for network drives.
      try ReplicaFile.initialise(path: path, as: who, vfs: "unix-dotfile")
    }
    let told = FlotillaError(try #require(error), path: path)
    #expect(told.code == .readOnly && told.message.contains("without shared memory"))
    #expect(told.remedy?.contains("local disk") == true)
    #expect(FileManager.default.contents(atPath: path) == before)
  }
}
