import Replication

/// A random number generator that repeats itself from its seed.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { self.state = mix(seed) }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return mix(state)
  }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
  }

  mutating func frontier(origins: Int = 5, seqs: UInt64 = 6) -> Frontier {
    var frontier = Frontier()
    for origin in 1...UInt64(origins) {
      frontier.raise(Origin(rawValue: origin), to: UInt64.random(in: 0...seqs, using: &self))
    }
    return frontier
  }
}
