/// What nobody has signed for when it comes is left out. The receiver alone can tell: which keys it
/// knows, which reaches and appointments, and what it has heard to be exempt.
///
/// So it counts nothing of such an origin for as long as the session lasts. When its edits would
/// count, the session ends, and the next one begins with what is held: then all of them comes.
extension Session {
  struct LeftOut: Sendable {
    private(set) var rows: [Origin: Omission] = [:]
    /// How far the peer covers origins of which less counts.
    private(set) var covers: [Origin: UInt64] = [:]
    /// Verdicts of this term were left out, and of it alone: who says such things of several lies.
    private(set) var term: Term?
    /// What was shown by nodes whose keys are not known here.
    private(set) var strangers: [Origin: Reach] = [:]

    static let mostStrangers = 1_024

    var isEmpty: Bool { rows.isEmpty && covers.isEmpty && term == nil }
    var isTooMuch: Bool { rows.count + covers.count > 2 * Limits.frontierEntries }

    func has(_ origin: Origin) -> Bool { rows[origin] != nil || covers[origin] != nil }

    mutating func add(_ rows: [Origin: Omission]) { self.rows.join(rows) }

    mutating func add(_ claim: Frontier, countedAs counted: Frontier) {
      for entry in claim.beyond(counted).list {
        covers[entry.origin] = min(covers[entry.origin] ?? .max, entry.seq)
      }
    }

    mutating func note(stranger reach: Reach) {
      guard strangers.count < Self.mostStrangers || strangers[reach.origin] != nil else { return }
      strangers[reach.origin] = reach
    }

    mutating func note(_ term: Term) { self.term = self.term ?? term }

    mutating func forget(stranger origin: Origin) { strangers[origin] = nil }
  }

  /// Ends the session if what it has left out would count by now.
  mutating func lookAtLeftOut(_ directives: inout [Directive]) {
    guard state == .open, let surety = configuration.surety else { return }
    guard !leftOut.isEmpty else { return }
    for (origin, reach) in leftOut.strangers where leftOut.has(origin) {
      switch surety.isSigned(reach) {
      case true?: return beginAnew(&directives)
      case false?: leftOut.forget(stranger: origin)
      case nil: break
      }
    }
    guard let sealed else { return }
    let own = position.own
    let counts = { (origin: Origin, seq: UInt64, claim: TermClaim?) in
      origin != own && sealed.holds(Dot(origin, seq))
        && claim.map { sealed.allows($0, of: origin) } ?? true
    }
    if let term = leftOut.term, sealed.appointees?.knows(term) == true {
      beginAnew(&directives)
    } else if leftOut.rows.contains(where: { counts($0, $1.seq, $1.claim) })
      || leftOut.covers.contains(where: { counts($0, $1, leftOut.rows[$0]?.claim) })
    {
      beginAnew(&directives)
    }
  }

  private mutating func beginAnew(_ directives: inout [Directive]) {
    fail(Bye(.other, "what was left out counts by now, and is to come again"), &directives)
  }
}
