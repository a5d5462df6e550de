/// What is left of an exchange without what nobody has signed.
///
/// To leave it out is no loss: an edit that somebody made comes with the word of who made it.
extension Merge {
  /// By what the replica knows in the moment in which it merges: the session may be behind.
  package func sealed(
    knowing book: ReachBook, own: Origin, frontier: Frontier
  ) -> Merge {
    guard let exempt = sealed.map(\.exempt) else { return self }
    let sealed = Sealed(
      book.furthest, book.news(of: reaches), own: own, last: frontier[own], held: frontier,
      exempt: exempt)
    var merge = self
    merge.sealed = sealed
    return merge
  }

  /// Whether a version is of an edit that its author has not signed for.
  package func isUnsigned(_ version: Version) -> Bool {
    sealed.map { !$0.holds(version.dot) } ?? false
  }

  /// Leaves out a version of an edit that its author has not signed for; gives whether it does.
  ///
  /// Nothing of that origin is covered then, neither by this step nor by those that follow.
  package mutating func leavesOut(_ version: Version) -> Bool {
    guard isUnsigned(version) else { return false }
    leaveOut([version.dot.origin: version.dot.seq])
    return true
  }

  package mutating func leaveOut(_ origins: [Origin: UInt64]) {
    leftOut.merge(origins, uniquingKeysWith: min)
  }
}
