/// How much of the conflict log is kept.
package struct ConflictBounds: Sendable, Equatable {
  package var count: Int
  package var days: Int
  /// What more than `least` may take together; nil if somebody chose the count.
  package var bytes: Int?

  /// So many are kept however large they are.
  package static let least = 2_000

  package init(count: Int = 10_000, days: Int = 400, bytes: Int? = nil) {
    self.count = count
    self.days = days
    self.bytes = bytes
  }

  /// What a log may take beside the rest of its file: what nobody looks at shall not become the
  /// larger part of it.
  static func bytes(besides rest: Int) -> Int { max(0, rest) / 4 }
}
