/// How one version of a row follows another.
extension Version {
  /// The edit of a row that comes next here, over what stands and over the author's own earlier
  /// edit of the row that waits for the anchor; of a row that nobody knows, above the floor.
  ///
  /// What stands but is not in its table was not seen: the edit ranks above it, and knows what that
  /// one was made on alone. It is of the same row if `isSameRow`: its author knew that row, though
  /// not what stands of it.
  package static func edit(
    _ dot: Dot, over old: Version?, isSeen: Bool = true, isSameRow: Bool = false,
    pending: Version? = nil, again: Version? = nil, above floor: Floor? = nil,
    keys: KeyNote = .none, stamp: Stamp, hash: UInt64, isDeleted: Bool
  ) -> Version {
    let isNew = isNew(over: old, isSeen: isSeen) && !(isSameRow && old != nil)
    var said = Particulars()
    if let old { (said.term, said.epoch) = old.base }
    if let pending {
      said.context.add(seenBy: pending, isSeen: true, isNew: isNew, without: dot.origin)
    }
    if let old { said.context.add(seenBy: old, isSeen: isSeen, isNew: isNew, without: dot.origin) }
    // Something may have been written over it in the moment when it was made again.
    if let again, again.edit.origin == dot.origin, again.hash == hash,
      again.isDeleted == isDeleted
    {
      said.context.add(again.first)
    }
    said.numbering = numbering(keys, over: old, isNew: isNew, above: floor)
    if isDeleted { said.numbering.parents = [] }
    let version = Version(
      dot: dot, created: isNew ? dot : old?.created ?? dot,
      createdAt: isNew ? stamp : old?.createdAt, stamp: stamp, hash: hash, isDeleted: isDeleted,
      particulars: said)
    return old == nil ? version.raised(above: floor) : version
  }

  /// Whether an edit over what stands makes another row under the key.
  package static func isNew(over old: Version?, isSeen: Bool = true) -> Bool {
    old.map {
      $0.isDeleted || !isSeen && ($0.created == $0.edit || $0.numbering.turn != nil)
    } ?? true
  }

  /// A new row has its turn under its key, and no former one; an edit goes on with those of the
  /// row. What it refers to is said anew, or as before if nobody has looked.
  private static func numbering(
    _ keys: KeyNote, over old: Version?, isNew: Bool, above floor: Floor?
  ) -> Numbering {
    var numbering = isNew ? .none : old?.numbering ?? .none
    if isNew, keys.isNumbered || old?.turn != nil {
      // Where the anchor said that nothing stands the number was not in use.
      let isUsed = old.map { !$0.isDeleted || $0.created != $0.edit } ?? false
      let before = isUsed ? old.map { Self.turn(after: $0) } : old?.turn?.successor
      numbering.turn = max(before ?? .zero, old == nil ? floor?.stamp ?? .zero : .zero)
      numbering.elders = Array(keys.elders.prefix(Numbering.mostElders))
    }
    if isNew, !keys.former.isEmpty {
      numbering.former = Array(keys.former.suffix(Numbering.mostFormer))
    }
    if let parents = keys.parents {
      numbering.parents = Array(parents.prefix(Numbering.mostParents))
    }
    return numbering
  }

  /// Whether both have the same content, or are both deleted.
  package func saysTheSame(as other: Version) -> Bool {
    hash == other.hash && isDeleted == other.isDeleted
  }

  /// The same version as one that stands for another of equal content, too: what was made before
  /// either is history of it, and the later time counts.
  package func joined(with other: Version?) -> Version {
    guard let other, saysTheSame(as: other) else { return self }
    var version = self
    if other.isPossible { version.stamp = max(stamp, other.stamp) }
    for dot in other.context.dots + [other.edit] where dot.origin != edit.origin {
      version.context.add(dot)
    }
    return version
  }

  /// Whether this edit was written over by what stands, or by what that was made on.
  package func isHistory(of standing: Version) -> Bool {
    standing.edit != edit && standing.rank > rank && standing.hasSeen(self)
  }

  /// The anchor's word that nothing stands under a key: a delete of its own, which an edit that it
  /// does not accept has not seen.
  package static func nothing(_ dot: Dot, instead edit: Version) -> Version {
    var version = Version(dot: dot, created: dot, stamp: edit.stamp, hash: 0, isDeleted: true)
    if edit.isPossible { (version.term, version.epoch) = (edit.term, edit.epoch) }
    return version
  }

  /// The anchor's word that this is what stands.
  package func certified(_ dot: Dot, term: Term, epoch: UInt64, at moment: Stamp) -> Version {
    var version = self
    version.dot = dot
    var said = particulars
    (said.term, said.epoch, said.session) = (term, epoch, 0)
    said.certificate = Certificate(edit: edit, at: certificate?.at ?? moment)
    version.particulars = said
    // An edit whose stamp cannot be ranks below all others; what the anchor says of it does not.
    version.stamp = min(stamp, .latest)
    return version
  }
}

extension RowContext {
  /// Takes in the edits that an author knows who has seen a version, or only what that was made on.
  /// Those of `origin` are left out.
  ///
  /// If only the latter: of whoever made the version he knows all that was before it. So it is with
  /// the authors of what the version only shows. Of another row he knows nothing.
  fileprivate mutating func add(
    seenBy version: Version, isSeen: Bool, isNew: Bool, without origin: Origin
  ) {
    let all = version.context.dots
    if isSeen {
      for dot in all where dot.origin != origin { add(dot) }
      if version.edit.origin != origin { add(version.edit) }
      return
    }
    let shown = [version.image, isNew ? version.created : nil].compactMap(\.self)
    let unseen = [version.first] + shown
    for dot in all + [version.edit] where dot.origin != origin {
      let before = unseen.filter { $0.origin == dot.origin }.map { $0.seq - 1 }
      let seq = min(dot.seq, before.min() ?? dot.seq)
      if seq > 0 { add(Dot(dot.origin, seq)) }
    }
  }
}
