import Network
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// Whoever stands between a joiner and its inviter, or guesses.
  @Suite struct `A code` {
    private func join(
      _ name: String, _ code: String, at address: String, in site: TestSite,
      progress: @escaping @Sendable (JoinProgress) -> Void = { _ in }
    ) async throws -> JoinReport {
      let replica = TestReplica(name: name, path: "\(site.folder)/\(name).db")
      return try await replica.library.join(
        code: code, node: name, at: address, progress: progress)
    }

    @Test func `that is guessed ten thousand times lives on`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let code = try await a.library.invite(timeToLive: .seconds(600), role: "writer")
        let real = InvitationSecret(try InviteCode(code.code)).shared
        var guessed = 0
        let open = await node.door.accepting
        for number in 0..<10_000 {
          var guess = InvitationSecret(RandomNumbers.inviteCode()).shared
          // Who has listened to a joiner knows the name of the invitation, not its secret.
          if number.isMultiple(of: 2) { guess.identity = real.identity }
          if try Self.isLetIn(guess, open) { guessed += 1 }
        }
        #expect(guessed == 0)
        #expect(try Self.isLetIn(real, open))
        #expect(try await join("b", code.code, at: node.address, in: site).node == "b")
      }
    }

    @Test func `that is guessed without pause keeps no member from its work`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let node = try await site.run(a)
        let other = try await site.run(b, to: [node])
        let code = try await a.library.invite(timeToLive: .seconds(600), role: "writer")
        #expect(try await eventually { try await other.isInSync })
        let address = try Endpoint(parsing: try await node.address)
        let identity = InvitationSecret(try InviteCode(code.code)).identity
        let guesses = Lines()
        let guessing = (0..<4).map { _ in
          Task {
            while !Task.isCancelled {
              var guess = InvitationSecret(RandomNumbers.inviteCode()).shared
              guess.identity = identity
              let context = try TLSContext(joining: guess)
              let socket = try? await SocketChannel.connect(to: address, timeout: .seconds(5))
              guard let socket else { continue }
              let isIn = try? await TLSChannel.dial(
                over: socket, context, for: .joining, timeout: .seconds(5))
              guesses.add(isIn == nil ? "wrong" : "right")
              socket.close()
            }
          }
        }
        for number in 1...20 {
          let (from, to) = number.isMultiple(of: 2) ? (a, b) : (b, a)
          try from.write("INSERT INTO item VALUES ('\(number)', 'x')")
          #expect(try await eventually { try to.count() == number }, "\(number)")
        }
        #expect(try await eventually { guesses.all.count >= 100 })
        for task in guessing {
          task.cancel()
          try await task.value
        }
        #expect(Set(guesses.all) == ["wrong"])
        #expect(await node.connectedCount == 1)
        #expect(try await join("c", code.code, at: node.address, in: site).node == "c")
      }
    }

    /// Whether a joiner with a secret comes through the handshake, as both ends see it.
    private static func isLetIn(
      _ secret: TLSContext.SharedSecret, _ door: TLSContext
    ) throws -> Bool {
      var joiner = try TLSEngine(dialling: try TLSContext(joining: secret), for: .joining)
      var node = try TLSEngine(accepting: door)
      for _ in 0..<3 {
        let request = joiner.takeOutput()
        if !request.isEmpty { _ = try? node.receive(request) }
        let answer = node.takeOutput()
        if !answer.isEmpty { _ = try? joiner.receive(answer) }
      }
      let (first, second) = (joiner.state == .open, node.state == .open)
      #expect(first == second)
      return first || second
    }

    @Test func `is not needed to listen, but to answer a joiner`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let code = try await a.library.invite(timeToLive: .seconds(60), role: "writer")
        let relay = try await Relay(to: node.address, knowing: nil)
        await relay.start()
        let error = await #expect(throws: FlotillaError.self) {
          try await join("b", code.code, at: relay.address, in: site)
        }
        #expect(error?.code == .invitation)
        #expect(error?.message.contains("knows no such code") == true, "\(error as Any)")
        #expect(await relay.words.isEmpty)
        #expect(try await join("b", code.code, at: node.address, in: site).node == "b")
        await relay.stop()
      }
    }

    @Test func `that somebody in the middle knows shows itself by the words`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let code = try await a.library.invite(timeToLive: .seconds(60), role: "writer")
        let secret = InvitationSecret(try InviteCode(code.code)).shared
        let relay = try await Relay(to: node.address, knowing: secret)
        await relay.start()
        // The joiner's proof is bound to its own end, so it does not hold at the other one.
        let error = await #expect(throws: FlotillaError.self) {
          try await join("b", code.code, at: relay.address, in: site)
        }
        #expect(error?.message.contains("does not own its key") == true, "\(error as Any)")
        let words = await relay.words
        #expect(words.count == 2)
        #expect(Set(words).count == 2)
        #expect(words.allSatisfy { $0.split(separator: " ").count == 4 })
        #expect(await node.roster.roll.members.count == 1)
        // Nobody was let in, so it is still good, and both ends show the same.
        let shown = Lines()
        _ = try await join("b", code.code, at: node.address, in: site) { progress in
          if case .found(_, _, _, let words) = progress { shown.add(words) }
        }
        let own = try #require(await node.admissions.last?.words)
        #expect(shown.all == [own])
        await relay.stop()
      }
    }

    @Test func `that was used gives nobody more than a few places at the door`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let code = try await a.library.invite(timeToLive: .seconds(60), role: "writer")
        let address = try await node.address
        _ = try await join("b", code.code, at: address, in: site)
        let context = try TLSContext(
          joining: InvitationSecret(try InviteCode(code.code)).shared)
        var idle: [TLSChannel] = []
        for _ in 0..<4 * Vestibule.placesOfOne {
          idle.append(
            try await TLSChannel.dial(
              over: try await SocketChannel.connect(to: Endpoint(parsing: address)), context,
              for: .joining, timeout: .seconds(5)))
        }
        // All but the last have made room, none because its time was over: that ends with a Bye.
        for channel in idle.dropLast(Vestibule.placesOfOne) {
          let link = MessageLink(channel: channel)
          while let message = try? await link.receive() {
            if case .bye(let bye) = message { Issue.record("\(bye)") }
          }
        }
        // A member comes in all the same.
        let link = try await site.talk(to: node)
        #expect(try await eventually { await node.connectedCount == 1 })
        link.close()
        for channel in idle { channel.close() }
      }
    }

    @Test func `lets one in of eight that race for it`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let code = try await a.library.invite(timeToLive: .seconds(60), role: "writer").code
        let address = try await node.address
        let ends = await withTaskGroup(of: Result<String, any Error>.self) { group in
          for number in 1...8 {
            group.addTask {
              do {
                return .success(
                  try await self.join("r\(number)", code, at: address, in: site).node)
              } catch {
                return .failure(error)
              }
            }
          }
          return await group.reduce(into: []) { $0.append($1) }
        }
        let losers = ends.compactMap { end in
          if case .failure(let error) = end { (error as? FlotillaError)?.message } else { nil }
        }
        #expect(losers == Array(repeating: "the code was used already", count: 7))
        #expect(await node.roster.roll.members.count == 2)
      }
    }
  }
}

/// Somebody between a joiner and its inviter, who ends TLS on both sides.
private actor Relay {
  private let listener: Listener
  private let target: Endpoint
  private let secret: TLSContext.SharedSecret?
  private var accepting: Task<Void, Never>?
  /// What the two ends of the last connection show: of the joiner, then of the inviter.
  private(set) var words: [String] = []

  init(to address: String, knowing secret: TLSContext.SharedSecret?) async throws {
    listener = try await Listener(host: "127.0.0.1", port: 0)
    target = try Endpoint(parsing: address)
    self.secret = secret
  }

  nonisolated var address: String { "127.0.0.1:\(listener.port)" }

  func start() {
    accepting = Task {
      while let channel = try? await listener.accept() { await self.connect(channel) }
    }
  }

  private func connect(_ socket: SocketChannel) async {
    do {
      let key = SigningKey()
      let context = try TLSContext(
        accepting: key, try Certificate(of: key, credential: [1]), judge: { _, _ in .trusted },
        secrets: { [secret] in $0 == secret?.identity ? secret?.secret : nil })
      let near = try await TLSChannel.accept(over: socket, context, timeout: .seconds(5))
      guard let secret else { return near.close() }
      let far = try await TLSChannel.dial(
        over: try await SocketChannel.connect(to: target), TLSContext(joining: secret),
        for: .joining, timeout: .seconds(5))
      words = [JoinProof.words(near), JoinProof.words(far)]
      async let there: Void = Self.pass(from: near, to: far)
      async let back: Void = Self.pass(from: far, to: near)
      _ = await (there, back)
    } catch {
      socket.close()
    }
  }

  private static func pass(from: TLSChannel, to: TLSChannel) async {
    while let bytes = try? await from.read(upTo: 16 << 10), !bytes.isEmpty {
      guard (try? await to.write(bytes)) != nil else { break }
    }
    to.close()
    from.close()
  }

  func stop() async {
    listener.close()
    await accepting?.value
  }
}
