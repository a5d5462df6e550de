import Replication
import Testing

/// Questions for what a peer holds, and their answers.
@Suite struct InspectingTests {
  static let held = Frontier([Conversation.own: 1])
  static let sums = Account.Sums(
    frontier: held, rows: 3, uncaptured: 0, digest: Samples.digest)

  static func known() -> Conversation {
    .known(holding: held, peer: held, digest: Samples.digest)
  }

  static func account(_ number: UInt64, _ content: Account.Content) -> Message {
    .account(Account(number: number, content))
  }

  static func ask(_ number: UInt64, _ buckets: [UInt8] = []) -> Message {
    .inspect(Inspect(number: number, buckets: buckets))
  }

  /// Rows of one bucket, in order.
  static let rows: [AccountRow] = {
    let all = (0..<5_000 as Range<Int64>).map { number in
      AccountRow(
        table: "t", key: Key([.integer(number)], collations: [])!, state: .live,
        dot: Dot(Conversation.own, 1), stamp: .zero, hash: 5)
    }
    return all.filter { $0.bucket == 7 }.sorted { $0.place < $1.place }
  }()

  @Test func `are asked and answered one after the other`() {
    var it = Self.known()
    #expect(it.feed(.inspect([])).sent == [Self.ask(1)])
    #expect(it.hear(Self.account(1, .sums(Self.sums))) == [.inspected(.sums(Self.sums))])
    #expect(it.feed(.inspect([200, 7])).sent == [Self.ask(2, [7, 200])])
    let (first, last) = (Array(Self.rows.prefix(2)), Array(Self.rows.dropFirst(2)))
    let parts: [Account.Content] = [.rows(first, isLast: false), .rows(last, isLast: true)]
    for part in parts { #expect(it.hear(Self.account(2, part)) == [.inspected(part)]) }
    #expect(it.hear(Self.account(2, parts[1])).isEmpty)
  }

  @Test func `of the peer are answered part by part, as it takes them`() {
    var it = Self.known()
    #expect(it.hear(Self.ask(1)) == [.openAccount([])])
    #expect(
      it.feed(.accounted(.sums(Self.sums)))
        == [.send(Self.account(1, .sums(Self.sums))), .closeAccount])
    #expect(it.hear(Self.ask(2, [7])) == [.openAccount([7])])
    let part = Account.Content.rows(Self.rows, isLast: false)
    #expect(it.feed(.accounted(part)).sent == [Self.account(2, part)])
    // Not before there is room.
    #expect(it.feed(.drained) == [.readAccount])
    #expect(it.feed(.drained).isEmpty)
    let last = Account.Content.rows([], isLast: true)
    #expect(it.feed(.accounted(last)) == [.send(Self.account(2, last)), .closeAccount])
    #expect(it.feed(.drained).isEmpty)
  }

  @Test func `that come while one is answered take its place, the latest alone`() {
    var it = Self.known()
    it.hear(Self.ask(1))
    for number in 2...100 as ClosedRange<UInt64> { #expect(it.hear(Self.ask(number)).isEmpty) }
    #expect(it.session.wantsOtherAccount)
    #expect(it.feed(.accounted(.nothing(.failed))) == [.openAccount([])])
    #expect(!it.session.wantsOtherAccount)
    let answer = Self.account(100, .sums(Self.sums))
    #expect(it.feed(.accounted(.sums(Self.sums))) == [.send(answer), .closeAccount])
  }

  /// Has a question answered, for which rows are read for so long.
  private static func answer(
    _ number: UInt64, _ it: inout Conversation, in milliseconds: Int64
  ) {
    #expect(it.hear(ask(number)) == [.openAccount([])])
    it.now.uptime += milliseconds
    #expect(it.feed(.accounted(.sums(sums))).count == 2)
  }

  @Test func `that come again and again wait ten times as long as was read for them`() {
    var it = Self.known()
    for number in 1...4 as ClosedRange<UInt64> { Self.answer(number, &it, in: 1_000) }
    // Who has sums may ask for their rows at once, and then waits as well.
    #expect(it.hear(Self.ask(5, [7])) == [.openAccount([7])])
    it.feed(.accounted(.rows([], isLast: true)))
    #expect(it.hear(Self.ask(6, [7])).isEmpty)
    #expect(it.hear(Self.ask(7)).isEmpty)
    // Each owes 10 s, of which 3 s are over; 30 s are nobody's matter.
    #expect(!it.wait(6_999).contains(.openAccount([])))
    #expect(it.wait(1).contains(.openAccount([])))
    #expect(it.session.deadline > it.now.uptime)
  }

  @Test func `wait in the next connection, too, though the last one was cut while they were read`()
  {
    var it = Self.known()
    it.hear(Self.ask(1))
    it.now.uptime += 4_000
    it.feed(.disconnected("cut"))
    let supply = it.session.supply
    it = Self.known()
    it.now.uptime += 4_000
    it.feed(.owes(Toll(), supply))
    #expect(it.hear(Self.ask(1)).isEmpty)
    #expect(!it.wait(9_999).contains(.openAccount([])))
    it.feed(.heard)
    #expect(it.wait(1).contains(.openAccount([])))
  }

  @Test func `leave an answer in parts that another question has replaced, also if that waits`() {
    var it = Self.known()
    Self.answer(1, &it, in: 4_000)
    #expect(it.hear(Self.ask(2, [7])) == [.openAccount([7])])
    it.feed(.accounted(.rows(Self.rows, isLast: false)))
    #expect(it.hear(Self.ask(3, [7])) == [.closeAccount])
    #expect(it.feed(.drained).isEmpty)
    #expect(!it.wait(9_999).contains(.openAccount([7])))
    it.feed(.heard)
    #expect(it.wait(1).contains(.openAccount([7])))
  }

  @Test func `out of order end the connection`() {
    for number in [0, 2, 9] as [UInt64] {
      var it = Self.known()
      #expect(it.hear(Self.ask(number)).bye == .badMessage)
    }
    var it = Self.known()
    it.hear(Self.ask(1))
    #expect(it.hear(Self.ask(1)).bye == .badMessage)
  }

  @Test func `that were not asked are not answered`() {
    var it = Self.known()
    #expect(it.hear(Self.account(1, .sums(Self.sums))).bye == .badMessage)
    it = Self.known()
    it.feed(.inspect([]))
    #expect(it.hear(Self.account(2, .sums(Self.sums))).bye == .badMessage)
    it = Self.known()
    it.feed(.inspect([]))
    #expect(it.hear(Self.account(0, .sums(Self.sums))).bye == .badMessage)
  }

  @Test func `are not answered with something else`() {
    let other = AccountRow(
      table: "u", key: Key(bytes: [0x14]), state: .deleted, dot: Dot(Conversation.own, 1),
      stamp: .zero, hash: 0)
    for (buckets, content) in [
      ([], .rows(Self.rows, isLast: true)), ([7], .sums(Self.sums)),
      ([7], .rows([], isLast: false)), ([8], .rows(Self.rows, isLast: true)),
      ([7], .rows([other], isLast: true)),
    ] as [([Int], Account.Content)] {
      var it = Self.known()
      it.feed(.inspect(buckets))
      #expect(it.hear(Self.account(1, content)).bye == .badMessage, "\(content)")
    }
  }

  @Test func `are not answered with rows that go back`() {
    var it = Self.known()
    it.feed(.inspect([7]))
    it.hear(Self.account(1, .rows(Array(Self.rows.suffix(2)), isLast: false)))
    let again = Account.Content.rows(Array(Self.rows.suffix(1)), isLast: true)
    #expect(it.hear(Self.account(1, again)).bye == .badMessage)
  }

  @Test func `that were given up may still be answered`() {
    var it = Self.known()
    it.feed(.inspect([]))
    it.feed(.stopInspecting)
    #expect(it.hear(Self.account(1, .sums(Self.sums))).isEmpty)
    it.feed(.inspect([]))
    it.feed(.inspect([]))
    #expect(it.hear(Self.account(2, .rows(Self.rows, isLast: false))).isEmpty)
    #expect(it.hear(Self.account(3, .sums(Self.sums))) == [.inspected(.sums(Self.sums))])
  }

  static let leaf = Rights(general: .write, tables: ["secret": .none])

  @Test(arguments: [(leaf, Rights.all), (.all, leaf)])
  func `are neither asked nor answered where one may not read everything`(
    own: Rights, peer: Rights
  ) {
    var it = Conversation(holding: Self.held, digest: Samples.digest, own: own, peer: peer)
    it.feed(.connected)
    it.hear(.hello(it.peerHello()))
    #expect(it.feed(.inspect([])) == [.inspected(.nothing(.notAllowed))])
    #expect(it.hear(Self.ask(1)) == [.send(Self.account(1, .nothing(.notAllowed)))])
    #expect(it.hear(Self.ask(2, [7])) == [.send(Self.account(2, .nothing(.notAllowed)))])
    #expect(it.feed(.repair([7])).isEmpty)
  }

  @Test func `are answered for who reads everything and writes nothing`() {
    var it = Conversation(
      holding: Self.held, digest: Samples.digest, own: .all, peer: Rights(general: .read))
    it.feed(.connected)
    it.hear(.hello(it.peerHello()))
    #expect(it.hear(Self.ask(1)) == [.openAccount([])])
  }

  @Test func `may end in a repair, whenever the last one was`() {
    var it = Self.known()
    let shown = Message.buckets(
      Buckets(frontierHash: Self.held.hash, digest: Samples.digest))
    #expect(it.feed(.repair([3])) == [.send(shown), .openExport(.buckets([3]))])
    it.feed(.exportOpened(covers: Self.held, rows: 0))
    it.feed(.exportDone)
    #expect(it.feed(.repair([4])) == [.send(shown), .openExport(.buckets([4]))])
  }
}
