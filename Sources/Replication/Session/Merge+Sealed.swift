/// What is left of an exchange without what nobody has signed.
///
/// To leave it out is no loss: an edit that somebody made comes with the word of who made it, and
/// the word of an anchor with its appointment.
extension Merge {
  /// By what the replica knows in the moment in which it merges: the session may be behind.
  package func sealed(
    knowing book: ReachBook, own: Origin, frontier: Frontier
  ) -> Merge {
    guard let sent = sealed else { return self }
    var sealed = Sealed(
      book.furthest, book.news(of: reaches), own: own, last: frontier[own], held: frontier,
      exempt: sent.exempt)
    (sealed.node, sealed.appointees) = (sent.node, sent.appointees)
    var merge = self
    merge.sealed = sealed
    return merge
  }

  /// Whether a version is of an edit that its author has not signed for, or of a term that was not
  /// given to its author.
  package func isUnsigned(_ version: Version) -> Bool {
    sealed.map { !$0.holds(version.dot) || !$0.allows(version) } ?? false
  }

  /// Leaves out a version that is not signed for; gives whether it does.
  ///
  /// Nothing of that origin is covered then, neither by this step nor by those that follow.
  package mutating func leavesOut(_ version: Version) -> Bool {
    guard isUnsigned(version) else { return false }
    let claim = sealed.flatMap { $0.allows(version) ? nil : version.claim }
    leaveOut([version.dot.origin: Omission(from: version.dot.seq, for: claim)])
    return true
  }

  package mutating func leaveOut(_ origins: [Origin: Omission]) { leftOut.join(origins) }
}
