/// Who was appointed for which term, by everything that admins and the root have ever signed.
///
/// Versions are not signed, so a writer may send what it likes. But of a term that nobody was
/// appointed for no version counts, and no certificate but by the anchor of its term.
package struct Appointees: Sendable, Equatable {
  /// By term; a nil in it says that from that term on there is no anchor.
  private let nodes: [Term: Identity?]
  /// The highest number of a term that counts at present; 0 if there is none.
  package let highest: UInt64

  package init(_ appointments: [Appointment], highest: UInt64? = nil) {
    nodes = Dictionary(appointments.map { ($0.term, $0.node) }, uniquingKeysWith: { $1 })
    self.highest = highest ?? appointments.map(\.term.number).max() ?? 0
  }

  /// Whether a term counts in what a node says; nil if nobody knows whose it is.
  func allow(_ claim: TermClaim, by node: Identity?) -> Bool {
    guard let appointed = nodes[claim.term] else { return false }
    return !claim.isCertificate || node == nil || node == appointed
  }
}

/// What a version says of the anchor.
package struct TermClaim: Sendable, Equatable {
  package var term: Term
  package var isCertificate: Bool

  package init(term: Term, isCertificate: Bool) {
    (self.term, self.isCertificate) = (term, isCertificate)
  }
}

extension Version {
  /// Nil for an edit that was made while there was no anchor.
  package var claim: TermClaim? {
    term == .none ? nil : TermClaim(term: term, isCertificate: certificate != nil)
  }
}
