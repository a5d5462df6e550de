import Replication

/// Told after each commit with edits of this replica, before they can be sent.
package protocol Ledger: AnyObject {
  func note(_ mark: LifeMark)
}

/// Why this replica took its present origin, as people are told.
package struct LifeStory: Sendable, Equatable {
  package var doubt: Doubt
  /// When, in ms since 1970.
  package var at: Int64
  /// Edits that were given new dots.
  package var reissued: Int
  /// A member has met this node since, and no other copy of it.
  package var isMet = false

  /// Whether the members may know another copy of the file as this node.
  package var isPerhapsOfCopy: Bool { tellsOfCopies && !isMet }

  var tellsOfCopies: Bool { doubt == .twin || doubt == .moved }

  init(doubt: Doubt, at: Int64, reissued: Int) {
    (self.doubt, self.at, self.reissued) = (doubt, at, reissued)
  }

  init?(text: String) {
    let parts = text.split(separator: " ")
    guard parts.count >= 3, let doubt = Doubt(rawValue: String(parts[0])),
      let at = Int64(parts[1]), let reissued = Int(parts[2])
    else { return nil }
    self.init(doubt: doubt, at: at, reissued: reissued)
    isMet = parts.count > 3 && parts[3] == "met"
  }

  var text: String { "\(doubt.rawValue) \(at) \(reissued)\(isMet ? " met" : "")" }
}
