/// Where what is written does not come into everybody's tables, though all are in sync.
extension Replica {
  /// So many peers are asked for their schema, all at once, and no longer than this: `status` is
  /// quick.
  private static let mostPeers = 16
  private static let schemaPatience = Duration.milliseconds(500)

  /// A remark for each connected member whose tables lack something that is here, or have what is
  /// missing here; none where no node runs.
  public func unreached(_ status: StatusReport) async -> [String] {
    guard status.running else { return [] }
    let peers = status.peers.filter { $0.state == .inSync || $0.state == .catchingUp }
      .prefix(Self.mostPeers)
    return await withTaskGroup(of: (Int, [String]).self) { group in
      for (index, peer) in peers.enumerated() {
        group.addTask {
          let report = await schema(of: peer)
          return (index, report?.unreached(at: peer.node, from: status.node, path) ?? [])
        }
      }
      var remarks = [[String]](repeating: [], count: peers.count)
      for await (index, found) in group { remarks[index] = found }
      return remarks.flatMap(\.self)
    }
  }

  /// Nil for a peer that is not judged.
  private func schema(of peer: PeerReport) async -> SchemaReport? {
    guard let client = try? ControlClient(database: sidecar.database) else { return nil }
    return await client.schema(of: peer.id, within: Self.schemaPatience)
  }
}

extension ControlClient {
  /// The schema of a peer beside this one; nil if it is not for us, or does not come in time.
  func schema(of peer: String, within patience: Duration) async -> SchemaReport? {
    let request = ControlRequest.compareSchema(
      peer: peer, adopts: false, milliseconds: Int(patience.milliseconds))
    let report: SchemaReport?? = try? await ask(request, within: patience)
    return report ?? nil
  }
}

extension SchemaReport {
  /// Columns of this file that the other member's tables lack, by table: `column phone`.
  var columnsMissingThere: [(table: String, columns: String)] {
    // Generated ones do not travel.
    let travelling = Dictionary(
      tables.map { ($0.table, Set($0.columns.map(\.name))) }, uniquingKeysWith: { $0.union($1) })
    return Self.byTable(
      (adoption?.differences ?? []).filter { difference in
        difference.kind == "column" && difference.what == "is not at \(adoption?.node ?? "")"
          && travelling[difference.table]?.contains(difference.name) == true
      }.map { ($0.table, $0.name) })
  }

  /// The same of columns that it has and this file's replicated tables lack.
  var columnsMissingHere: [(table: String, columns: String)] {
    let replicated = Set(tables.map(\.table))
    return Self.byTable(
      (adoption?.statements ?? []).filter {
        $0.kind == "column" && replicated.contains($0.table) && adoption?.is_made == false
      }.map { ($0.table, $0.name) })
  }

  private static func byTable(_ columns: [(String, String)]) -> [(table: String, columns: String)] {
    Dictionary(grouping: columns, by: \.0).sorted { $0.key < $1.key }.map { table, columns in
      let names = columns.map(\.1)
      return (table, (names.count == 1 ? "column " : "columns ") + names.joined(separator: ", "))
    }
  }

  fileprivate func unreached(at peer: String, from node: String, _ path: String) -> [String] {
    let missing = adoption?.missing ?? []
    let tables =
      missing.isEmpty
      ? [] : [(missing.count == 1 ? "table " : "tables ") + missing.joined(separator: ", ")]
    let there = tables + columnsMissingThere.map { "\($0.columns) of \($0.table)" }
    let here = columnsMissingHere.map { "\($0.columns) of \($0.table)" }
    var remarks: [String] = []
    if !there.isEmpty {
      remarks.append(
        "missing at \(peer): \(there.joined(separator: "; ")); what is written there is kept, and "
          + "no program of \(peer) sees it (on \(peer): flotilla schema DB --adopt "
          + "\(shellWord(node)))")
    }
    if !here.isEmpty {
      remarks.append(
        "missing here, and there at \(peer): \(here.joined(separator: "; ")); what \(peer) writes "
          + "there is kept (to add it: flotilla schema \(shellWord(path)) --adopt "
          + "\(shellWord(peer)))")
    }
    // Both have a column that the other lacks: it may be one, of which no row could tell.
    let lacking = Set(columnsMissingHere.map(\.table))
    for (table, columns) in columnsMissingThere where lacking.contains(table) {
      remarks.append(
        "if \(columns) of \(table) and what \(peer) has is one column under two names, say so on "
          + "the machine that has the new name: flotilla schema DB --map \(shellWord(table)) "
          + "OLD=NEW")
    }
    return remarks
  }
}
