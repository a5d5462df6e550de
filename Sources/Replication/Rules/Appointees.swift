/// Who was appointed for which term, by everything that admins and the root have ever signed.
///
/// Versions are not signed, so a writer may send what it likes. But of a term that nobody was
/// appointed for no version counts, and no certificate but by the anchor of its term.
package struct Appointees: Sendable, Equatable {
  /// By term; a nil in it says that from that term on there is no anchor.
  private let nodes: [Term: Identity?]

  package init(_ appointments: [Appointment]) {
    nodes = Dictionary(appointments.map { ($0.term, $0.node) }, uniquingKeysWith: { $1 })
  }

  /// Whether somebody was appointed for a term, or nobody has to be.
  package func knows(_ term: Term) -> Bool { term == .none || nodes[term] != nil }

  /// Whether what a node says of the anchor counts; nil if nobody knows who says it.
  func allow(_ claim: TermClaim, by author: Identity?) -> Bool {
    guard let appointed = nodes[claim.term] else { return false }
    guard let author else { return true }
    return switch claim.part {
    case .edit: true
    case .verdict: author == appointed
    case .office(let node): author.description == node && nodes.values.contains(author)
    }
  }
}

/// What a row says of the anchor.
package struct TermClaim: Sendable, Equatable {
  package enum Part: Sendable, Equatable {
    /// An edit of what an anchor has certified.
    case edit
    /// A certificate, or the word that an edit was rejected: the anchor alone says that.
    case verdict
    /// This node takes the office, or leaves it: it alone says that.
    case office(String)
  }

  package var term: Term
  package var part: Part

  package init(term: Term, part: Part) { (self.term, self.part) = (term, part) }
}

extension WireRow {
  /// Nil for an edit that was made while there was no anchor.
  package var claim: TermClaim? {
    guard let ruling = content.ruling else {
      if version.term == .none { return nil }
      return TermClaim(term: version.term, part: version.certificate == nil ? .edit : .verdict)
    }
    return switch ruling.kind {
    case .rejected: TermClaim(term: version.term, part: .verdict)
    case .tookOffice, .stoodDown: TermClaim(term: version.term, part: .office(ruling.rule))
    }
  }
}
