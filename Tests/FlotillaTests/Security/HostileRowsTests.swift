import Network
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// Members with a connection of their own making, that send and ask for what they should not.
  @Suite struct `A member that speaks for itself` {
    /// One connection of such a member, after both have said Hello.
    private actor Talk {
      let link: MessageLink
      let origin: Origin
      private let sign: @Sendable (Reach) -> Reach
      private let own: Identity
      private var frames: UInt64 = 0
      private var exchanges: UInt64 = 0

      init(as keys: NodeKeys, to node: Node, in site: TestSite) async throws {
        link = try await site.talk(to: node, as: keys)
        await link.acceptLongFrames()
        (origin, own) = (Origin.of(keys.identity, life: 0, .openSSL), keys.identity)
        let here = await site.membership.site
        sign = { reach in
          var reach = reach
          reach.signature = keys.node.sign(reach.text(in: here))
          return reach
        }
        try await link.send(
          .have(Have(frontier: Frontier(), frontierHash: Frontier().hash, rootDigest: 0)))
      }

      func begin(_ kind: Begin.Kind) async throws {
        exchanges += 1
        try await link.send(.begin(Begin(kind, rows: 1, number: frames)))
        frames += 1
      }

      func part(_ bytes: [UInt8]) async throws {
        try await link.send(.part(number: frames, bytes))
        frames += 1
      }

      /// With its own signature, whosever reach that is.
      func show(_ reach: Reach) async throws {
        try await link.send(.reaches(number: frames, [sign(reach)]))
        frames += 1
      }

      /// A whole exchange; its End fits, and it signs for what it says of its own edits.
      func exchange(
        _ kind: Begin.Kind, _ batch: RowBatchWriter, showing reach: Reach? = nil
      ) async throws {
        try await begin(kind)
        let seq = kind.covers[origin]
        if seq > 0, seq < 1 << 62 {
          try await show(Reach(origin: origin, node: own, life: 0, seq: seq, run: 1))
        }
        if let reach { try await show(reach) }
        try await link.send(.rows(number: frames, batch.bytes))
        frames += 1
        let check = kind.check(number: exchanges) &+ batch.check
        try await link.send(.end(End(rows: UInt64(batch.rowCount), check: check)))
        frames += 1
      }

      /// Everything that comes until all that was sent is worked through, and the end if there is
      /// one.
      func answer() async -> (messages: [Message], bye: Bye.Code?) {
        var messages: [Message] = []
        try? await link.send(.ping(sent: 77, ClockView(wall: 0)))
        while let message = try? await link.receive() {
          if case .bye(let bye) = message { return (messages, bye.code) }
          if case .pong(77, _) = message { break }
          messages.append(message)
        }
        return (messages, nil)
      }
    }

    /// A batch of one row, whose columns are all text.
    private static func batch(
      _ table: String, _ columns: [String], _ values: [String], by origin: Origin, _ seq: UInt64 = 1
    ) -> RowBatchWriter {
      var writer = RowBatchWriter()
      let dot = Dot(origin, seq)
      var hash = ContentHash()
      for (column, value) in zip(columns, values) {
        hash.add(column: ContentHash.column(column), .text(Array(value.utf8)))
      }
      let version = Version(
        dot: dot, created: dot, stamp: Stamp(rawValue: 1 << 60), hash: hash.value,
        isDeleted: false)
      writer.add(
        TableShape(name: table, keyCount: 1, columns: columns, affinities: [.text]), version,
        .values(values.map { .text(Array($0.utf8)) }))
      return writer
    }

    private static func item(by origin: Origin) -> RowBatchWriter {
      batch("item", ["id", "text"], ["k", "hack"], by: origin)
    }

    private static func line(by origin: Origin) -> RowBatchWriter {
      batch("note", ["id", "text"], ["k", "mine"], by: origin)
    }

    private static let schema = """
      CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, text TEXT);
      CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT);
      """
    private static let nobody = Frontier()
    private static let victim = Origin(rawValue: 4711)

    private typealias Attack = @Sendable (Talk) async throws -> Void

    /// What a reader may try, and any other leaf, each with the answer.
    private static let attacks: [(String, Attack, reader: Bye.Code?, leaf: Bye.Code?)] = [
      (
        "a row", { try await $0.exchange(.full(covers: nobody), item(by: $0.origin)) },
        .notAllowed, .notAllowed
      ),
      (
        "a long row",
        {
          try await $0.begin(.full(covers: nobody))
          try await $0.part(item(by: $0.origin).bytes + [UInt8](repeating: 0, count: 900_000))
        }, .notAllowed, .notAllowed
      ),
      (
        "a push",
        {
          try await $0.exchange(.push(origin: $0.origin, from: 0, to: 1), item(by: $0.origin))
        }, .notAllowed, .notAllowed
      ),
      (
        "another's row in a repair", { try await $0.exchange(.repair, item(by: victim)) },
        .notAllowed, .notAllowed
      ),
      (
        "another's row where it may write",
        { try await $0.exchange(.full(covers: nobody), line(by: victim)) }, .notAllowed, .badMessage
      ),
      (
        "a frontier that hides what others wrote",
        { try await $0.begin(.full(covers: Frontier([victim: 99]))) }, .notAllowed, .notAllowed
      ),
      (
        "the same behind its own",
        { try await $0.begin(.full(covers: Frontier([$0.origin: 1, victim: 9]))) },
        .notAllowed, .notAllowed
      ),
      (
        "its own row where it may write",
        {
          try await $0.exchange(.full(covers: Frontier([$0.origin: 1])), line(by: $0.origin))
        }, .notAllowed, nil
      ),
    ]

    /// One that may write claims what another one has not written, again and again.
    @Test func `drives nobody from life to life, and parts nobody`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first.address])
        let keys = NodeKeys()
        await site.admit(keys, "liar")
        await site.tell(first)
        #expect(try await eventually { await second.roster.roll.members.count == 3 })
        let liar = try await Talk(as: keys, to: second, in: site)
        let (node, origin) = (await first.identity.node, await first.position.own)
        for round in 1...6 as ClosedRange<UInt64> {
          #expect(
            try await eventually {
              let (record, own) = (await second.peers[node], await first.position.own)
              return record?.session != nil && record?.origin == own
            })
          let covers = Frontier([await first.position.own: 1 << 40, liar.origin: round])
          let row = Self.batch("item", ["id", "text"], ["\(round)", "x"], by: liar.origin, round)
          try await liar.exchange(.full(covers: covers), row)
          #expect(try await eventually { try b.count() >= Int(round) })
          _ = await liar.answer()
        }
        #expect(await first.position.own == origin)
        #expect(await second.position.frontier[origin] < 1 << 40)
        for (replica, key) in [(a, "from a"), (b, "from b")] {
          try replica.write("INSERT INTO item VALUES ('\(key)', 'x')")
        }
        #expect(try await eventually { try [a.count(), b.count()] == [8, 8] })
      }
    }

    /// What it says to the one itself of whom it lies costs nothing and no connection.
    @Test func `is not believed about edits of whom it talks to`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first.address])
        let keys = NodeKeys()
        await site.admit(keys, "liar")
        await site.tell(first)
        let origin = await first.position.own
        for round in 1...5 as ClosedRange<UInt64> {
          let liar = try await Talk(as: keys, to: first, in: site)
          let claim = Frontier([await first.position.own: 1 << 40])
          try await liar.link.send(
            .have(Have(frontier: claim, frontierHash: claim.hash, rootDigest: 0)))
          let row = Self.batch("item", ["id", "text"], ["\(round)", "x"], by: liar.origin, round)
          try await liar.exchange(
            .full(covers: claim.joined(Frontier([liar.origin: round]))), row)
          _ = await liar.answer()
          liar.link.close()
        }
        #expect(await first.position.own == origin)
        try a.write("INSERT INTO item VALUES ('from a', 'x')")
        try b.write("INSERT INTO item VALUES ('from b', 'x')")
        // What the liar wrote has come, and what it claimed has not.
        #expect(try await eventually { try [a.count(), b.count()] == [7, 7] })
        #expect(await first.position.frontier[first.position.own] < 1 << 40)
        #expect(
          try await eventually {
            let (here, there) = (await first.position.frontier, await second.position.frontier)
            return here == there
          })
      }
    }

    @Test func `writes nothing in another's name, nor in nobody's`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first.address])
        let keys = NodeKeys()
        await site.admit(keys, "liar")
        await site.tell(first)
        #expect(try await eventually { await second.roster.roll.members.count == 3 })
        let liar = try await Talk(as: keys, to: second, in: site)
        let origin = await first.position.own
        for (number, author) in [origin, Self.victim].enumerated() {
          let claim = Frontier([author: 1 << 30, liar.origin: 1])
          let row = Self.batch("item", ["id", "text"], ["\(number)", "x"], by: author, 1 << 30)
          try await liar.exchange(.full(covers: claim), row)
        }
        #expect(await liar.answer().bye == nil)
        let (here, there) = (await first.position, await second.position)
        #expect(try [a.count(), b.count()] == [0, 0])
        #expect(here.frontier[Self.victim] == 0 && there.frontier[Self.victim] == 0)
        #expect(here.own == origin && there.frontier[origin] <= here.frontier[origin])
        #expect(there.frontier[liar.origin] == 1)
      }
    }

    @Test func `signs for nobody else`() async throws {
      try await TestSite.with { site in
        let first = try await site.run(try await site.replica("a"))
        let keys = NodeKeys()
        await site.admit(keys, "liar")
        await site.tell(first)
        let (node, own) = (await first.identity.node, await first.position.own)
        let liar = try await Talk(as: keys, to: first, in: site)
        try await liar.begin(.repair)
        try await liar.show(Reach(origin: own, node: node, life: 0, seq: 1 << 40, run: 1))
        #expect(await liar.answer().bye == .badMessage)
        #expect(try await eventually { await first.connectedCount == 0 })
        #expect(await first.position.own == own)
      }
    }

    @Test func `gets in no row and no claim without the right`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a", schema: Self.schema)
        let node = try await site.run(a)
        let (reader, leaf) = (NodeKeys(), NodeKeys())
        await site.admit(reader, "reader", .reader)
        await site.admit(leaf, "leaf")
        for keys in [reader, leaf] { try await Talk(as: keys, to: node, in: site).link.close() }
        #expect(try await eventually { await node.roster.roll.members.count == 3 })
        await site.tell(node)
        _ = try await a.library.grant("leaf", table: "item", right: "read")
        for (name, attack, ofReader, ofLeaf) in Self.attacks {
          for (keys, wanted) in [(reader, ofReader), (leaf, ofLeaf)] {
            #expect(try await eventually { await node.sessions.isEmpty })
            let talk = try await Talk(as: keys, to: node, in: site)
            #expect(try await eventually { await node.connectedCount == 1 })
            try await attack(talk)
            let bye = await talk.answer().bye
            // A Bye may be lost with what was not read.
            #expect(bye == wanted || bye == nil && wanted != nil, "\(name): \(bye as Any)")
            #expect(try await eventually { await node.connectedCount == (wanted == nil ? 1 : 0) })
            talk.link.close()
          }
        }
        #expect(try a.count() == 0)
        #expect(try a.rows("SELECT * FROM note") == ["k|mine"])
        #expect(await node.position.frontier[Self.victim] == 0)
        #expect(await node.position.frontier[Origin.of(reader.identity, life: 0, .openSSL)] == 0)
      }
    }

    @Test func `is given nothing of a table that it may not read, however it asks`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a", schema: Self.schema)
        try a.write("INSERT INTO item VALUES ('k', 'secret'); INSERT INTO note VALUES ('k', 'n')")
        let node = try await site.run(a)
        let keys = NodeKeys()
        await site.admit(keys, "leaf")
        try await Talk(as: keys, to: node, in: site).link.close()
        #expect(try await eventually { await node.roster.roll.members.count == 2 })
        await site.tell(node)
        _ = try await a.library.grant("leaf", table: "item", right: "none")
        #expect(try await eventually { await node.sessions.isEmpty })
        let talk = try await Talk(as: keys, to: node, in: site)
        #expect(try await eventually { await node.connectedCount == 1 })
        let key = try #require(Key([.text(Array("k".utf8))], collations: [.binary])).bytes
        try await talk.link.send(.want([RowName(table: "item", key: key)]))
        let frontier = await node.position.frontier
        try await talk.link.send(
          .have(Have(frontier: Frontier(), frontierHash: 1, rootDigest: 1, asks: true)))
        // With its own frontier, and a guess of the digest, both that it differs and where.
        let guess = Digest(buckets: (0..<256).map { UInt64($0) })!
        try await talk.link.send(
          .have(Have(frontier: frontier, frontierHash: frontier.hash, rootDigest: 1)))
        try await talk.link.send(.buckets(Buckets(frontierHash: frontier.hash, digest: guess)))
        var (tables, roots): (Set<String>, Set<UInt64>) = ([], [])
        let isDone = try await eventually {
          for message in await talk.answer().messages {
            switch message {
            case .rows(_, let bytes):
              tables.formUnion(try RowBatch(bytes: bytes).tables.map(\.name))
            case .have(let have): roots.insert(have.rootDigest)
            case .buckets: Issue.record("it was shown buckets")
            default: break
            }
          }
          return tables.contains("note") && !roots.isEmpty
        }
        #expect(isDone, "\(tables)")
        try a.write("UPDATE item SET text = 'other'")
        #expect(try await eventually { await node.position.frontier != frontier })
        for _ in 0..<10 {
          try await Task.sleep(for: .milliseconds(20))
          for case .have(let have) in await talk.answer().messages { roots.insert(have.rootDigest) }
        }
        #expect(!tables.contains("item") && roots == [0])
        talk.link.close()
      }
    }

    @Test func `reaches with no name what is not the site's`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a", schema: Self.schema)
        try a.write(
          """
          INSERT INTO item VALUES ('k', 'x');
          CREATE TABLE own(id TEXT PRIMARY KEY NOT NULL, text)
          """)
        let node = try await site.run(a)
        let look = "SELECT sql FROM sqlite_schema WHERE name NOT LIKE '\\_flotilla%' ESCAPE '\\'"
        let before = try a.rows(look)
        let keys = NodeKeys()
        await site.admit(keys, "writer")
        var seq: UInt64 = 0
        for (table, columns) in [
          ("own", ["id", "text"]), ("item\"; DROP TABLE item; --", ["id", "text"]),
          ("item'); DELETE FROM item; --", ["id", "text"]), ("sqlite_schema", ["name", "sql"]),
          ("item", ["id\" = '' OR 1=1 --", "text"]), ("main.item", ["id", "text"]),
          ("item", ["id", "text\" = 'hack', \"id"]), ("_flotilla_statement", ["id", "text"]),
          ("_flotilla_meta", ["key", "value"]), ("", ["", " "]),
        ] {
          seq += 1
          let talk = try await Talk(as: keys, to: node, in: site)
          let batch = Self.batch(table, columns, ["new", "hack"], by: talk.origin, seq)
          try await talk.exchange(.full(covers: Frontier([talk.origin: seq])), batch)
          _ = await talk.answer()
          talk.link.close()
          #expect(try a.rows("SELECT * FROM item WHERE text NOT NULL") == ["k|x"], "\(table)")
          #expect(try await eventually { await node.sessions.isEmpty })
        }
        #expect(try a.rows(look) == before)
        #expect(try a.count("own") == 0)
        #expect(try a.rows("PRAGMA integrity_check") == ["ok"])
        #expect(await node.roster.roll.members.count == 2)
        // And it goes on.
        try a.write("INSERT INTO item VALUES ('2', 'x')")
        let b = try await site.replica("b", schema: Self.schema)
        _ = try await site.run(b, to: [node])
        let all = "SELECT * FROM item ORDER BY id"
        #expect(try await eventually { try b.rows(all) == a.rows(all) })
        #expect(try b.rows(all).contains("2|x"))
      }
    }
  }
}

extension TestSite {
  /// Lets a node know all that was signed.
  func tell(_ node: Node) async {
    await node.save(node.roster.unite(membership.all))
  }
}
