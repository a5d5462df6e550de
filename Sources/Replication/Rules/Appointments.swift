/// An appointment as it concerns one node.
package struct Governance: Sendable, Equatable {
  package var term: Term
  /// Whether it appoints anybody.
  package var isHeld: Bool
  /// Whether it appoints this node.
  package var isOwn: Bool
  /// Whether this node was appointed before.
  package var wasAppointed: Bool
  /// Whether nobody was ever appointed before.
  package var isFirst: Bool
  /// Whether it does not wait for its predecessors.
  package var isForced: Bool
  /// Whether rows of lower terms are certified again.
  package var certifiesAll: Bool
  /// The last terms of those who must stand down before this node takes office.
  package var awaited: [Predecessor]
  /// The last term before this one in which nobody was appointed.
  package var vacancy: Term?

  /// The same, without waiting for predecessors that are gone: what only they certified is lost, so
  /// that the rest is certified again.
  package func without(_ isGone: (Identity) -> Bool) -> Governance {
    guard awaited.contains(where: { isGone($0.node) }) else { return self }
    var governance = self
    governance.awaited.removeAll { isGone($0.node) }
    governance.certifiesAll = true
    return governance
  }

  /// Whether this node waits to take the office that this is about.
  package func isWaiting(in office: Office) -> Bool {
    term == office.term && isOwn && !isForced && office.part == .waiting
  }

  /// Somebody who was appointed before.
  package struct Predecessor: Sendable, Equatable {
    package var node: Identity
    /// It must have stood down for a later one.
    package var term: Term

    package init(node: Identity, term: Term) {
      self.node = node
      self.term = term
    }
  }

  package init(
    term: Term, isHeld: Bool, isOwn: Bool, wasAppointed: Bool = false, isFirst: Bool = false,
    isForced: Bool = false, awaited: [Predecessor] = [], vacancy: Term? = nil
  ) {
    self.term = term
    self.isHeld = isHeld
    self.isOwn = isOwn
    self.wasAppointed = wasAppointed
    self.isFirst = isFirst
    self.isForced = isForced
    self.certifiesAll = isForced
    self.awaited = awaited
    self.vacancy = vacancy
  }
}

/// What a set of appointments means to one node.
package enum Appointments {
  /// The highest term counts; nil as long as nobody was ever appointed.
  ///
  /// Who takes office in order waits for all that were appointed since somebody took it by force:
  /// each of them may have certified, or have waited in its turn.
  package static func governance(
    of appointments: [Appointment], for node: Identity
  ) -> Governance? {
    let inOrder = appointments.sorted { $0.term < $1.term }
    guard let last = inOrder.last else { return nil }
    let earlier = inOrder.dropLast()
    let start = earlier.lastIndex(where: \.isForced) ?? earlier.startIndex
    var awaited: [Identity: Term] = [:]
    for appointment in earlier[start...] where appointment.node != node {
      if let node = appointment.node { awaited[node] = appointment.term }
    }
    return Governance(
      term: last.term, isHeld: last.node != nil, isOwn: last.node == node,
      wasAppointed: earlier.contains { $0.node == node },
      isFirst: !earlier.contains { $0.node != nil }, isForced: last.isForced,
      awaited: awaited.sorted { $0.key < $1.key }.map {
        Governance.Predecessor(node: $0.key, term: $0.value)
      }, vacancy: earlier.last { $0.node == nil }?.term)
  }
}
