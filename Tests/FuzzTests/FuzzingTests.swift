import Foundation
import Testing

/// Of each kind of member so many messages, and from which seed on.
private let wholeMessages = ProcessInfo.processInfo.environment["FLOTILLA_MESSAGES"].flatMap(
  Int.init)
private let wholeSeed = ProcessInfo.processInfo.environment["FLOTILLA_SEED"].flatMap(UInt64.init)

/// A node with a real file, and a member that says anything.
@Suite struct `A node to which a member lies` {
  @Test(arguments: WholeSession.Part.allCases)
  func `says what can be read, and goes on`(part: WholeSession.Part) throws {
    var (seed, heard, said, merged, sessions) = (wholeSeed ?? 1, 0, 0, 0, 0)
    while heard < wholeMessages ?? 3_000 {
      var whole = try WholeSession(as: part, seed: seed)
      while whole.heard < 1_000 { try whole.step() }
      try whole.expectGoingOn()
      (heard, said) = (heard + whole.heard, said + whole.said)
      (merged, sessions) = (merged + whole.merged, sessions + whole.sessions)
      seed += 1
    }
    print("\(part): heard \(heard), said \(said), merged \(merged), in \(sessions) sessions")
    // Who may write is taken in; who may not is not.
    #expect(part == .reader ? merged == 0 : merged > heard / 200)
    #expect(said > heard / 10)
  }
}

/// What libFuzzer does for hours, in seconds and without it: the corpus, changed in places. The
/// inputs are the same each time.
@Suite(.timeLimit(.minutes(20))) struct `A reader of foreign bytes` {
  @Test(arguments: FuzzTarget.allCases)
  func `takes what looks like its inputs and is none`(_ target: FuzzTarget) throws {
    let inputs = try CorpusTests.inputs(target).map { [UInt8](try Data(contentsOf: $0)) }
    var mutator = Mutator(inputs, seed: 1)
    for _ in 0..<(wholeMessages ?? target.mutations) { target.read(mutator.next()) }
  }
}

extension FuzzTarget {
  /// So many are read in a second or two.
  fileprivate var mutations: Int {
    switch self {
    case .merge, .schema: 200
    case .question: 500
    case .session, .appointment, .pem, .handshake, .query, .sql: 2_000
    default: 10_000
    }
  }
}

/// Makes inputs that nobody has written from some that somebody has.
private struct Mutator {
  private let inputs: [[UInt8]]
  private var random: UInt64
  private static let longest = 2_048
  /// At which numbers mean something else.
  private static let borders: [UInt8] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF, 0x20, 0x2C, 0x22, 0x27]

  init(_ inputs: [[UInt8]], seed: UInt64) {
    (self.inputs, random) = (inputs.filter { !$0.isEmpty }, seed)
  }

  mutating func next() -> [UInt8] {
    var bytes = inputs[below(inputs.count)]
    for _ in 0...below(6) { change(&bytes) }
    return Array(bytes.prefix(Self.longest))
  }

  private mutating func change(_ bytes: inout [UInt8]) {
    let place = below(bytes.count + 1)
    let length = min(1 + below(16), bytes.count - place)
    switch below(8) {
    case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(below(8))
    case 1 where place < bytes.count: bytes[place] = Self.borders[below(Self.borders.count)]
    case 2 where place < bytes.count: bytes[place] &+= UInt8(truncatingIfNeeded: below(35) - 17)
    case 3: bytes.insert(contentsOf: (0..<(1 + below(9))).map { _ in UInt8(below(256)) }, at: place)
    case 4: bytes.removeSubrange(place..<(place + length))
    case 5: bytes.insert(contentsOf: bytes[place..<(place + length)], at: below(bytes.count + 1))
    case 6:
      let other = inputs[below(inputs.count)]
      bytes = Array(bytes.prefix(place)) + other.suffix(below(other.count + 1))
    default: bytes = Array(bytes.prefix(place))
    }
  }

  /// SplitMix64.
  private mutating func below(_ limit: Int) -> Int {
    random &+= 0x9E37_79B9_7F4A_7C15
    var bits = random
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((bits ^ (bits >> 31)) % UInt64(max(1, limit)))
  }
}
