@testable import Replication
@testable import Store

/// What the member says.
extension WholeSession {
  private mutating func one<Value>(of values: [Value]) -> Value {
    values[Int(random.below(UInt64(values.count)))]
  }

  private mutating func number() -> UInt64 {
    one(of: [0, 1, 2, 3, 7, 40, 1 << 20, 1 << 40, 1 << 53, (1 << 62) - 1, 1 << 62])
  }

  private mutating func anyOrigin() -> Origin {
    switch random.below(4) {
    case 0: store.own
    case 1: Origin(rawValue: random.below(3) == 0 ? .max : random.below(40))
    default: Self.origin
    }
  }

  private mutating func dot() -> Dot {
    let seq = random.below(3) > 0 ? 1 + random.below(200) : max(1, number())
    return Dot(anyOrigin(), seq)
  }

  mutating func frontier() -> Frontier {
    var frontier = Frontier()
    for _ in 0..<random.below(4) {
      let dot = dot()
      frontier.raise(dot.origin, to: dot.seq)
    }
    if random.below(60) == 0 {
      for number in 0..<2_000 as Range<UInt64> {
        frontier.raise(Origin(rawValue: 1_000 + random.below(1 << 20) + number), to: 1)
      }
    }
    return frontier
  }

  mutating func kind() -> Begin.Kind {
    switch random.below(6) {
    case 0:
      let (origin, from) = (anyOrigin(), store.position.frontier[Self.origin])
      return .push(origin: origin, from: from, to: from + 1 + random.below(3))
    case 1: return .repair
    // A leaf may cover its own alone.
    case 2, 3: return .full(covers: Frontier([Self.origin: 1 + random.below(500)]))
    default: return .full(covers: frontier())
    }
  }

  private mutating func term() -> Term {
    one(of: [
      .none, Self.term, Term(number: 3, incarnation: 1),
      Term(number: 17, incarnation: .max), Term(number: 1 << 62, incarnation: 0),
    ])
  }

  mutating func judged() -> Judged? {
    random.below(8) == 0 ? Judged(term: term(), frontier: frontier()) : nil
  }

  private mutating func stamp() -> Stamp {
    let now = Stamp(millisecondsSince1970: Sandbox.now.wall)
    return one(of: [.zero, now, now, now.successor, .latest, .latest.successor, .highest])
  }

  private mutating func value() -> Value {
    switch random.below(8) {
    case 0: .null
    case 1: .real(Double(random.below(9)) / 2)
    case 2: .integer(one(of: [Int64.min, .max, -1]))
    case 3: .blob([UInt8](repeating: 0, count: Int(random.below(40))))
    case 4: .text(Array("a\(random.below(6))".utf8))
    case 5 where random.below(60) == 0: .text([UInt8](repeating: 0x61, count: 1_100_000))
    default: .integer(Int64(random.below(12)))
    }
  }

  private mutating func shape() -> TableShape {
    let known: [(String, [String], [KeyAffinity])] = [
      ("t", ["id", "v", "n"], [.integer]), ("t", ["id", "v", "n"], [.integer]),
      ("firm", ["k", "r"], [.text]), ("person", ["id", "boss", "v"], [.integer]),
      ("line", ["person", "n", "v"], [.integer, .integer]), ("secret", ["name", "value"], [.text]),
      ("pair", ["a", "b"], [.text, .none]), ("_flotilla_table", ["name", "rule"], [.text]),
      ("_flotilla_column", ["tbl", "name", "first"], [.text, .text]),
      ("new\(random.below(3_000))", ["id", "x"], [.integer]),
    ]
    let (name, columns, key) = one(of: known)
    var all = columns
    for number in 0..<(random.below(4) == 0 ? random.below(9) : 0) { all.append("x\(number)") }
    if random.below(30) == 0 { all.removeLast() }
    return TableShape(
      name: name, keyCount: min(key.count, all.count), columns: all,
      affinities: Array(key.prefix(all.count)),
      generation: random.below(20) == 0 ? random.below(3) : 0)
  }

  /// Of a batch that holds up to six rows; a leaf and a reader mostly name what they may write.
  mutating func rows() -> RowBatchWriter {
    var writer = RowBatchWriter()
    for _ in 0..<(1 + random.below(6)) {
      let shape =
        part == .leaf && random.below(10) > 0
        ? TableShape(name: "t", keyCount: 1, columns: ["id", "v", "n"], affinities: [.integer])
        : shape()
      var values = shape.columns.map { _ in value() }
      for column in 0..<shape.keyCount {
        values[column] =
          shape.affinities[column] == .integer
          ? .integer(Int64(random.below(12))) : .text(Array("k\(random.below(9))".utf8))
      }
      let key = Array(values.prefix(shape.keyCount))
      let (version, content) = version(of: shape, values)
      switch content {
      case 0: writer.add(shape, version, .deleted(key: key))
      case 1: writer.add(shape, version, .withheld(key: key))
      case 2:
        let kind = one(of: [Ruling.Kind.tookOffice, .stoodDown])
        writer.add(
          shape, version, .ruling(Ruling(kind, edit: dot(), rule: "newest-wins"), key: key))
      default: writer.add(shape, version, .values(values))
      }
    }
    return writer
  }

  private mutating func version(
    of shape: TableShape, _ values: [Value]
  ) -> (Version, content: UInt64) {
    let isLeaf = part == .leaf && random.below(10) > 0
    let content = random.below(isLeaf ? 14 : 24)
    var sum = ContentHash()
    for (column, value) in zip(shape.columns, values) where value != .null {
      sum.add(column: ContentHash.column(column), value)
    }
    let hash = content == 0 || content == 2 ? 0 : random.below(6) == 0 ? 4_711 : sum.value
    let dot = isLeaf ? Dot(Self.origin, 1 + random.below(500)) : self.dot()
    var version = Version(
      dot: dot, created: random.below(3) > 0 ? dot : self.dot(), stamp: stamp(), hash: hash,
      isDeleted: content == 0)
    if random.below(3) == 0 { version.createdAt = min(stamp(), version.stamp) }
    if random.below(4) == 0 {
      version.term = term()
      version.epoch = version.term == .none ? max(1, number()) : number()
    }
    if !isLeaf, version.term != .none, random.below(2) == 0 {
      version.certificate = Version.Certificate(edit: self.dot(), at: stamp())
    }
    if random.below(5) == 0 { for _ in 0..<3 { version.context.add(self.dot()) } }
    version.isUndated = random.below(20) == 0
    version.isDangling = random.below(20) == 0
    if random.below(20) == 0 { version.image = self.dot() }
    if random.below(6) == 0 {
      version.numbering.turn = min(stamp(), version.stamp)
      let creation = Creation(at: stamp(), dot: self.dot())
      if random.below(2) == 0 { version.numbering.elders = [creation] }
      if random.below(2) == 0 {
        version.numbering.former = [
          FormerKey(
            key: Key(bytes: [0x15, UInt8(random.below(12))]), created: self.dot(),
            edit: self.dot())
        ]
      }
    }
    return (version, content)
  }

  /// What nobody has signed, or the liar, or somebody else.
  mutating func reach() -> Reach {
    let node = random.below(2) == 0 ? Self.liar : store.node
    var reach = Reach(
      origin: anyOrigin(), node: node, life: random.below(2) == 0 ? 0 : number(),
      seq: min(max(1, number()), 1 << 62), run: number())
    reach.signature = Self.signature(of: reach)
    if random.below(8) == 0 { reach.signature[0] ^= 1 }
    return reach
  }

  /// Any other message.
  mutating func message() -> Message {
    let clock = Sandbox.now.wall + Int64(random.below(1 << 40)) - (1 << 39)
    let end = End(rows: number(), check: number())
    switch random.below(20) {
    case 0, 1, 2:
      let testimony = reach()
      return .have(
        Have(
          frontier: frontier(), frontierHash: store.position.frontier.hash,
          rootDigest: random.below(3), resume: frontier(), asks: random.below(3) == 0,
          testimony: random.below(4) == 0 ? testimony : nil))
    case 3, 4:
      return .want(
        (0..<random.below(6)).map { _ in
          let bytes = (0..<random.below(5)).map { _ in UInt8(random.below(256)) }
          return RowName(table: shape().name, key: random.below(2) == 0 ? bytes : [0x15, 1])
        })
    case 5:
      var digest = Digest()
      digest = Digest(buckets: digest.buckets.map { $0 &+ random.below(2) }) ?? digest
      return .buckets(Buckets(frontierHash: store.position.frontier.hash, digest: digest))
    case 6: return .inspect(Inspect(number: random.below(5), buckets: []))
    case 7: return .ping(sent: clock, ClockView(wall: clock, site: clock))
    case 8: return .pong(echo: clock, ClockView(wall: clock))
    case 9: return .describe
    case 10:
      let member = Member(node: Self.liar, name: "n", addresses: ["127.0.0.1:1"], lives: [number()])
      return .members([member])
    case 11:
      var floors: [Int: Floor] = [:]
      floors[Int(random.below(256))] = Floor(term: term(), epoch: number(), stamp: stamp())
      let previous = Mark(number: random.below(1 << 32), id: random.below(9))
      var cut = Cut(after: previous, frontier(), Self.notary.digest)
      // One of eight has another one's mark.
      if random.below(8) == 0 { cut.mark.id = Identity(high: 0, low: 1 + random.below(9)) }
      let mark = cut.mark
      var said = Acknowledgement(
        node: random.below(4) > 0 ? Self.liar : store.node,
        mark: mark,
        last: Dot(Origin(rawValue: number()), number()))
      if random.below(4) > 0 { said.signature = Self.signature(of: said) }
      if random.below(8) == 0 { said.signature = [1] }
      return .stability(
        StabilityNews(
          standing: CutStanding(whole: mark), cut: random.below(2) == 0 ? cut : nil,
          acknowledgements: random.below(2) == 0 ? [said.node: said] : [:],
          floors: Floors(floors)))
    case 12: return random.below(9) == 0 ? .pause(end) : .ping(sent: 1, ClockView(wall: 0))
    case 13: return .offer(Offer(siteName: "s", rows: number(), objects: random.below(3)))
    case 14:
      return .schema(SchemaObject(kind: .table, name: "z", sql: "CREATE TABLE z(a)"))
    case 15: return .knock
    case 16: return random.below(4) == 0 ? .knocked(.reached) : .program("0.1.0")
    default:
      var bytes = Message.have(
        Have(frontier: frontier(), frontierHash: 1, rootDigest: 2)
      ).frame.dropFirst(4).map(\.self)
      bytes[Int(random.below(UInt64(bytes.count)))] ^= UInt8(1 + random.below(255))
      return (try? Message(frame: bytes)) ?? .describe
    }
  }
}

/// Numbers from a seed (splitmix64).
struct Seeded {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func below(_ limit: UInt64) -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return limit == 0 ? 0 : mix(state) % limit
  }
}
