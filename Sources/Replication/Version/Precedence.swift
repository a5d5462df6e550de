/// Which of several rows that claim one unique value stands: the first one in this order.
///
/// Certified before tentative, then who was created first: a duplicate that somebody enters must
/// not make the row vanish to which others refer. A row that a file brought along when its machine
/// joined comes last, for the same reason.
package struct Precedence: Sendable, Equatable, Comparable {
  private let isTentative: Bool
  private let isFromBefore: Bool
  private let createdAt: Stamp
  private let created: Dot
  private let key: Key

  package init(_ version: Version, _ key: Key) {
    self.isTentative = version.isTentative
    self.isFromBefore = version.createdAt <= .beforeSite
    self.createdAt = version.createdAt
    self.created = version.created
    self.key = key
  }

  package static func < (left: Precedence, right: Precedence) -> Bool {
    if left.isTentative != right.isTentative { return right.isTentative }
    if left.isFromBefore != right.isFromBefore { return right.isFromBefore }
    return (left.createdAt, left.created, left.key) < (right.createdAt, right.created, right.key)
  }
}
