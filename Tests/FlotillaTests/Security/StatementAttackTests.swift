import Network
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// Members, and those that were one, that say what they may not say.
  @Suite struct `A hostile member` {
    /// The next message of a kind; others are passed over.
    private func next<Part: Sendable>(
      _ link: MessageLink, _ pick: (Message) -> Part?
    ) async throws -> Part {
      while true {
        let message = try await link.receive()
        if let part = pick(message) { return part }
      }
    }

    private func farewell(_ link: MessageLink) async throws -> Bye.Code {
      try await next(link) { if case .bye(let bye) = $0 { bye.code } else { nil } }
    }

    /// How a node answers the handshake of a member: nil if it lets it in.
    private func refusal(_ keys: NodeKeys, _ site: TestSite, _ node: Node) async throws
      -> NetworkError.Code?
    {
      let channel = try await site.channel(to: node, as: keys)
      defer { channel.close() }
      do {
        _ = try await channel.read(upTo: 1)
        return nil
      } catch {
        return error.code
      }
    }

    @Test func `is cut off when it is revoked, and refused when it returns`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let thief = NodeKeys()
        await site.admit(thief, "p")
        let link = try await site.talk(to: node, as: thief)
        #expect(try await eventually { await node.connectedCount == 1 })
        #expect(try await refusal(thief, site, node) == nil)
        _ = try await node.revoke(thief.identity.description, disowning: false)
        #expect(try await farewell(link) == .revoked)
        await #expect(throws: FlotillaError.self) { try await next(link) { _ in nil as Int? } }
        #expect(try await eventually { await node.connectedCount == 0 })
        #expect(try await refusal(thief, site, node) == .refusedByPeer(.revoked))
        // What it knew is no way back.
        _ = await node.roster.unite(site.membership.all)
        #expect(try await refusal(thief, site, node) == .refusedByPeer(.revoked))
      }
    }

    @Test func `is cut off though it has not said Hello yet`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let thief = NodeKeys()
        await site.admit(thief, "p")
        let link = MessageLink(channel: try await site.channel(to: node, as: thief))
        // Said once the handshake is done.
        _ = try await next(link) { if case .hello(let hello) = $0 { hello } else { nil } }
        _ = try await node.revoke(thief.identity.description, disowning: false)
        #expect(try await farewell(link) == .revoked)
      }
    }

    @Test func `that has left between handshake and Hello is sent away`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let thief = NodeKeys()
        await site.admit(thief, "p")
        let channel = try await site.channel(to: node, as: thief)
        let link = MessageLink(channel: channel)
        let greeting = try await next(link) {
          if case .hello(let hello) = $0 { hello } else { nil }
        }
        let leave = await site.signed(.leave, by: thief.identity, with: thief.node)
        #expect(await node.roster.unite([leave]).count == 1)
        try await link.send(
          .hello(
            Hello(
              version: Session.versions.upperBound, purpose: .member, site: greeting.site,
              node: thief.identity, name: "p",
              run: 1, clock: 0, port: 0, schema: 0, statements: 0)))
        #expect(try await farewell(link) == .revoked)
        #expect(await node.connectedCount == 0)
        #expect(try await refusal(thief, site, node) == .refusedByPeer(.unknown))
      }
    }

    @Test func `owes in its next connection what it has cost in those before`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let member = NodeKeys()
        await site.admit(member, "p")
        let first = try await site.talk(to: node, as: member)
        for number in 0..<200 as Range<Int64> {
          try await first.send(.ping(sent: number, ClockView(wall: 0)))
        }
        // They are answered one after the other.
        _ = try await next(first) { if case .pong(199, _) = $0 { true } else { nil } }
        // It gives way to the second one, or has ended before.
        for link in [first, try await site.talk(to: node, as: member)] {
          link.close()
          #expect(
            try await eventually { await node.peers[member.identity]?.toll ?? Toll() != Toll() })
        }
        let third = try await site.talk(to: node, as: member)
        #expect(try await eventually { await node.connectedCount == 1 })
        let start = ContinuousClock.now
        for number in 0..<200 as Range<Int64> {
          try await third.send(.ping(sent: number, ClockView(wall: 0)))
        }
        _ = try await next(third) { if case .pong(199, _) = $0 { true } else { nil } }
        // 400 are more than the 256 that have no price: it waits for more than a second.
        #expect(ContinuousClock.now - start > .milliseconds(500))
      }
    }

    /// What a writer could try to say, each with a name.
    private func lies(
      of member: NodeKeys, _ revoked: NodeKeys, _ site: TestSite
    ) async -> [(String, [SignedStatement])] {
      let (thief, root, all) = (NodeKeys(), site.root, await site.membership.all)
      let identity = member.identity
      let name = await site.membership.site
      let admitThief = SiteStatement.Kind.admit(key: thief.node.publicKey, role: .writer)
      let right = await site.signed(admitThief, by: name, with: root)
      var broken = right.signature
      broken[63] ^= 1
      let other = SigningKey()
      var foreign = Membership(rootKey: other.publicKey, notary: .openSSL)
      let stranger = foreign.sign(admitThief, by: foreign.site, with: other)
      let founder = await site.membership.roll.members.first { $0.role == .admin }!.node
      var lies = [
        ("all again", all), ("all again, backwards", all.reversed()),
        ("a broken signature", [SignedStatement(right.statement, signature: broken)]),
        ("a signature of another", [SignedStatement(right.statement, signature: all[0].signature)]),
        ("another site", [stranger]),
        ("in the root's name", [await site.signed(admitThief, by: name, with: member.node)]),
        ("in an admin's name", [await site.signed(admitThief, by: founder, with: member.node)]),
      ]
      let wishes: [SiteStatement.Kind] = [
        admitThief, .admit(key: member.node.publicKey, role: .admin),
        .admit(key: revoked.node.publicKey, role: .writer),
        .introduce(node: founder, name: "fool", words: ""),
        .grant(node: identity, table: "item", right: .write),
        .revoke(node: founder, heads: []),
      ]
      for wish in wishes {
        lies.append(
          ("\(wish)", [await site.signed(wish, by: identity, with: member.node)]))
      }
      return lies
    }

    /// The lies that nobody can have checked and passed on.
    private static let forgeries: Set<String> = [
      "a broken signature", "a signature of another", "another site", "in the root's name",
      "in an admin's name",
    ]

    @Test func `changes nothing by replayed, broken and presumptuous statements`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let (member, revoked) = (NodeKeys(), NodeKeys())
        await site.admit(member, "p")
        await site.admit(revoked, "q")
        _ = try await refusal(revoked, site, node)
        _ = try await node.revoke(revoked.identity.description, disowning: false)
        var link = try await site.talk(to: node, as: member)
        #expect(try await eventually { await node.connectedCount == 1 })
        _ = await node.roster.unite(site.membership.all)
        let (roll, hash) = (await node.roster.roll, await node.roster.hash)
        let kept = try a.rows("SELECT count(*) FROM _flotilla_statement")
        for (number, lie) in await lies(of: member, revoked, site).enumerated() {
          try await link.send(.statements(lie.1))
          if Self.forgeries.contains(lie.0) {
            #expect(try await farewell(link) == .badMessage, "\(lie.0)")
            #expect(try await eventually { await node.connectedCount == 0 })
            link = try await site.talk(to: node, as: member)
            #expect(try await eventually { await node.connectedCount == 1 })
            continue
          }
          // It lives, and has read what was said.
          try await link.send(.ping(sent: Int64(number), ClockView(wall: 0)))
          _ = try await next(link) { message in
            if case .pong(let echo, _) = message, echo == Int64(number) { true } else { nil }
          }
          #expect(await node.roster.roll == roll, "\(lie.0)")
          #expect(await node.roster.hash == hash, "\(lie.0)")
        }
        #expect(await node.roster.roll == roll)
        #expect(await node.roster.hash == hash)
        #expect(try a.rows("SELECT count(*) FROM _flotilla_statement") == kept)
        #expect(try await refusal(revoked, site, node) == .refusedByPeer(.revoked))
      }
    }

    @Test func `keeps nobody waiting by statements without end`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let (member, other) = (NodeKeys(), NodeKeys())
        for (keys, name) in [(member, "p"), (other, "q")] { await site.admit(keys, name) }
        let link = try await site.talk(to: node, as: member)
        #expect(try await eventually { await node.connectedCount == 1 })
        // Presumptuous ones cost no signature, and there is an end to them over all messages.
        let name = await site.membership.site
        func presumptuous(_ time: Int64) -> SignedStatement {
          let statement = SiteStatement(
            site: name, issuer: member.identity, previous: .none, time: time,
            kind: .grant(node: member.identity, table: "item", right: .write))
          return SignedStatement(statement, signature: [UInt8](repeating: 0, count: 64))
        }
        for time in 1...64 as ClosedRange<Int64> {
          try await link.send(.statements([presumptuous(time)]))
        }
        try await link.send(.ping(sent: 5, ClockView(wall: 0)))
        _ = try await next(link) { if case .pong(5, _) = $0 { true } else { nil } }
        try await link.send(.statements([presumptuous(65)]))
        #expect(try await farewell(link) == .badMessage)
        #expect(try await eventually { await node.connectedCount == 0 })
        #expect(await node.heard.doubts.isEmpty)
        #expect(try await refusal(other, site, node) == nil)
      }
    }

    @Test func `that a stolen key has let in goes with it, if it is disowned or came later`()
      async throws
    {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let admin = NodeKeys()
        await site.admit(admin, "p", .admin)
        let link = try await site.talk(to: node, as: admin)
        #expect(try await eventually { await node.connectedCount == 1 })
        let friends = [NodeKeys(), NodeKeys()]
        for friend in friends {
          let admission = await site.signed(
            .admit(key: friend.node.publicKey, role: .writer), by: admin.identity, with: admin.node)
          await site.take([admission])
        }
        let ahead = SiteStatement(
          site: await site.membership.site, issuer: admin.identity, previous: .none,
          time: Limits.clock, kind: .grant(node: friends[0].identity, table: "item", right: .read))
        await site.take([SignedStatement(ahead, signature: admin.node.sign(ahead.bytes))])
        try await link.send(.statements(await site.membership.all))
        #expect(try await eventually { await node.roster.roll.members.count == 4 })
        #expect(await node.roster.roll.newest.values.max() == Limits.clock)
        let first = try await site.talk(to: node, as: friends[0])
        let second = try await site.talk(to: node, as: friends[1])
        #expect(try await eventually { await node.connectedCount == 3 })
        await #expect(throws: FlotillaError.self) {
          try await a.library.revoke(friends[0].identity.description, disowning: true)
        }
        let report = try await a.library.revoke("p", disowning: true)
        #expect(report.also.count == 2)
        for link in [first, second] { #expect(try await farewell(link) == .revoked) }
        #expect(try await eventually { await node.connectedCount == 0 })
        #expect(await node.peers.keys.sorted() == [admin.identity])
        for friend in friends {
          #expect(try await refusal(friend, site, node) == .refusedByPeer(.unknown))
        }
        #expect(try await refusal(admin, site, node) == .refusedByPeer(.revoked))
        // It is so after a restart, too.
        #expect(try await a.library.members().members.map(\.state) == ["member", "revoked"])
        // What a thief dates ahead holds nobody up, once nothing of it stands.
        #expect(await node.roster.roll.newest.values.max() ?? 0 < Uptime.wall + 60_000)
      }
    }

    @Test func `that was shut out first cannot be disowned, and whom it let in is told`()
      async throws
    {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let (admin, friend) = (NodeKeys(), NodeKeys())
        await site.admit(admin, "p", .admin)
        for kind: SiteStatement.Kind in [
          .admit(key: friend.node.publicKey, role: .writer),
          .introduce(node: friend.identity, name: "friend", words: ""),
        ] {
          await site.take([await site.signed(kind, by: admin.identity, with: admin.node)])
        }
        _ = await node.roster.unite(site.membership.all)
        _ = try await node.revoke("p", disowning: false)
        func refusal() async -> FlotillaError? {
          do {
            _ = try await node.revoke("p", disowning: true)
            return nil
          } catch { return error }
        }
        #expect(await refusal()?.remedy?.hasSuffix(" NODE, for friend") == true)
        _ = try await node.revoke("friend", disowning: false)
        #expect(await refusal()?.remedy == "It has let in nobody who is a member still.")
      }
    }

    @Test func `leaves once, however often it says so`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let member = NodeKeys()
        await site.admit(member, "p")
        let link = try await site.talk(to: node, as: member)
        #expect(try await eventually { await node.connectedCount == 1 })
        let before = await node.roster.membership.all.count
        let name = await site.membership.site
        let farewells = (1...1_000).map { (time: Int64) in
          let statement = SiteStatement(
            site: name, issuer: member.identity, previous: .none, time: time, kind: .leave)
          return SignedStatement(statement, signature: member.node.sign(statement.bytes))
        }
        try await link.send(.statements(farewells))
        #expect(try await eventually { await node.ownsNoMember(member.identity) })
        #expect(await node.roster.membership.all.count == before + 1)
      }
    }

    @Test func `that was an admin cannot fill the set from outside afterwards`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let (admin, friend) = (NodeKeys(), NodeKeys())
        await site.admit(admin, "p", .admin)
        #expect(try await refusal(admin, site, node) == nil)
        _ = try await node.revoke(admin.identity.description, disowning: false)
        let before = await node.roster.hash
        let late = await site.signed(
          .admit(key: friend.node.publicKey, role: .writer), by: admin.identity, with: admin.node)
        let admission = await site.membership.credential(of: admin.identity)
        let verdict = await node.roster.judge(
          key: friend.node.publicKey, credential: SignedStatement.encode(admission + [late]))
        #expect(verdict == .unknown)
        #expect(await node.roster.hash == before)
        #expect(await node.roster.takeUnsaved().isEmpty)
      }
    }
  }

  /// Two machines with the site key that do not see each other.
  @Suite struct `Two admins` {
    private func work(
      _ replica: TestReplica, _ body: (Node) async throws -> Void
    ) async throws {
      let node = try await Node(
        path: replica.path, mode: .offline, options: RunOptions(), log: { _ in })
      let result: Result<Void, any Error>
      do {
        result = .success(try await body(node))
      } catch {
        result = .failure(error)
      }
      await node.stop()
      try result.get()
    }

    @Test func `that act while cut from one another lose nothing of it`() async throws {
      try await TestSite.with { site in
        let replicas = [try await site.replica("a"), try await site.replica("b")]
        for name in ["c", "d", "e"] { await site.admit(NodeKeys(), name) }
        let common = await site.membership
        for replica in replicas {
          try await work(replica) { node in
            await node.save(node.roster.unite(common.all))
            _ = try await node.importSiteKey(seed: site.root.seed)
          }
        }
        for (replica, (loser, role)) in zip(replicas, [("c", Role.writer), ("d", .reader)]) {
          try await work(replica) { node in
            for (name, role) in [("new-\(replica.name)", role), ("boss-\(replica.name)", .admin)] {
              let keys = NodeKeys()
              try await node.say(.admit(key: keys.node.publicKey, role: role))
              try await node.say(.introduce(node: keys.identity, name: name, words: ""))
            }
            for name in [loser, "e"] { _ = try await node.revoke(name, disowning: false) }
          }
        }
        let first = try await site.run(replicas[0])
        let second = try await site.run(replicas[1], to: [first])
        #expect(try await eventually { await first.isOne(with: second) })
        let roll = await first.roster.roll
        #expect(
          Dictionary(uniqueKeysWithValues: roll.members.map { ($0.name, $0.role) }) == [
            "a": .admin, "b": .admin, "new-a": .writer, "new-b": .reader, "boss-a": .admin,
            "boss-b": .admin,
          ])
        #expect(Set(roll.everybody.filter { !$0.isMember }.map(\.name)) == ["c", "d", "e"])
        #expect(await first.connectedCount == 1)
      }
    }
  }
}

extension TestSite {
  /// What somebody would sign next, without taking it in.
  func signed(
    _ kind: SiteStatement.Kind, by issuer: Identity, with key: SigningKey
  ) -> SignedStatement {
    let statement = membership.draft(kind, by: issuer, at: Uptime.wall)
    return SignedStatement(statement, signature: key.sign(statement.bytes))
  }
}

extension Node {
  fileprivate func ownsNoMember(_ node: Identity) -> Bool { roster.roll.member(node) == nil }

  /// Whether both know the same of the site's members.
  fileprivate func isOne(with other: Node) async -> Bool {
    let others = await other.roster.membership
    return roster.hash == others.hash && roster.roll == others.roll
  }
}
