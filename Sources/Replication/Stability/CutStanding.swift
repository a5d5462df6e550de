/// How far a replica has come with the cuts of its site, as its peers are told.
package struct CutStanding: Sendable, Equatable {
  /// The last cut that it had all of, deleted versions included.
  package var whole = Mark.none
  /// The last cut at which deleted versions were collected by it, or to which it has fetched
  /// everything anew.
  package var cleared = Mark.none
  /// It has been away for too long, and is being given everything anew.
  package var isRenewing = false

  package init(whole: Mark = .none, cleared: Mark = .none, isRenewing: Bool = false) {
    self.whole = whole
    self.cleared = cleared
    self.isRenewing = isRenewing
  }

  /// Deleted versions may have been collected that it never had: rows may stand here alone that
  /// were deleted everywhere.
  package var isBehind: Bool { isRenewing || whole < cleared }

  /// Whether this one lacks what the other has collected, and the other lacks nothing.
  package func isBehind(_ other: CutStanding) -> Bool { !other.isBehind && whole < other.cleared }
}
