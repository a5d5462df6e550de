/// What a node may send and read decides what a session says and takes.
extension Session {
  /// What the peer may send, if that is not everything; known from its Hello on.
  var licence: LeafLicence? {
    guard !configuration.peerRights.isWhole, let peer else { return nil }
    let origin = configuration.notary.map { Origin.of(peer.node, life: peer.life, $0) }
    // Nobody writes as 0: without a notary nothing can be taken.
    return LeafLicence(origin: origin ?? Origin(rawValue: 0), rights: configuration.peerRights)
  }

  /// What an export to the peer leaves out.
  package var exportFilter: ExportFilter {
    ExportFilter(
      reader: configuration.peerRights,
      sender: mayGive ? configuration.ownRights : Rights(general: .none))
  }

  /// Whether the peer gets anything from here. One leaf gives another one nothing: that could not
  /// pass it on, and would be left with it if the author is lost or has to take it back.
  var mayGive: Bool {
    configuration.ownRights.isWhole
      || configuration.ownRights.writes && configuration.peerRights.isWhole
  }

  /// Asks for rows by name, as many in a message as may be; a leaf has nothing to give.
  mutating func want(
    _ names: [RowName], _ directives: inout [Directive], _ now: Instant
  ) {
    guard configuration.peerRights.isWhole else { return }
    send(
      names.filter { $0.key.count <= Limits.wantedKey }, most: Limits.wantedRows,
      size: { $0.key.count + $0.table.utf8.count + 8 }, as: { .want($0) }, &directives, now)
  }

  /// Opens the export of the rows that the peer has asked for, once nothing else is being sent.
  mutating func openWanted(_ directives: inout [Directive]) {
    guard configuration.ownRights.isWhole else { return outgoing.wanted = [] }
    guard outgoing.phase == .idle, !outgoing.wanted.isEmpty else { return }
    let names = outgoing.wanted.sorted {
      $0.table == $1.table ? $0.key.lexicographicallyPrecedes($1.key) : $0.table < $1.table
    }
    open(.rows(Array(names.prefix(Limits.wantedRows))), &directives)
    outgoing.wanted = Set(names.dropFirst(Limits.wantedRows).prefix(16 * Limits.wantedRows))
  }
}
