/// What the anchor has before it: an edit, and what stands.
package struct Claim: Sendable {
  package var edit: Version
  /// What the anchor holds of the row, a deleted version included; nil if it never had the row.
  package var standing: Version?
  /// Whether its author was in live contact with the anchor when it was made and ever since.
  package var isOnline: Bool

  /// The anchor's view; `sessions` are those in which it is in touch with authors now.
  ///
  /// A certificate of an earlier anchor was accepted in contact with that one.
  package init(edit: Version, standing: Version?, in sessions: [UInt64: Origin]) {
    let isInTouch = edit.session != 0 && sessions[edit.session] == edit.dot.origin
    self.init(edit: edit, standing: standing, isOnline: !edit.isTentative || isInTouch)
  }

  package init(edit: Version, standing: Version?, isOnline: Bool) {
    self.edit = edit
    self.standing = standing
    self.isOnline = isOnline
  }

  /// Whether the author had seen what stands.
  package var hasSeenStanding: Bool { standing.map { edit.hasSeen($0) } ?? true }
}

/// Why an edit does not stand.
package enum Reason: UInt8, Sendable, CaseIterable {
  /// What stands was made later.
  case older = 1
  /// It was made without contact to the anchor.
  case offline = 2
  /// Its author had not seen what stands.
  case unseen = 3
  /// The row had been deleted, which its author had not seen.
  case alreadyDeleted = 4
  /// Another row has this key.
  case keyCollision = 5
  /// Its author may not write this.
  case notAllowed = 6
  /// It would break a constraint beside what stands, and be parked.
  case parked = 7

  package var name: String {
    switch self {
    case .older: "older"
    case .offline: "offline"
    case .unseen: "unseen"
    case .alreadyDeleted: "already-deleted"
    case .keyCollision: "key-collision"
    case .notAllowed: "not-allowed"
    case .parked: "parked"
    }
  }

  package init?(name: String) {
    guard let reason = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = reason
  }
}

/// How the anchor judges an edit of a row that it holds. One file each; `MergeRules` lists them.
package protocol MergeRule: Sendable {
  /// As people write it.
  static var name: String { get }
  /// Why the edit does not stand; nil if it does.
  static func objection(to claim: Claim) -> Reason?
}

/// The rules that a table can have.
package enum MergeRules {
  package static let all: [any MergeRule.Type] = [
    NewestWins.self, ServerWins.self, ServerWinsOnConflict.self, ClientWins.self,
  ]

  /// What a table has until somebody says otherwise, and what acts while there is no anchor.
  package static let standard: any MergeRule.Type = NewestWins.self

  package static func named(_ name: String) -> (any MergeRule.Type)? {
    all.first { $0.name == name }
  }

  /// What decides about a table with a rule of that name: without an anchor nobody asks it, and one
  /// of a later version, or of nobody's, is not known.
  package static func acting(for name: String, hasAnchor: Bool) -> any MergeRule.Type {
    hasAnchor ? named(name) ?? standard : standard
  }

  /// The anchor's verdict: why the edit does not stand, or nil.
  ///
  /// What does not depend on the rule comes first: a new row is welcome under a key that is free;
  /// two deletes agree, and so do two edits that say the same. An edit does not bring back what it
  /// did not know to be deleted, and one row does not overwrite another of the same key.
  package static func objection(to claim: Claim, under rule: any MergeRule.Type) -> Reason? {
    guard let standing = claim.standing else { return nil }
    let (edit, isNew) = (claim.edit, claim.edit.created != standing.created)
    if standing.isDeleted {
      if edit.isDeleted || isNew || claim.hasSeenStanding { return nil }
      return .alreadyDeleted
    }
    let isEqual = !edit.isDeleted && edit.hash == standing.hash
    if isNew, !edit.isDeleted, !claim.hasSeenStanding { return isEqual ? nil : .keyCollision }
    let reason = rule.objection(to: claim)
    // Of two that say the same the later time counts.
    return isEqual && reason != .older ? nil : reason
  }
}
