/// The edits of one row that a version descends from: for each origin the latest.
///
/// A version vector of one row (Preguiça et al., dotted version vectors, 2010), bounded: of more
/// than eight origins those that came latest are kept. It names edits, never certificates.
package struct RowContext: Sendable, Hashable {
  /// Origins in one context, at most.
  package static let limit = 8

  /// Those that came later stand later; one for each origin.
  package private(set) var dots: [Dot]

  package static let empty = RowContext()

  package init() { dots = [] }

  /// As it was read; nil if it is longer than a context may be, or names an origin twice.
  package init?(_ dots: [Dot]) {
    guard dots.count <= Self.limit, Set(dots.map(\.origin)).count == dots.count else { return nil }
    self.dots = dots
  }

  package var isEmpty: Bool { dots.isEmpty }

  package func covers(_ dot: Dot) -> Bool {
    dots.contains { $0.origin == dot.origin && $0.seq >= dot.seq }
  }

  /// Takes in a later edit.
  package mutating func add(_ dot: Dot) {
    let seq = max(dot.seq, dots.first { $0.origin == dot.origin }?.seq ?? 0)
    dots.removeAll { $0.origin == dot.origin }
    dots.append(Dot(dot.origin, seq))
    if dots.count > Self.limit { dots.removeFirst() }
  }

  /// The same of several, one after another.
  mutating func add(_ later: [Dot]) { for dot in later { add(dot) } }

  /// Leaves one origin out: an edit of that origin has seen its earlier ones anyway.
  package func without(_ origin: Origin) -> RowContext {
    guard dots.contains(where: { $0.origin == origin }) else { return self }
    var context = self
    context.dots.removeAll { $0.origin == origin }
    return context
  }
}
