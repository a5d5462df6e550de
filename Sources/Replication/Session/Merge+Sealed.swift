/// What is left of an exchange without what nobody has signed.
///
/// To leave it out is no loss: an edit that somebody made comes with the word of who made it, and
/// the word of an anchor with its appointment.
extension Merge {
  /// By what the replica knows in the moment in which it merges: the session may be behind.
  package func sealed(
    knowing book: ReachBook, own: Origin, frontier: Frontier
  ) -> Merge {
    guard var sealed else { return self }
    (sealed.reaches, sealed.news) = (book.furthest, book.news(of: reaches))
    (sealed.own, sealed.last, sealed.held) = (own, frontier[own], frontier)
    var merge = self
    merge.sealed = sealed
    return merge
  }

  /// Whether a row is of an edit that its author has not signed for, or says of the anchor what its
  /// author was not appointed to say.
  package func isUnsigned(_ row: WireRow) -> Bool {
    sealed.map { !$0.holds(row.version.dot) || !$0.allows(row) } ?? false
  }

  /// Whether a word of an anchor comes under a number of which all is here.
  ///
  /// It was heard before, or the anchor has said something else, and somebody makes this up.
  package func isStale(_ row: WireRow) -> Bool {
    guard row.content.ruling != nil, let sealed else { return false }
    return sealed.held.covers(row.version.dot)
  }

  /// Leaves out a row that is not signed for; gives whether it does.
  ///
  /// Nothing of that origin is covered then, neither by this step nor by those that follow. What is
  /// stale is left out without another word.
  package mutating func leavesOut(_ row: WireRow) -> Bool {
    if isStale(row) { return true }
    guard isUnsigned(row) else { return false }
    let claim = sealed.flatMap { $0.allows(row) ? nil : row.claim }
    leaveOut([row.version.dot.origin: Omission(from: row.version.dot.seq, for: claim)])
    return true
  }

  package mutating func leaveOut(_ origins: [Origin: Omission]) { leftOut.join(origins) }
}
