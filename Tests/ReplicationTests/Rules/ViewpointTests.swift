import Replication
import Testing

/// What happens when a version meets another, from the point of view of one replica.
@Suite struct `A meeting of two versions` {
  private static let (own, other, third) = (
    Origin(rawValue: 1), Origin(rawValue: 2), Origin(rawValue: 3)
  )
  private static let (before, now) = (
    Term(number: 1, incarnation: 0), Term(number: 2, incarnation: 0)
  )

  private static func version(
    _ origin: Origin, _ seq: UInt64 = 5, stamp: Int64, term: Term = .none, epoch: UInt64 = 0,
    certifies edit: Dot? = nil, sees: [Dot] = [], hash: UInt64? = nil, image: Dot? = nil
  ) -> Version {
    let dot = Dot(origin, seq)
    var version = Version(
      dot: dot, created: Dot(other, 1), stamp: Stamp(rawValue: stamp),
      hash: hash ?? origin.rawValue, isDeleted: false)
    (version.term, version.epoch) = (term, epoch)
    if let edit { version.certificate = Version.Certificate(edit: edit, at: .zero) }
    for dot in sees { version.context.add(dot) }
    version.image = image
    return version
  }

  /// Nobody is the anchor; another is, in term 2; this replica is.
  private enum Place: CaseIterable {
    case nobody
    case elsewhere
    case here

    /// With everything up to seq 4 judged.
    var viewpoint: Viewpoint {
      let judged = Judged(term: now, frontier: Frontier([own: 4, other: 4, third: 4]))
      let office =
        switch self {
        case .nobody: Office()
        case .elsewhere: Office(term: now, isHeld: true)
        case .here: Office(term: now, isHeld: true, part: .judging)
        }
      return Viewpoint(own: own, office: office, judged: self == .nobody ? Judged() : judged)
    }
  }

  /// What happens at each place, in the order of `Place`.
  private static let cases: [(String, Version, Version?, [Encounter])] = [
    (
      "the same again", version(other, stamp: 1), version(other, stamp: 1), [.same, .same, .same]
    ),
    (
      "a first edit of a row", version(other, stamp: 1), nil,
      [.gives(.history), .gives(.history), .waits]
    ),
    (
      "a judged one of a row that is not here: it was not, if it is not at the anchor",
      version(other, 4, stamp: 1), nil, [.gives(.history), .gives(.history), .waits]
    ),
    (
      "a judged one on a certificate: the same",
      version(other, 4, stamp: 1, term: now, epoch: 1),
      version(third, stamp: 9, term: now, epoch: 1, certifies: Dot(third, 5)),
      [.gives(.history), .gives(.history), .waits]
    ),
    (
      "a lower edit of another", version(other, stamp: 1), version(own, stamp: 2),
      [.stays, .waits, .waits]
    ),
    (
      "a lower one that was judged", version(other, 4, stamp: 1), version(own, stamp: 2),
      [.stays, .stays, .stays]
    ),
    (
      "a lower one that its author has written over", version(other, 5, stamp: 1),
      version(other, 6, stamp: 2), [.stays, .stays, .waits]
    ),
    (
      "a higher edit over an own one that it has not seen", version(other, stamp: 2),
      version(own, stamp: 1), [.gives(.conflict), .gives(.waits), .waits]
    ),
    (
      "a higher edit over an own one that it has seen",
      version(other, stamp: 2, sees: [Dot(own, 5)]), version(own, stamp: 1),
      [.gives(.history), .gives(.waits), .waits]
    ),
    (
      "a higher edit over one of a third", version(other, stamp: 2), version(third, stamp: 1),
      [.gives(.history), .gives(.waits), .waits]
    ),
    (
      "a higher edit over what another one's migration has made of an own one",
      version(other, stamp: 2), version(third, stamp: 1, image: Dot(own, 5)),
      [.gives(.conflict), .gives(.waits), .waits]
    ),
    (
      "a higher edit over what a migration here has made of one of a third",
      version(other, stamp: 2), version(own, stamp: 1, image: Dot(third, 5)),
      [.gives(.history), .gives(.waits), .waits]
    ),
    (
      "a higher edit over an equal own one", version(other, stamp: 2, hash: 1),
      version(own, stamp: 1), [.gives(.history), .gives(.waits), .waits]
    ),
    (
      "a later edit of the same author", version(other, 6, stamp: 2), version(other, 5, stamp: 1),
      [.gives(.history), .gives(.history), .waits]
    ),
    (
      "the certificate of what stands",
      version(third, stamp: 1, term: now, epoch: 1, certifies: Dot(own, 5)),
      version(own, stamp: 1), [.gives(.history), .gives(.history), .gives(.history)]
    ),
    (
      "a certificate over an own edit that nobody has judged",
      version(third, stamp: 1, term: now, epoch: 1, certifies: Dot(other, 2)),
      version(own, stamp: 2), [.gives(.conflict), .gives(.waits), .gives(.waits)]
    ),
    (
      "a certificate over an own edit that was judged",
      version(third, stamp: 1, term: now, epoch: 1, certifies: Dot(other, 2)),
      version(own, 4, stamp: 2), [.gives(.conflict), .gives(.conflict), .gives(.conflict)]
    ),
    (
      "a lower certificate",
      version(third, stamp: 1, term: now, epoch: 1, certifies: Dot(other, 2)),
      version(own, stamp: 1, term: now, epoch: 1), [.stays, .stays, .stays]
    ),
    (
      "an edit on a certificate", version(other, stamp: 1, term: now, epoch: 1),
      version(third, stamp: 9, term: now, epoch: 1, certifies: Dot(third, 5)),
      [.gives(.history), .gives(.history), .waits]
    ),
    (
      "a certificate of an earlier term that nobody has judged",
      version(third, stamp: 1, term: before, epoch: 9, certifies: Dot(third, 5)),
      version(other, stamp: 1, term: now, epoch: 1, certifies: Dot(other, 2)),
      [.stays, .waits, .waits]
    ),
    (
      "a certificate over one of an earlier term",
      version(other, stamp: 1, term: now, epoch: 1, certifies: Dot(other, 2)),
      version(third, stamp: 1, term: before, epoch: 9, certifies: Dot(third, 5)),
      [.gives(.history), .gives(.waits), .gives(.waits)]
    ),
    (
      "a certificate over the same edit, certified in an earlier term",
      version(other, stamp: 1, term: now, epoch: 1, certifies: Dot(own, 5)),
      version(third, stamp: 1, term: before, epoch: 9, certifies: Dot(own, 5)),
      [.gives(.history), .gives(.history), .gives(.history)]
    ),
  ]

  @Test func `ends as the table says, wherever the anchor is`() {
    for (what, incoming, standing, expected) in Self.cases {
      let found = Place.allCases.map { $0.viewpoint.meeting(incoming, standing) }
      #expect(found == expected, "\(what)")
    }
  }

  @Test func `is undecided while the judged frontier is of an earlier term`() {
    var viewpoint = Place.elsewhere.viewpoint
    let edit = Self.version(Self.other, 1, stamp: 1)
    #expect(!viewpoint.isUndecided(edit))
    viewpoint.judged.term = Self.before
    #expect(viewpoint.isUndecided(edit))
    let certificate = Self.version(
      Self.other, 9, stamp: 1, term: Self.now, certifies: Dot(Self.other, 1))
    #expect(!viewpoint.isUndecided(certificate))
    viewpoint.office = Office(term: Self.now, isHeld: false)
    #expect(!viewpoint.isUndecided(edit))
  }
}
