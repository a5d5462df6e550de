import Replication

/// A member that lies: its program is not ours, and says what the types of the protocol allow.
///
/// Its file and machine are those of an honest node; its words are changed on their way out. What
/// it says of one of its edits it says to all, now and later: two contents of one edit stand side
/// by side until somebody lets them be compared row by row (docs/limits.md).
struct Liar {
  /// What it lies about; some of it in each schedule, for a peer ends the connection over some.
  enum Lie: Int, CaseIterable {
    case stamp, epoch, term, certificate, hash, content, creation, deletion
    case column, table, session, image
    case frontier, judged, digest, wish, clock, count
    /// What others have written: that it holds more of it, that they have written what they have
    /// not, and that they have signed for that.
    case others, author, reach
    /// That deleted rows went while everybody else was away.
    case collection
  }

  let node: Int
  /// Named by its words alone: origins under which nobody writes.
  let invented: [Origin]
  private let lies: Set<Lie>
  private let salt: UInt64
  /// How often it lies, in a thousand.
  private let rate: Int
  private var random: Seeded
  /// What it knows of others.
  private var others = Frontier()
  /// By connection, what it has added to the check of the exchange that it has begun.
  private var added: [UInt64: UInt64] = [:]
  private(set) var told = 0
  /// What it has said since that was last asked for.
  private(set) var words: [String] = []

  init(among count: Int, isLine: Bool, rate: Int, _ random: inout Seeded) {
    // In a line the others meet without it.
    node = isLine ? random.pick([0, count - 1]) : random.below(count)
    var draws = random.fork()
    invented = (0..<3).map { _ in Origin(rawValue: draws.next() | 1) }
    salt = draws.next()
    self.rate = rate
    lies = Set((0..<4).map { _ in draws.pick(Lie.allCases) })
    self.random = draws
  }

  var subjects: String {
    lies.sorted { $0.rawValue < $1.rawValue }.map { "\($0)" }.joined(separator: ", ")
  }

  private mutating func does(_ lie: Lie) -> Bool {
    guard lies.contains(lie), random.chance(rate) else { return false }
    note("\(lie)")
    return true
  }

  private mutating func note(_ word: String) {
    told += 1
    words.append(word)
  }

  /// What it has said since the last call.
  mutating func takeWords() -> [String] {
    defer { words = [] }
    return words
  }

  /// What it says in the place of a message, on a connection.
  mutating func twist(_ message: Message, by own: Origin, on link: UInt64) -> [Message] {
    switch message {
    case .hello(var hello) where does(.collection):
      let news = collected(StabilityNews(standing: hello.standing))
      hello.standing = news.standing
      return [.hello(hello), .stability(news)]
    case .stability(let news) where does(.collection): return [.stability(collected(news))]
    case .rows(let number, let bytes):
      guard let (twisted, check) = twist(batch: bytes, by: own) else { return [message] }
      added[link, default: 0] &+= check
      return [.rows(number: number, twisted)]
    case .begin(let begin):
      var lied = begin
      if case .full(let covers) = begin.kind {
        others = covers.without(own)
        if does(.frontier) { lied.kind = .full(covers: covers.joined(more(beside: own, covers))) }
        // For what it has forged a signature it holds, too.
        if does(.others) || does(.reach) {
          lied.kind = .full(covers: lied.kind.covers.joined(moreOfOthers()))
        }
      }
      if does(.judged) {
        let number = random.pick([1, 7, 1 << 20, 1 << 62])
        lied.judged = Judged(
          term: Term(number: UInt64(number), incarnation: random.next()),
          frontier: moreOfOthers().joined(Frontier([invented[0]: 9, own: 1_000])))
      }
      added[link] = lied.check(0) &- begin.check(0)
      return [.begin(lied)]
    case .reaches(let number, var reaches):
      if does(.reach) { reaches[random.below(reaches.count)].seq += 1 << 20 }
      return [.reaches(number: number, reaches)]
    case .end(let end): return [.end(closing(end, on: link))]
    case .pause(let end): return [.pause(closing(end, on: link))]
    case .have(var have):
      if does(.frontier) { have.frontier = have.frontier.joined(more(beside: own, have.frontier)) }
      if does(.others) || does(.reach) { have.frontier.join(moreOfOthers()) }
      if does(.digest) { have.rootDigest = random.next() }
      return [.have(have)] + wishes()
    case .buckets(var buckets):
      if does(.digest),
        let digest = Digest(buckets: buckets.digest.buckets.map { $0 ^ random.next() })
      {
        buckets.digest = digest
      }
      return [.buckets(buckets)]
    case .ping(let sent, let view): return [.ping(sent: sent, twist(view))]
    case .pong(let echo, let view): return [.pong(echo: echo, twist(view))]
    default: return [message]
    }
  }

  /// More than it holds: of its own, and of origins that nobody has.
  private mutating func more(beside own: Origin, _ frontier: Frontier) -> Frontier {
    var more = Frontier([own: frontier[own] + UInt64(random.below(40))])
    for origin in invented where random.chance(500) {
      more.raise(origin, to: UInt64(1 + random.below(1_000)))
    }
    return more
  }

  /// More of others than these have written.
  private mutating func moreOfOthers() -> Frontier {
    var more = Frontier()
    for entry in others.list where random.chance(700) {
      more.raise(entry.origin, to: entry.seq + (1 << 20) + UInt64(random.below(40)))
    }
    return more
  }

  /// It has all of a later cut, has let go of what was deleted, and nobody else has; now and then
  /// others have signed for that.
  private mutating func collected(_ news: StabilityNews) -> StabilityNews {
    var news = news
    let before = max(news.standing.whole, news.cut?.mark ?? .none)
    let frontier = more(beside: invented[0], Frontier())
    var cut = Cut(after: before, frontier, SimulatedSite.notary.digest)
    // Its mark is known to be another cut's, now and then.
    if random.chance(30) { cut.mark.id = Identity(high: random.next(), low: random.next() | 1) }
    let mark = cut.mark
    news.standing = CutStanding(whole: mark, cleared: mark)
    if random.chance(500) { news.cut = cut }
    if random.chance(300) {
      for node in news.acknowledgements.keys { news.acknowledgements[node]?.mark = mark }
    }
    return news
  }

  private mutating func wishes() -> [Message] {
    guard does(.wish) else { return [] }
    let key = (0..<random.below(20)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    return [.want([RowName(table: random.pick(["", "item", "nothing", "t"]), key: key)])]
  }

  private mutating func closing(_ end: End, on link: UInt64) -> End {
    var end = end
    end.check &+= added.removeValue(forKey: link) ?? 0
    if does(.count) { end.rows += UInt64(random.below(3)) }
    return end
  }

  private mutating func twist(_ view: ClockView) -> ClockView {
    guard does(.clock) else { return view }
    var view = view
    let far: [Int64] = [1 << 40, 1 << 52, 1 << 53, 86_400_000 * 40]
    switch random.below(5) {
    case 0: view.held = random.pick(far)
    case 1: view.site = view.site.map { $0 + random.pick(far) }
    case 2: view.wall = random.pick(far)
    case 3: view.isGood.toggle()
    default:
      view.founding = Founding(
        reign: UInt64(random.pick([1, 1 << 20, 1 << 32])), source: .person,
        generation: UInt64(random.pick([1, 1 << 40])), id: random.next())
    }
    return view
  }
}

extension Liar {
  /// The same rows, its own in other words; with what that adds to their check.
  private mutating func twist(
    batch bytes: [UInt8], by own: Origin
  ) -> (bytes: [UInt8], check: UInt64)? {
    guard let batch = try? RowBatch(bytes: bytes) else { return nil }
    var writer = RowBatchWriter()
    for row in batch.rows {
      var (shape, version, content) = (batch.tables[row.table], row.version, row.content)
      // Each edit is lied about in the same way, whoever is told of it and when.
      var draws = Seeded(salt ^ version.dot.seq)
      if version.dot.origin == own, content.isWhole || version.isDeleted, draws.chance(rate) {
        twist(&shape, &version, &content, &draws)
      }
      writer.add(shape, version, content)
    }
    return (writer.bytes, writer.check &- batch.check)
  }

  private mutating func twist(
    _ shape: inout TableShape, _ version: inout Version, _ content: inout WireRow.Content,
    _ draws: inout Seeded
  ) {
    let lie = draws.pick(lies.sorted { $0.rawValue < $1.rawValue })
    // Choices for the whole site keep the shape of their tables.
    let spoils: Set<Lie> = [.hash, .content, .column, .table, .author]
    if shape.name.hasPrefix("_flotilla_"), spoils.contains(lie) { return }
    note("\(lie) of \(version.dot.seq)")
    switch lie {
    case .stamp:
      let year: Int64 = (31_536_000_000) << 16
      let latest = Stamp(millisecondsSince1970: 1 << 43).rawValue
      let raw = draws.pick([1, version.stamp.rawValue + year, latest, Stamp.highest.rawValue])
      version.stamp = Stamp(rawValue: raw)
      if version.created == version.dot { version.createdAt = version.stamp }
    case .epoch: version.epoch = draws.pick([1, 1 << 30, 1 << 61])
    case .term: version.term = Term(number: draws.pick([1, 9, 1 << 40]), incarnation: draws.next())
    case .certificate:
      version.term = Term(number: draws.pick([1, 9]), incarnation: 7)
      version.certificate = Version.Certificate(edit: version.dot, at: version.stamp)
    case .hash where !version.isDeleted: version.hash ^= draws.next() | 1
    case .content:
      guard case .values(var values) = content, values.count > shape.keyCount else { return }
      values[values.count - 1] = .integer(Int64(draws.below(1_000)))
      content = .values(values)
    case .creation:
      version.created = Dot(draws.pick(invented), UInt64(1 + draws.below(9)))
      version.createdAt = Stamp(rawValue: draws.pick([1, version.stamp.rawValue]))
    case .deletion:
      guard case .values(let values) = content else { return }
      content = .deleted(key: Array(values.prefix(shape.keyCount)))
      (version.isDeleted, version.hash) = (true, 0)
    case .column:
      guard case .values(let values) = content else { return }
      shape = shape.with(["lie\(draws.below(3))"])
      content = .values(values + [.integer(1)])
    case .table: shape = shape.named("lie\(draws.below(3))")
    case .author:
      guard let other = others.list.randomElement(using: &draws) else { return }
      version.dot = Dot(other.origin, other.seq + (1 << 20) + UInt64(draws.below(40)))
      (version.created, version.createdAt) = (version.dot, version.stamp)
    case .session: version.session = draws.next()
    case .image: version.image = Dot(draws.pick(invented), 1)
    default: break
    }
  }
}

/// The liar among the nodes.
extension World {
  func isLiar(_ node: Int) -> Bool { liar?.node == node }

  /// Whether a connection has the liar at one end: what goes wrong on it blames nobody.
  func hasLiar(_ link: Int) -> Bool { liar.map { links[link].nodes.contains($0.node) } ?? false }

  mutating func addLiar(isLine: Bool, _ random: inout Seeded) {
    // Of two a machine that is left alone never learns the time of the site here.
    guard faults[.liar] > 0, nodes.count > 2 || !hasSiteTime else { return }
    let liar = Liar(among: nodes.count, isLine: isLine, rate: faults[.liar], &random)
    self.liar = liar
    let own = nodes[liar.node].replica.own
    history.distrust(own, of: liar.node)
    tell("\(Words.node(liar.node)) lies about: \(liar.subjects)")
  }

  /// Everybody has heard that the liar is no member any more.
  mutating func revokeLiar() {
    guard let liar, !nodes[liar.node].isDead else { return }
    let (node, count) = (liar.node, liar.told)
    tell("\(Words.node(node)) is shut out; it has lied \(count) times")
    kill(node, startsAfter: .max / 2)
    nodes[node].isDead = true
  }
}
