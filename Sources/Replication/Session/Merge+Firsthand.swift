/// Of some origins a node knows for itself how far they have come: its own, and those that a peer
/// in touch has begun while its present process ran. No older file can have written under those,
/// and the author itself tells how far it is.
extension Merge {
  /// Without what others say beyond that.
  ///
  /// It is no loss if it is true, and on its way from its author: what is not covered comes again.
  package func believing(_ firsthand: [Origin: UInt64]) -> Merge {
    guard !firsthand.isEmpty else { return self }
    var merge = self
    merge.firsthand = firsthand
    if case .full(let covers) = kind {
      merge.kind = .full(covers: covers.limited(to: firsthand))
    }
    return merge
  }

  /// Whether a version is of an edit that its author has not told of yet.
  package func isHearsay(_ version: Version) -> Bool {
    guard !firsthand.isEmpty, let seq = firsthand[version.dot.origin] else { return false }
    return version.dot.seq > seq
  }
}

extension Frontier {
  /// No more of these origins than that.
  func limited(to most: [Origin: UInt64]) -> Frontier {
    var limited = self
    for (origin, seq) in most where self[origin] > seq {
      limited = limited.without(origin)
      limited.raise(origin, to: seq)
    }
    return limited
  }
}
