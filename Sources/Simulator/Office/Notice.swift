import Replication

/// An appointment as the simulated nodes pass it on: as the signed statement of the product, but
/// with nothing signed, for what a signature is worth is not asked here.
enum Notice {
  static func statement(_ appointment: Appointment) -> SignedStatement {
    // The incarnation is part of the name of a real statement.
    let name = Identity(high: appointment.term.incarnation, low: 0)
    let kind = SiteStatement.Kind.appoint(
      number: appointment.term.number, node: appointment.node, isForced: appointment.isForced)
    return SignedStatement(
      SiteStatement(
        site: Templates.site, issuer: name, previous: name,
        time: SimulatedClock.start, kind: kind),
      signature: Array(repeating: 0, count: SignedStatement.signatureLength))
  }

  static func appointment(_ statement: SignedStatement) -> Appointment? {
    guard case .appoint(let number, let node, let isForced) = statement.statement.kind else {
      return nil
    }
    let term = Term(number: number, incarnation: statement.statement.issuer.high)
    return Appointment(term: term, node: node, isForced: isForced)
  }
}
