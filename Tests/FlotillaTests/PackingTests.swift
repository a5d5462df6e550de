import Network
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// Rows that go packed between nodes, and to whom.
  @Suite struct `Packed rows` {
    /// 2,000 rows of some 60 bytes, in about 120 KB.
    private static func fill(_ replica: TestReplica) throws {
      try replica.write(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO item SELECT 'k' || i, 'on the shelf beside the door, row ' || i FROM n
        """)
    }

    @Test func `take fewer bytes between two nodes`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        try Self.fill(a)
        let first = try await site.run(a)
        let proxy = try await TestProxy(to: first.address)
        await proxy.start()
        let second = try await site.run(b, to: [proxy.address])
        #expect(try await eventually { try b.count() == 2_000 })
        let all = "SELECT * FROM item ORDER BY id"
        #expect(try b.rows(all) == a.rows(all))
        // Of plain rows the texts alone are more.
        let texts = try a.rows("SELECT sum(length(id) + length(text)) FROM item")
        let bytes = await proxy.bytesBack
        #expect(bytes < Int(texts[0]) ?? 0, "\(bytes) of \(texts)")
        #expect(await second.connectedCount == 1)
        await proxy.stop()
      }
    }

    /// What a member is sent that says that it speaks this version.
    private func answer(to version: UInt64) async throws -> [Message] {
      var messages: [Message] = []
      try await TestSite.with { site in
        let a = try await site.replica("a")
        try Self.fill(a)
        let node = try await site.run(a)
        let keys = NodeKeys()
        await site.admit(keys, "p")
        let link = MessageLink(channel: try await site.channel(to: node, as: keys))
        await link.acceptLongFrames()
        var hello = await site.hello(of: keys, "p", to: node)
        hello.version = version
        try await link.send(.hello(hello))
        try await link.send(
          .have(
            Have(frontier: Frontier(), frontierHash: Frontier().hash, rootDigest: 0, asks: true)))
        while true {
          let message = try await link.receive()
          messages.append(message)
          if case .end = message { break }
        }
        link.close()
      }
      return messages
    }

    @Test func `go to who knows them, and plain to who does not`() async throws {
      func rows(_ messages: [Message]) throws -> (packed: Int, rows: Int) {
        var (packed, rows) = (0, 0)
        for message in messages {
          if case .packed = message { packed += 1 }
          guard case .rows(_, let bytes) = try message.unpacked() else { continue }
          rows += try RowBatch(bytes: bytes).rows.count
        }
        return (packed, rows)
      }
      let (old, new) = (try rows(try await answer(to: 4)), try rows(try await answer(to: 5)))
      #expect(old.packed == 0 && new.packed > 0, "\(old) \(new)")
      // Beside those of the table some of the site's settings.
      #expect(old.rows >= 2_000 && old.rows == new.rows, "\(old) \(new)")
    }

    static let hostile: [(String, Packed)] = [
      ("noise", Packed(size: 4_000, bytes: Randomness.bytes(3_000))),
      ("nothing", Packed(size: 0, bytes: [])),
      ("too little", Packed(size: 90_001, bytes: zeros)),
      ("too much", Packed(size: 89_999, bytes: zeros)),
      ("cut", Packed(size: 90_000, bytes: zeros.dropLast())),
      ("no rows", Packed(size: 90_000, bytes: zeros)),
      ("a claim", Packed(size: Limits.frame, bytes: [1])),
      ("too large a claim", Packed(size: Limits.frame + 1, bytes: zeros)),
    ]

    private static let zeros = Zstandard.pack([UInt8](repeating: 0, count: 90_000)[...]) ?? []

    @Test(arguments: hostile)
    func `that are none end the connection, and the log names who sent them`(
      what: String, packed: Packed
    ) async throws {
      try await TestSite.with { site in
        let said = Locked<[String]>([])
        let a = try await site.replica("a")
        let node = try await site.run(a, log: { line in said.withLock { $0.append(line) } })
        let link = try await site.talk(to: node, "liar")
        try await link.send(.packed(packed))
        var bye: Bye.Code?
        while bye == nil, let message = try? await link.receive() {
          if case .bye(let words) = message { bye = words.code }
        }
        #expect(bye == .badMessage, "\(what)")
        #expect(
          try await eventually { said.withLock { $0.contains { $0.contains("liar") } } }, "\(what)")
        link.close()
        #expect(try await eventually { await node.sessions.isEmpty })
      }
    }

    @Test func `are no first word`() async throws {
      try await TestSite.with { site in
        let node = try await site.run(try await site.replica("a"))
        let keys = NodeKeys()
        await site.admit(keys, "p")
        let link = MessageLink(channel: try await site.channel(to: node, as: keys))
        try await link.send(.packed(Packed(size: 90_000, bytes: Self.zeros)))
        var bye: Bye?
        while bye == nil, let message = try? await link.receive() {
          if case .bye(let words) = message { bye = words }
        }
        #expect(bye?.reason == "the first message must be Hello")
        link.close()
      }
    }
  }
}
