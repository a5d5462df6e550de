import Foundation
import SQLite
import Store
import Testing

@testable import Flotilla

/// The write-ahead log beside programs and snapshots, in a file.
@Suite struct CheckpointerTests {
  private func withFile(
    _ body: (String, Checkpointer) async throws -> Void
  ) async throws {
    let folder = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/app.db"
    let checkpointer = Checkpointer(path: path) { Issue.record("\($0)") }
    try await body(path, checkpointer)
    await checkpointer.close()
  }

  private func program(_ path: String) throws -> Connection {
    let program = try Connection(path: path, mode: .create)
    program.setBusyTimeout(milliseconds: 5_000)
    _ = try program.rows("PRAGMA journal_mode = WAL")
    // As a reader at the wrong moment does, so that the test does not depend on one.
    try program.execute("PRAGMA wal_autocheckpoint = 0; CREATE TABLE IF NOT EXISTS t(b)")
    return program
  }

  private func fill(_ program: Connection, megabytes: Int) throws {
    for _ in 0..<megabytes { try program.execute("INSERT INTO t VALUES (zeroblob(1 << 20))") }
  }

  @Test func `a crowded log makes room before a snapshot is opened`() async throws {
    try await withFile { path, checkpointer in
      let program = try program(path)
      try fill(program, megabytes: 40)
      #expect(LogFile(of: path).bytes > CheckpointPlan.crowded)
      await checkpointer.makeRoom()
      #expect(LogFile(of: path).bytes == 0 && checkpointer.cuts == 2)
      #expect(try program.scalar("SELECT sum(length(b)) FROM t").integer == 40 << 20)
    }
  }

  @Test func `a program that reads an earlier state delays it, and keeps nobody waiting for ever`()
    async throws
  {
    try await withFile { path, checkpointer in
      let (program, reader) = (try program(path), try program(path))
      try reader.execute("BEGIN")
      _ = try reader.scalar("SELECT count(*) FROM t")
      try fill(program, megabytes: 40)
      await checkpointer.makeRoom()
      #expect(LogFile(of: path).bytes > CheckpointPlan.crowded && checkpointer.cuts == 0)
      try reader.execute("COMMIT")
      await checkpointer.makeRoom()
      #expect(LogFile(of: path).bytes == 0)
    }
  }

  @Test func `a large log is cut while a program writes without a pause`() async throws {
    try await withFile { path, checkpointer in
      let program = try program(path)
      let keeping = Task { await checkpointer.run() }
      var (written, largest) = (0, 0)
      while written < 600, checkpointer.cuts < 4 {
        try fill(program, megabytes: 1)
        written += 1
        largest = max(largest, LogFile(of: path).bytes)
        await Task.yield()
      }
      keeping.cancel()
      await keeping.value
      #expect(checkpointer.cuts >= 4)
      #expect(try program.scalar("SELECT count(*) FROM t").integer == Int64(written))
    }
  }
}
