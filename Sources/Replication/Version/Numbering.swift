/// When a row was made, and by which edit: which of two rows that got one number keeps it.
package struct Creation: Sendable, Hashable, Comparable {
  package var at: Stamp
  package var dot: Dot

  package init(at: Stamp, dot: Dot) {
    self.at = at
    self.dot = dot
  }

  package static func < (left: Creation, right: Creation) -> Bool {
    (left.at, left.dot) < (right.at, right.dot)
  }
}

/// A key that a row had before it was made again under a fresh one.
package struct FormerKey: Sendable, Hashable {
  package var key: Key
  /// The edit that made the row under that key.
  package var created: Dot
  /// The edit whose content was taken along.
  package var edit: Dot

  package init(key: Key, created: Dot, edit: Dot) {
    self.key = key
    self.created = created
    self.edit = edit
  }
}

/// A row to which another one refers.
package struct ParentRow: Sendable, Hashable {
  /// By which column: a hash of it and of the table to which it refers.
  package var link: UInt32
  /// When the row was made that stood under the number, and by which edit.
  package var made: Creation

  package init(link: UInt32, made: Creation) {
    self.link = link
    self.made = made
  }

  package var row: Dot { made.dot }

  /// Whether it is that row which stands under a key now, or the same made again under it. One
  /// that got the number later is another row.
  package func isMet(by standing: Version, under key: Key) -> Bool {
    // Versions of before name no time, and may mean any row.
    guard standing.turn != nil, made.at != .zero else { return true }
    return standing.created == row
      || standing.numbering.former.contains { $0.key == key && $0.created == row }
  }
}

/// What a version says of a row whose key is a number that two machines may give to two rows. It
/// also names the rows of such keys that it refers to (docs/keys.md).
package struct Numbering: Sendable, Hashable {
  /// Of each list that a version carries, at most.
  package static let mostElders = 8
  package static let mostParents = 64
  package static let mostFormer = 16
  /// The longest key that is named as a former one, in bytes.
  package static let longestKey = 1_024

  /// The stamp of what was under the key before the row was made, zero if nothing was; nil if the
  /// key is none of that kind. A later row under a key outranks those before it.
  package var turn: Stamp?
  /// Of a row whose key holds that of another: when that one was made, for each column in order.
  package var elders: [Creation] = []
  /// Which rows stood under the keys that it refers to when it was written.
  package var parents: [ParentRow] = []
  /// The keys that the row had before, the latest last.
  package var former: [FormerKey] = []

  package static let none = Numbering()

  package init() {}

  package var isEmpty: Bool {
    turn == nil && elders.isEmpty && parents.isEmpty && former.isEmpty
  }
}

extension Version {
  /// As an edit that makes the row anew, under the same key and after all that it was before.
  package func recreated(over old: Version) -> Version {
    var version = self
    (version.created, version.createdAt) = (dot, stamp)
    if numbering.turn != nil || old.turn != nil { version.numbering.turn = Self.turn(after: old) }
    return version
  }

  /// The turn as it counts: nothing was under a key before a row later than the row itself.
  package var turn: Stamp? { numbering.turn.map { min($0, stamp) } }

  /// The turn of a row that is made where that was: later, whatever that one claims.
  static func turn(after old: Version) -> Stamp {
    max(old.stamp, old.turn?.successor ?? .zero)
  }

  /// The keys that the row had before it is made anew, this one among them: it is another row then
  /// to those that refer to it.
  package func formerKeys(leaving key: Key) -> [FormerKey] {
    guard numbering.turn != nil, key.bytes.count <= Numbering.longestKey else {
      return numbering.former
    }
    return numbering.former + [FormerKey(key: key, created: created, edit: edit)]
  }

  /// Whether the number of the row is certified: it keeps it.
  package var hasFixedNumber: Bool {
    numbering.turn != nil && numbering.elders.isEmpty && !isTentative && !isDeleted
  }

  /// By which of two rows under one key the one that keeps it is chosen: the earlier one in order.
  package var seniority: [Creation] {
    guard numbering.turn != nil else { return [] }
    return numbering.elders.isEmpty
      ? [Creation(at: createdAt, dot: created)] : numbering.elders
  }

  /// Whether that is another row, which got the same key, and has to leave it to this one.
  ///
  /// Equal content is no collision, unless the two refer to different rows. Nor is what the author
  /// of this one knew: it has deleted that, or written over it.
  package func collides(with loser: Version) -> Bool {
    guard isAnother(than: loser), !loser.isDeleted, !hasSeen(loser.created) else { return false }
    return hash != loser.hash || !refersTo(all: loser.numbering.parents)
  }

  /// Whether two rows of a number of their own have one key.
  package func isAnother(than other: Version) -> Bool {
    numbering.turn != nil && other.numbering.turn != nil && seniority != other.seniority
  }

  /// Whether two machines have made the same row under the same number.
  package func isTwin(of other: Version) -> Bool {
    numbering.turn != nil && other.numbering.turn != nil && created != other.created
      && !isDeleted && saysTheSame(as: other)
  }

  /// Whether that is the delete of another row, which had got the same key: this one takes nothing
  /// from it.
  package func isApart(from gone: Version) -> Bool {
    isAnother(than: gone) && gone.isDeleted && !hasSeen(gone.created)
  }

  private func refersTo(all parents: [ParentRow]) -> Bool {
    parents.allSatisfy { numbering.parents.contains($0) }
  }
}

/// What is known of the keys of a row that is written.
package struct KeyNote: Sendable {
  /// Whether its key is a number that may be given twice, or holds one.
  package var isNumbered = false
  package var elders: [Creation] = []
  /// Nil if nobody has looked: an edit refers to what it referred to before.
  package var parents: [ParentRow]?
  package var former: [FormerKey] = []

  package static let none = KeyNote()

  package init() {}

  /// What an edit says of it that is made again under the same key.
  package init(of edit: Version, _ key: Key) {
    isNumbered = edit.numbering.turn != nil
    elders = edit.numbering.elders
    parents = edit.numbering.parents
    former = edit.formerKeys(leaving: key)
  }
}
