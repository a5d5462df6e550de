/// The author id of one life of one replica: 64 random bits.
package struct Origin: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }

  package static func < (left: Origin, right: Origin) -> Bool { left.rawValue < right.rawValue }

  package var description: String { String(rawValue, radix: 16) }
}

/// (origin, seq): names one version; seq counts up by one per origin, from 1.
package struct Dot: Sendable, Hashable, Comparable {
  package let origin: Origin
  package let seq: UInt64

  package init(_ origin: Origin, _ seq: UInt64) {
    self.origin = origin
    self.seq = seq
  }

  package static func < (left: Dot, right: Dot) -> Bool {
    (left.origin, left.seq) < (right.origin, right.seq)
  }
}
