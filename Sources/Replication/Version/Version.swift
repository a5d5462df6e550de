/// The newest known state of one row, without its values.
package struct Version: Sendable, Equatable {
  /// What makes a version a certificate: the anchor's word on an edit.
  package struct Certificate: Sendable, Hashable {
    /// The edit whose content it carries.
    package var edit: Dot
    /// When the anchor accepted that edit, by its clock.
    package var at: Stamp

    package init(edit: Dot, at: Stamp) {
      self.edit = edit
      self.at = at
    }
  }

  private struct Parts: Sendable {
    var dot: Dot
    var created: Dot
    var createdAt: Stamp
    var stamp: Stamp
    var hash: UInt64
    var isDeleted: Bool
    /// Nil if they say nothing.
    var box: ParticularsBox?
  }

  private final class Fields: Sendable {
    let parts: Parts

    init(_ parts: Parts) { self.parts = parts }
  }

  /// What it consists of lies apart, so that a copy is of one word: a version is handed on and
  /// looked at often, and seldom changed.
  private var fields: Fields

  private var parts: Parts {
    get { fields.parts }
    set { fields = Fields(newValue) }
  }

  package init(
    dot: Dot, created: Dot, createdAt: Stamp? = nil, stamp: Stamp, hash: UInt64, isDeleted: Bool,
    particulars: Particulars? = nil
  ) {
    fields = Fields(
      Parts(
        dot: dot, created: created, createdAt: createdAt ?? stamp, stamp: stamp, hash: hash,
        isDeleted: isDeleted, box: particulars.flatMap(ParticularsBox.box)))
  }

  /// Names this version.
  package var dot: Dot {
    get { fields.parts.dot }
    set { parts.dot = newValue }
  }

  /// The edit that first made the row under this key; later ones inherit it.
  package var created: Dot {
    get { fields.parts.created }
    set { parts.created = newValue }
  }

  /// When that was.
  package var createdAt: Stamp {
    get { fields.parts.createdAt }
    set { parts.createdAt = newValue }
  }

  /// When the edit was made; a certificate keeps that of its edit.
  package var stamp: Stamp {
    get { fields.parts.stamp }
    set { parts.stamp = newValue }
  }

  /// Hash of the content; 0 if deleted.
  package var hash: UInt64 {
    get { fields.parts.hash }
    set { parts.hash = newValue }
  }

  package var isDeleted: Bool {
    get { fields.parts.isDeleted }
    set { parts.isDeleted = newValue }
  }

  fileprivate var box: ParticularsBox? {
    get { fields.parts.box }
    set { parts.box = newValue }
  }

  package static func == (left: Version, right: Version) -> Bool {
    left.fields === right.fields
      || left.dot == right.dot && left.created == right.created
        && left.createdAt == right.createdAt && left.stamp == right.stamp
        && left.hash == right.hash && left.isDeleted == right.isDeleted
        && (left.box === right.box || left.particulars == right.particulars)
  }

  package var isTentative: Bool { certificate == nil }

  /// The edit whose content this is.
  package var edit: Dot { certificate?.edit ?? dot }

  /// Whether the author of this knew that edit of the row, or this is that edit.
  package func hasSeen(_ edit: Dot) -> Bool {
    self.edit.origin == edit.origin && self.edit.seq >= edit.seq || context.covers(edit)
  }

  /// The number under which its author made this edit first. Where it had to make it again, all
  /// numbers of its own for the row from there on are one edit: that is what its own origin in the
  /// context says.
  package var first: Dot { context.dots.first { $0.origin == edit.origin } ?? edit }

  /// Whether the author of this knew what another version says, whichever number that has.
  package func hasSeen(_ other: Version) -> Bool {
    hasSeen(other.first) || other.image.map { hasSeen($0) } ?? false
  }

  /// One that cannot be ranks below all others.
  package var rank: Rank {
    guard isPossible else {
      return Rank(stamp: .zero, origin: dot.origin, content: hash, seq: dot.seq)
    }
    return Rank(
      term: term, epoch: epoch, isTentative: isTentative, turn: turn,
      seniority: seniority, stamp: stamp, origin: dot.origin, content: hash, seq: dot.seq)
  }
}

/// What most versions say nothing of. It lies apart, for a version is copied often.
extension Version {
  package struct Particulars: Sendable, Equatable {
    /// Of a certificate its own, of an edit those of the version that it was made on.
    package var term = Term.none
    package var epoch: UInt64 = 0
    /// Nil while no anchor has judged the edit.
    package var certificate: Certificate?
    /// The edits of other origins that this one descends from; of its own, see `first`.
    package var context = RowContext.empty
    /// The session with the anchor in which the edit was made; 0 if there was none.
    package var session: UInt64 = 0
    /// Nothing tells when the edit was made: the stamp is the earliest that it can have been.
    package var isUndated = false
    /// The edit of another shape of key whose content this is, made anew by a migration: who knows
    /// that one knows what this says.
    package var image: Dot?
    /// A reference of the row led nowhere in the file of its author, who has foreign keys off: it
    /// stands without its parent everywhere.
    package var isDangling = false
    /// What it says of keys that may be given twice.
    package var numbering = Numbering.none

    static let none = Particulars()
  }

  fileprivate final class ParticularsBox: Sendable {
    let particulars: Particulars

    private init(_ particulars: Particulars) { self.particulars = particulars }

    static func box(_ particulars: Particulars) -> ParticularsBox? {
      particulars == .none ? nil : ParticularsBox(particulars)
    }
  }

  package var hasParticulars: Bool { box != nil }

  /// All of them: who changes several does so at once.
  package var particulars: Particulars {
    get { box?.particulars ?? .none }
    set { box = ParticularsBox.box(newValue) }
  }

  package var term: Term {
    get { box?.particulars.term ?? .none }
    set { if newValue != term { particulars.term = newValue } }
  }

  package var epoch: UInt64 {
    get { box?.particulars.epoch ?? 0 }
    set { if newValue != epoch { particulars.epoch = newValue } }
  }

  package var certificate: Certificate? {
    get { box?.particulars.certificate }
    set { if newValue != certificate { particulars.certificate = newValue } }
  }

  package var context: RowContext {
    get { box?.particulars.context ?? .empty }
    set { if newValue != context { particulars.context = newValue } }
  }

  package var session: UInt64 {
    get { box?.particulars.session ?? 0 }
    set { if newValue != session { particulars.session = newValue } }
  }

  package var isUndated: Bool {
    get { box?.particulars.isUndated ?? false }
    set { if newValue != isUndated { particulars.isUndated = newValue } }
  }

  package var image: Dot? {
    get { box?.particulars.image }
    set { if newValue != image { particulars.image = newValue } }
  }

  package var isDangling: Bool {
    get { box?.particulars.isDangling ?? false }
    set { if newValue != isDangling { particulars.isDangling = newValue } }
  }

  /// Whether it says anything of keys that may be given twice.
  package var hasNumbering: Bool { box.map { !$0.particulars.numbering.isEmpty } ?? false }

  package var numbering: Numbering {
    get { box?.particulars.numbering ?? .none }
    set { if newValue != numbering { particulars.numbering = newValue } }
  }
}

/// What decides between two versions of a row; the higher one stands.
///
/// A tentative edit ranks just above the certificate that it was made on and below the anchor's
/// next word. Of two rows that got one number the one that was made first goes before the other,
/// whatever was written in them since. `content` and `seq` only matter if a copied replica has
/// produced one (stamp, origin)
/// twice, with other content or another number.
package struct Rank: Sendable, Hashable, Comparable {
  package let term: Term
  package let epoch: UInt64
  package let isTentative: Bool
  /// Nil unless the key is a number that may be given twice; then a later turn goes first.
  package let turn: Stamp?
  /// Of one turn the earlier one goes first.
  package let seniority: [Creation]
  package let stamp: Stamp
  package let origin: Origin
  package let content: UInt64
  package let seq: UInt64

  package init(
    term: Term = .none, epoch: UInt64 = 0, isTentative: Bool = true, turn: Stamp? = nil,
    seniority: [Creation] = [], stamp: Stamp, origin: Origin, content: UInt64, seq: UInt64 = 0
  ) {
    self.term = term
    self.epoch = epoch
    self.isTentative = isTentative
    self.turn = turn
    self.seniority = seniority
    self.stamp = stamp
    self.origin = origin
    self.content = content
    self.seq = seq
  }

  package static func < (left: Rank, right: Rank) -> Bool {
    if left.term != right.term { return left.term < right.term }
    if left.epoch != right.epoch { return left.epoch < right.epoch }
    if left.isTentative != right.isTentative { return right.isTentative }
    if left.turn != right.turn {
      guard let (first, second) = both(left.turn, right.turn) else { return left.turn == nil }
      return first < second
    }
    if left.seniority != right.seniority {
      return right.seniority.lexicographicallyPrecedes(left.seniority)
    }
    return (left.stamp, left.origin, left.content, left.seq)
      < (right.stamp, right.origin, right.content, right.seq)
  }

  private static func both(_ left: Stamp?, _ right: Stamp?) -> (Stamp, Stamp)? {
    guard let left, let right else { return nil }
    return (left, right)
  }
}
