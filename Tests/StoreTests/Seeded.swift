import Foundation
import Replication

/// A random number generator that repeats itself from its seed.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = mix(seed) }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return mix(state)
  }

  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
  mutating func pick<Element>(_ items: [Element]) -> Element { items[below(items.count)] }

  /// The seeds of a suite, and those that failed once: `FLOTILLA_SEED=n` repeats one,
  /// `FLOTILLA_SEEDS=n` runs that many.
  static func seeds(_ usual: UInt64, keeping kept: [UInt64] = []) -> [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["FLOTILLA_SEED"].flatMap(UInt64.init) { return [seed] }
    let first = environment["FLOTILLA_FIRST_SEED"].flatMap(UInt64.init) ?? 1
    let count = environment["FLOTILLA_SEEDS"].flatMap(UInt64.init) ?? usual
    return Array(first..<first + count) + kept
  }
}
