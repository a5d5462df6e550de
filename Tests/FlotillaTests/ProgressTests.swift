import Foundation
import Network
import SQLite
import Testing

@testable import Flotilla

/// How far a long work has come.
@Suite struct `Progress` {
  private final class Listener: Sendable {
    private let news = Locked<[WorkProgress]>([])
    var all: [WorkProgress] { news.withLock { $0 } }
    func hear(_ progress: WorkProgress) { news.withLock { $0.append(progress) } }
  }

  private static let rows = 30_000

  private static func fill(_ path: String) throws {
    let connection = try Connection(path: path, mode: .create)
    try connection.execute(
      """
      CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO item SELECT i, 'x' FROM n
      """)
  }

  private func expectAll(_ news: [WorkProgress], _ work: WorkProgress.Work) {
    #expect(news.count > 1)
    #expect(news.allSatisfy { $0.work == work && $0.rows <= $0.of })
    #expect(zip(news, news.dropFirst()).allSatisfy { $0.rows <= $1.rows })
    #expect(news.first.map { $0.rows < $0.of } == true)
  }

  @Test func `of a set-up, and of a look at all rows, is told row by row`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "a.db").path
    try Self.fill(path)
    let (setUp, look) = (Listener(), Listener())
    let replica = Replica(path: path)
    let report = try await replica.initialise(
      site: "s", node: "a", tables: .all, rule: nil, progress: setUp.hear)
    #expect(report.rows == Self.rows)
    expectAll(setUp.all, .takingIn)
    #expect(setUp.all.last == WorkProgress(.takingIn, Self.rows, of: Self.rows))
    let verified = try await replica.verify(progress: look.hear)
    #expect(verified.rows == Self.rows)
    expectAll(look.all, .looking)
  }

  @Test func `goes over the control socket to those who want it`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let database = folder.appending(path: "a.db").path
    let socket = try ControlSocket.path(database: database)
    let server = try await ControlServer(path: socket) { _, listener in
      listener?(WorkProgress(.looking, 1, of: 9))
      listener?(WorkProgress(.looking, 4, of: 9))
      try? await Task.sleep(for: ControlServer.pulse * 2)
      return await controlReply { () async throws(FlotillaError) in Done() }
    }
    await server.start()
    let client = try ControlClient(database: database)
    let listener = Listener()
    let told: Done? = try await client.ask(.tables, telling: listener.hear)
    #expect(told != nil && listener.all == [WorkProgress(.looking, 4, of: 9)])
    let untold: Done? = try await client.ask(.tables)
    #expect(untold != nil && listener.all.count == 1)
    await server.stop()
  }
}
