import Replication

/// The invitations of a node, and whom they have let in since it started.
///
/// What is changed is written beside the file before it counts, and before anybody hears of it.
/// What a joiner gets to hear is decided here; what is signed for it, the node says.
struct Admissions: Sendable {
  private let folder: KeyFolder
  private let roster: Roster
  private var book: InvitationBook
  /// The names that were given away, also before their nodes are members.
  private var names: [Identity: String] = [:]
  /// The node that was let in last.
  private(set) var last: Admitted?

  /// Reads the invitations; handshakes go by them from now on.
  init(_ folder: KeyFolder, _ roster: Roster) throws(FlotillaError) {
    (self.folder, self.roster) = (folder, roster)
    book = InvitationBook(try folder.invitations())
    roster.set(book.invitations)
  }

  private mutating func keep(_ book: InvitationBook) throws(FlotillaError) {
    try folder.save(invitations: try book.data)
    self.book = book
    roster.set(book.invitations)
  }

  /// Opens an invitation.
  mutating func open(_ invitation: Invitation, at clock: BootClock) throws(FlotillaError) {
    var book = book
    try book.add(invitation, clock)
    try keep(book)
  }

  /// Why a joiner that shows an invitation is not let in; nil if it is as far as that goes.
  ///
  /// Whoever has used one may ask again, if the answer was lost on the way; `hasCome`: it was not,
  /// for the joiner has been here as a member.
  func objection(
    to shown: [UInt8], by joiner: Identity?, hasCome: Bool, at clock: BootClock
  ) -> InvitationBook.Verdict? {
    book.objection(to: shown, by: joiner, hasCome: hasCome, at: clock)
  }

  /// What comes of a joiner that wants in; a code that may have been used is used.
  mutating func use(
    _ shown: [UInt8], by node: Identity, at clock: BootClock
  ) throws(FlotillaError) -> InvitationBook.Verdict {
    var book = book
    let verdict = book.use(shown, by: node, clock)
    if case .admitted = verdict { try keep(book) }
    return verdict
  }

  /// Gives a joiner its name: what it has already, or what it wants, beside those that are taken.
  mutating func name(
    _ node: Identity, wanted: String, known: String?, beside taken: [String]
  ) -> String {
    let name = names[node] ?? known ?? JoinerName.free(wanted, beside: Set(taken + names.values))
    names[node] = name
    return name
  }

  /// Notes that a node was let in.
  mutating func note(_ admitted: Admitted) { last = admitted }

  /// The name of a joiner that was let in.
  func name(of node: Identity) -> String? { names[node] }

  /// The nodes that were given names.
  var joiners: [Identity] { Array(names.keys) }

  /// The identities of the invitations that can be used.
  func usable(at clock: BootClock) -> Set<String> { Set(book.open(clock).map(\.identity)) }

  /// Whether another one than these was used.
  func isUsed(besides older: Set<String>) -> Bool {
    book.invitations.contains { $0.usedBy != nil && !older.contains($0.identity) }
  }

  /// What joiners look for: open invitations, then those whose joiner has not come back yet, the
  /// newest first. It may have failed in between, and asks again. `come`: the nodes that have.
  func hints(besides come: Set<String>, at clock: BootClock) -> [String] {
    let awaited = book.invitations.filter { invitation in
      guard let user = invitation.usedBy else { return false }
      return !come.contains(user) && !invitation.isExpired(clock)
    }
    return (awaited + book.open(clock)).reversed().map(\.hint)
  }
}

/// A node that was let in, and the words that it should show.
struct Admitted: Sendable, Equatable {
  var name: String
  var words: String
}
