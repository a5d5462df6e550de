import Replication
import SQLite
import Testing

@testable import Store

/// Rows over which a node would think for long: their content gives their hash in no way.
@Suite struct LongSearchTests {
  static let columns = (1...8).map { "c\($0)" }

  /// For how long the write lock is held to take in a row over one that stands.
  private func held(length: Int, extras: Int, isTrue: Bool) throws -> Duration {
    let names = Self.columns.joined(separator: ", ")
    let schema = "CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT, \(names))"
    let replica = try TestReplica(1, schema: schema, tracking: ["patient"])
    let values = (1...8).map(String.init).joined(separator: ", ")
    try replica.write("INSERT INTO patient VALUES (7, 'short', \(values))")
    try replica.foldAll()
    let others = (0..<extras).map { "x\($0)" }
    let shape = TableShape(
      name: "patient", keyCount: 1, columns: ["id", "name"] + Self.columns + others,
      affinities: [.integer])
    let text = Replication.Value.text([UInt8](repeating: 0x61, count: length))
    let numbers = (0..<8 + extras).map { Replication.Value.integer(100 + Int64($0)) }
    let row = HostileKeysTests.row(replica, shape, 1, [.integer(7), text] + numbers) { version in
      if !isTrue { version.hash = 4711 }
    }
    let before = replica.store.file.lockHeld
    try HostileKeysTests.send([row], to: replica)
    #expect(try replica.value("SELECT length(name) FROM patient") == .integer(Int64(length)))
    return replica.store.file.lockHeld - before
  }

  @Test func `a long row whose hash nothing gives is taken about as soon as any other`() throws {
    let honest = try held(length: 2 << 20, extras: 8, isTrue: true)
    let lying = try held(length: 2 << 20, extras: 8, isTrue: false)
    #expect(lying < honest * 8 + .milliseconds(50), "\(lying) and not \(honest)")
  }

  @Test func `a row of many columns whose hash nothing gives is not pondered for ever`() throws {
    let honest = try held(length: 10, extras: 50, isTrue: true)
    let lying = try held(length: 10, extras: 50, isTrue: false)
    #expect(lying < honest * 8 + .milliseconds(500), "\(lying) and not \(honest)")
  }
}
