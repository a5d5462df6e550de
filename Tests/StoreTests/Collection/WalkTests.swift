import Replication
import SQLite
import Testing

@testable import Store

/// Walking through all versions, slice by slice.
@Suite struct `A walk through the versions` {
  private let replica: TestReplica

  init() throws {
    replica = try TestReplica(1, schema: AnchorSite.schema, tracking: ["note"])
    try replica.write("INSERT INTO note(id) VALUES ('a'), ('b'), ('c'), ('d'), ('e')")
    try replica.foldAll()
  }

  /// The keys of the rows of `note`, and how long the slices were.
  private func walk(_ limit: Int) throws -> (keys: [String], slices: [Int]) {
    let note = try #require(replica.store.tables.table("note")).id
    var (keys, slices): ([String], [Int]) = ([], [])
    var place: VersionTable.Place?
    repeat {
      let (items, next) = try replica.store.versions.slice(after: place, limit: limit)
      slices.append(items.count)
      keys += items.filter { $0.table == note }.compactMap {
        guard case .text(let bytes)? = $0.key.values?.first else { return nil }
        return String(decoding: bytes, as: UTF8.self)
      }
      place = next
    } while place != nil
    return (keys, slices)
  }

  @Test(arguments: [1, 2, 3, 6, 100])
  func `comes to each once`(limit: Int) throws {
    #expect(try walk(limit).keys == ["a", "b", "c", "d", "e"])
  }

  @Test func `goes on after what cannot be read`() throws {
    // Under an origin that the file does not know.
    try replica.write("UPDATE _flotilla_version SET origin = 999 WHERE key = x'306200'")
    let walked = try walk(2)
    #expect(walked.keys == ["a", "c", "d", "e"])
    #expect(walked.slices.contains(1))
  }
}
