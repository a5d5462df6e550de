/// How far the owner of an origin has written under it, by its own signature.
///
/// A member can claim to hold edits that another one never made. Who believed it would count what
/// is still to come as held, and the other one would take its file for an old one. So what is said
/// of an origin counts up to the reach that its owner has signed, and no further.
package struct Reach: Sendable, Equatable, Signable {
  package static let signatureLength = 64

  package var origin: Origin
  /// The owner, and the life from which the origin follows.
  package var node: Identity
  package var life: UInt64
  /// Its last edit, and the run that signed.
  package var seq: UInt64
  package var run: UInt64
  package var signature: [UInt8]

  package init(
    origin: Origin, node: Identity, life: UInt64, seq: UInt64, run: UInt64,
    signature: [UInt8] = []
  ) {
    (self.origin, self.node, self.life) = (origin, node, life)
    (self.seq, self.run, self.signature) = (seq, run, signature)
  }

  /// What is signed. No other thing that a node signs begins like this.
  package func text(in site: Identity) -> [UInt8] {
    var writer = ByteWriter()
    writer.raw(Array("FLOTILLA reach 1\n".utf8))
    writer.identity(site)
    writer.identity(node)
    writer.word(life)
    writer.word(seq)
    writer.word(run)
    return writer.bytes
  }

  /// What it tells its owner, to compare with the file.
  package var testimony: Testimony { Testimony(origin: origin, seq: seq, run: run) }
}

/// Checks what members have signed: of their origins, of cuts, of who is the anchor.
package struct Surety: Sendable {
  /// Whether the owner has signed it; nil if nobody here knows its key.
  package var isSigned: @Sendable (Reach) -> Bool?
  /// Whether a member has signed that it holds a cut, likewise.
  package var holdsCut: @Sendable (Acknowledgement) -> Bool?
  /// Whether a cut bears the mark of what is in it.
  package var isNamed: @Sendable (Cut) -> Bool
  /// Which origins count at present though nobody has signed for them; nil if all do.
  package var exempt: @Sendable () -> Set<Origin>?
  /// Who was appointed, as far as it is known at present; nil where nobody signs that.
  package var appointees: @Sendable () -> Appointees?

  package init(
    exempt: @escaping @Sendable () -> Set<Origin>? = { nil },
    appointees: @escaping @Sendable () -> Appointees? = { nil },
    holdsCut: @escaping @Sendable (Acknowledgement) -> Bool? = { _ in nil },
    isNamed: @escaping @Sendable (Cut) -> Bool = { _ in false },
    isSigned: @escaping @Sendable (Reach) -> Bool?
  ) {
    (self.exempt, self.appointees) = (exempt, appointees)
    (self.holdsCut, self.isNamed, self.isSigned) = (holdsCut, isNamed, isSigned)
  }
}

/// Of which edits a receiver takes another one's word.
package struct Sealed: Sendable, Equatable {
  /// What owners have signed, as far as it is known, and what has come since.
  package var reaches: [Origin: Reach]
  package var news: [Origin: Reach]
  /// This replica knows of its own edits best.
  package var own: Origin
  package var last: UInt64
  /// Of other origins these count, or all if it is nil; of the rest what is held.
  package var exempt: Set<Origin>?
  package var held: Frontier
  /// This node, and who was appointed as far as it knows; nil where nobody signs that.
  package var node: Identity?
  package var appointees: Appointees?

  package init(
    _ reaches: [Origin: Reach], _ news: [Origin: Reach] = [:], own: Origin, last: UInt64,
    held: Frontier, exempt: Set<Origin>?
  ) {
    (self.reaches, self.news, self.own, self.last) = (reaches, news, own, last)
    (self.held, self.exempt) = (held, exempt)
  }

  /// How far an origin can have come; nil if nobody has said.
  package func most(of origin: Origin) -> UInt64? {
    if origin == own { return last }
    if let reach = news[origin] { return max(reach.seq, reaches[origin]?.seq ?? 0) }
    if let reach = reaches[origin] { return reach.seq }
    guard let exempt, !exempt.contains(origin) else { return nil }
    return held[origin]
  }

  package func holds(_ dot: Dot) -> Bool { most(of: dot.origin).map { dot.seq <= $0 } ?? true }

  /// Whether the author of a row may say what it says of the anchor.
  package func allows(_ row: WireRow) -> Bool {
    row.claim.map { allows($0, of: row.version.dot.origin) } ?? true
  }

  func allows(_ claim: TermClaim, of origin: Origin) -> Bool {
    guard let appointees else { return true }
    let owner = origin == own ? node : (news[origin] ?? reaches[origin])?.node
    return appointees.allow(claim, by: owner)
  }

  /// What counts of a frontier.
  package func limit(_ frontier: Frontier) -> Frontier {
    Frontier(
      ascending: frontier.list.compactMap { entry in
        var entry = entry
        entry.seq = min(entry.seq, most(of: entry.origin) ?? .max)
        return entry.seq > 0 ? entry : nil
      })
  }
}
