/// Who judges, as one replica knows it.
package struct Office: Sendable, Equatable {
  package enum Part: Sendable, Equatable {
    /// Another node is the anchor, or nobody. Next: waiting, taking.
    case none
    /// This replica is appointed and waits for what its predecessor certified. Next: taking, none.
    case waiting
    /// It certifies what it holds before it judges. Next: judging, none.
    case taking
    /// It is the anchor. Next: none.
    case judging
  }

  /// The highest term that was heard of.
  package var term = Term.none
  /// Whether somebody is the anchor of it.
  package var isHeld = false
  package var part = Part.none

  package init(term: Term = .none, isHeld: Bool = false, part: Part = .none) {
    self.term = term
    self.isHeld = isHeld
    self.part = part
  }

  /// Whether this replica is the anchor of a term: what was judged in it nobody else can tell.
  package func judges(in term: Term?) -> Bool { certifies && self.term == term }

  /// Whether what is written here is certified at once, and what comes is judged here.
  package var certifies: Bool { part == .taking || part == .judging }
}

/// An appointment, as the members have signed it.
package struct Appointment: Sendable, Equatable {
  package var term: Term
  /// Nil if from now on there is no anchor.
  package var node: Identity?
  /// Whether it takes office without waiting for its predecessor.
  package var isForced: Bool

  package init(term: Term, node: Identity?, isForced: Bool) {
    self.term = term
    self.node = node
    self.isForced = isForced
  }
}

extension Office {
  /// What an appointment makes of one node.
  ///
  /// The first anchor of a site begins to judge at once, and no rank changes. Every later one first
  /// waits for its predecessors, if it has to, and certifies what it holds.
  package init(following governance: Governance) {
    self.init(term: governance.term, isHeld: governance.isHeld)
    if governance.isOwn { part = governance.isFirst ? .judging : .waiting }
  }

  /// Who does not have what the site has yet takes office when it has: it could certify what was
  /// deleted meanwhile.
  package mutating func postpone() {
    if certifies { part = .waiting }
  }

  /// Whether who takes office certifies this version, which stands.
  ///
  /// What is only tentative could be lost elsewhere unnoticed. After a forced take-over,
  /// certificates of rival terms may outrank each other in ways that nobody has judged.
  package func mustCertify(_ version: Version, isForced: Bool) -> Bool {
    version.isTentative || isForced && version.term < term
  }
}

/// Epochs count the certificates of a term.
package enum Epoch {
  /// The next one of a replica that has given `own` at last: they never go back, whoever gave those
  /// of the versions that this certificate outranks. Those that nobody can reach do not count.
  package static func next(after own: UInt64, over versions: [Version?]) -> UInt64 {
    let given = versions.compactMap { $0?.epoch } + [own]
    return (given.filter { $0 < latest }.max() ?? 0) + 1
  }
}

extension Governance.Predecessor {
  /// Whether this ruling says that it has stood down, since it was last appointed.
  package func isRelieved(by ruling: Ruling, _ version: Version) -> Bool {
    ruling.kind == .stoodDown && ruling.rule == node.description && version.term > term
  }
}
