import Replication
import Store

/// What a verification has found, in words that people know.
///
/// Rows and authors are named as the file names them, which is asked for that. Without it the names
/// of the site must do.
struct VerifyWords: Sendable {
  let store: StoreActor
  let roll: Roll
  /// The database, and the node, as a person names them.
  let path: String
  let node: String

  /// The whole of it; `waiting`: tables that are not the same here and elsewhere, in words, though
  /// all that is held of them is.
  func report(
    _ audit: AuditResult, _ repaired: Int, _ peers: [VerifyReport.Peer], waiting: [String],
    isNamed: Bool
  ) async -> VerifyReport {
    let names = await named(audit.findings.map { RowName(table: $0.table, key: $0.key.bytes) })
    var findings = zip(audit.findings, names).map {
      VerifyReport.Finding(
        table: $0.table, key: $1.key, key_columns: $1.columns, finding: $0.kind.rawValue)
    }
    if audit.wrongSums > 0 {
      findings.append(VerifyReport.Finding(table: nil, key: nil, finding: "sums"))
    }
    let count = audit.waiting + audit.repairable
    // Who cannot be compared at all proves nothing, and refutes nothing.
    let counted = peers.filter { $0.state != .incomparable || isNamed }
    return VerifyReport(
      identical: count == 0 && waiting.isEmpty && counted.allSatisfy(\.identical),
      node: node,
      rows: audit.rows, digest: Self.digits(audit.digest.root), parked: audit.parked,
      local: findings, local_findings: count, uncaptured: audit.uncaptured,
      repaired: repaired, peers: peers, waiting: waiting)
  }

  /// In how many rows values are kept that a column cannot show; nothing where there are none.
  private func keptApart(here: Int, there: Int) -> String {
    let counts = [(here, "here"), (there, "there")].filter { $0.0 > 0 }
    guard !counts.isEmpty else { return "" }
    let places = counts.map { ($0.0 == 1 ? "1 row " : "\($0.0) rows ") + $0.1 }
    return "; values that a column does not show count in \(places.joined(separator: " and in "))"
  }

  /// What came of the comparison with one peer.
  func report(_ found: Verification, name: String) async -> VerifyReport.Peer {
    switch found {
    case .stopped(let state, let reason):
      return VerifyReport.Peer(node: name, state: state, error: reason)
    case .equal(let sums):
      return report(sums, VerifyReport.Peer(node: name, state: .identical))
    case .shownOtherwise(let sums, let apart):
      let reason =
        "the same edits, but the tables show them differently: a table, a column or a default "
        + "is another one there, or a CHECK keeps out a row that was written without it"
        + keptApart(here: apart, there: Int(clamping: sums.apart))
        + "; see: flotilla schema \(shellWord(path)); values of a column that was dropped and "
        + "added again come with: flotilla verify \(shellWord(path)) --repair, here and there"
      return report(sums, VerifyReport.Peer(node: name, state: .differing, error: reason))
    case .unexplained(let sums, isMoving: true):
      return report(sums, VerifyReport.Peer(node: name, state: .moving))
    case .unexplained(let sums, isMoving: false):
      let reason =
        "its sums differ, and no row does: rows have changed meanwhile, or have keys of more than "
        + "1 MB"
      return report(sums, VerifyReport.Peer(node: name, state: .failed, error: reason))
    case .compared(let sums, let comparison, _):
      let state: VerifyReport.Peer.State =
        comparison.count > 0 ? .differing : comparison.onTheWay > 0 ? .moving : .identical
      var peer = report(sums, VerifyReport.Peer(node: name, state: state))
      peer.differing_rows = comparison.count
      peer.on_the_way = comparison.onTheWay
      peer.forgotten = comparison.forgotten
      let rows = comparison.differences
      let names = await store.namesHere(rows.map { $0.row?.table ?? "" })
      let keys = await named(
        zip(names, rows).map { RowName(table: $0, key: $1.row?.key.bytes ?? []) })
      let authors = await authors(of: rows)
      peer.differing = zip(zip(names, rows), keys).map { named, key in
        let (name, row) = named
        return VerifyReport.Difference(
          table: name, key: key.key, key_columns: key.columns, why: row.why.rawValue,
          here: row.here.map { side($0, authors) }, there: row.there.map { side($0, authors) })
      }
      return peer
    }
  }

  private func report(
    _ sums: Account.Sums, _ peer: VerifyReport.Peer
  ) -> VerifyReport.Peer {
    var peer = peer
    peer.rows = Int(clamping: sums.rows)
    peer.digest = Self.digits(sums.digest.root)
    peer.uncaptured = Int(clamping: sums.uncaptured)
    // Equal to ours, but not to what it would pass on.
    if peer.uncaptured > 0, peer.state == .identical { peer.state = .differing }
    peer.identical = peer.state == .identical
    return peer
  }

  private func side(_ row: AccountRow, _ authors: [Origin: String]) -> VerifyReport.Side {
    VerifyReport.Side(
      edited_by: row.dot.flatMap { authors[$0.origin] },
      edited_at: row.dot == nil || row.stamp <= Stamp.beforeSite
        ? nil : Node.text(row.stamp.millisecondsSince1970),
      state: "\(row.state)", content: row.stands ? Self.digits(row.hash) : nil)
  }

  /// Keys by the names of their columns, and these in their order.
  private func named(_ rows: [RowName]) async -> [(key: [String: SQLValue], columns: [String]?)] {
    let names = try? await store.run { (store) throws(StoreError) in
      rows.map { row in
        let key = Key(bytes: row.key)
        return (
          store.tables.named(key, of: row.table), store.tables.keyNames(of: key, of: row.table)
        )
      }
    }
    return names?.map { ($0.mapValues { SQLValue($0) }, $1) } ?? rows.map { _ in ([:], nil) }
  }

  /// Who writes under the origins of these rows, as far as it is known.
  private func authors(of rows: [RowDifference]) async -> [Origin: String] {
    let dots = rows.flatMap { [$0.here?.dot, $0.there?.dot].compactMap { $0 } }
    let origins = Set(dots.map(\.origin))
    let nodes = try? await store.run { (store) throws(StoreError) in
      var nodes: [Origin: Identity] = [:]
      for origin in origins {
        nodes[origin] = origin == store.own ? store.node : try store.members.author(of: origin)
      }
      return nodes
    }
    return nodes?.compactMapValues { roll.entries[$0]?.name } ?? [:]
  }

  private static func digits(_ word: UInt64) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

extension StoreActor {
  /// What this file calls tables of the site; without the file the site's names must do.
  func namesHere(_ tables: [String]) -> [String] {
    let names = try? run { (store) throws(StoreError) in tables.map(store.tables.nameHere) }
    return names ?? tables
  }
}
