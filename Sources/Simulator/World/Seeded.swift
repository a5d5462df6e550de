import Replication

/// A random number generator that repeats itself from its seed.
package struct Seeded: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(_ seed: UInt64) { state = mix(seed) }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return mix(state)
  }

  /// A number from 0 up to `bound`, which is small: the bias of the modulus does not matter here.
  package mutating func below(_ bound: Int) -> Int {
    Int(truncatingIfNeeded: (next() >> 33) % UInt64(bound))
  }

  /// True this often in a thousand.
  package mutating func chance(_ perMille: Int) -> Bool { perMille > 0 && below(1_000) < perMille }

  package mutating func pick<Element>(_ items: [Element]) -> Element { items[below(items.count)] }

  /// A generator of its own, for a part of the world.
  package mutating func fork() -> Seeded { Seeded(next()) }
}
