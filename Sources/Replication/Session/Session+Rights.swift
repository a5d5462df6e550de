/// What a node may send and read decides what a session says and takes.
extension Session {
  /// Whether both may read every table, so that their digests are of the same rows.
  ///
  /// A digest is a sum over all rows, and frontiers tell the dots: who may not read a table could
  /// try guesses of its rows against a digest, or against the step from one digest to the next. So
  /// it is shown none.
  var sharesDigests: Bool {
    configuration.peerRights.readsAll && configuration.ownRights.readsAll
  }

  /// Which digest both compare: that of what is here if their tables have the same keys.
  package var scope: DigestScope {
    keysTold != nil && keysTold == peer?.keysHere ? .here : .leading
  }

  /// This node's digest, as it is shown to the peer.
  var digest: Digest { position.digest(scope) }

  /// What a peer may send that has said this Hello, if that is not everything.
  func licence(of peer: Hello) -> LeafLicence? {
    guard !configuration.peerRights.isWhole else { return nil }
    let origin = configuration.notary.map { Origin.of(peer.node, life: peer.life, $0) }
    // Nobody writes as 0: without a notary nothing can be taken.
    return LeafLicence(origin: origin ?? Origin(rawValue: 0), rights: configuration.peerRights)
  }

  /// Whether the first frame of a batch may be staged; ends the session if it may not.
  ///
  /// A leaf names its tables in the first frame. So what it may not write is never kept until the
  /// batch is whole, and who may write nothing has nothing kept at all.
  mutating func mayStage(_ first: [UInt8], _ directives: inout [Directive]) -> Bool {
    guard let licence else { return true }
    let name = peer?.name ?? "the peer"
    do {
      let tables = try RowBatch.tableNames(inBeginning: first)
      guard let table = tables.first(where: { !licence.allows(table: $0) }) else { return true }
      fail(Bye(.notAllowed, "\(name) may not write \(table)"), &directives)
    } catch {
      fail(Bye(.badMessage, error.description), &directives)
    }
    return false
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

  /// Takes up what the peer asks for, as far as there is room: it may ask again.
  mutating func hear(_ names: [RowName], _ directives: inout [Directive]) {
    for name in names
    where outgoing.wanted.count < 16 * Limits.wantedRows
      && outgoing.wantedBytes + name.size <= Limits.wantedBytes
    {
      if outgoing.wanted.insert(name).inserted { outgoing.wantedBytes += name.size }
    }
    openWanted(&directives)
  }

  /// Opens the export of the rows that the peer has asked for, once nothing else is being sent.
  mutating func openWanted(_ directives: inout [Directive]) {
    guard configuration.ownRights.isWhole else {
      return (outgoing.wanted, outgoing.wantedBytes) = ([], 0)
    }
    guard outgoing.phase == .idle, !outgoing.wanted.isEmpty else { return }
    let names = outgoing.wanted.sorted {
      $0.table == $1.table ? $0.key.lexicographicallyPrecedes($1.key) : $0.table < $1.table
    }
    open(.rows(Array(names.prefix(Limits.wantedRows))), &directives)
    outgoing.wanted = Set(names.dropFirst(Limits.wantedRows))
    outgoing.wantedBytes = outgoing.wanted.reduce(0) { $0 + $1.size }
  }
}
