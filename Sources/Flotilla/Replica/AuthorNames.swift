import Replication
import Store

/// Who wrote what, by the names that members have now.
struct AuthorNames {
  private let own: (origin: Origin, name: String)
  private let names: [Identity: String]
  private let shutOut: Set<Identity>

  init(_ store: Store) throws(StoreError) {
    own = (store.own, store.nodeName)
    var membership = Membership(rootKey: try store.members.rootKey(), notary: .openSSL)
    _ = membership.unite(try store.members.statements())
    let entries = membership.roll.entries
    names = entries.mapValues(\.name)
    shutOut = Set(
      entries.values.compactMap { if case .revoked? = $0.ending { $0.node } else { nil } })
  }

  /// Whether a member that was shut out writes under an origin, or nobody that is known.
  func isNobody(_ origin: Origin, _ store: Store) throws(StoreError) -> Bool {
    if origin == own.origin { return false }
    return try store.members.author(of: origin).map { shutOut.contains($0) || names[$0] == nil }
      ?? true
  }

  func name(_ node: Identity) -> String? { names[node] }

  func name(_ origin: Origin, _ store: Store) throws(StoreError) -> String? {
    if origin == own.origin { return own.name }
    return try store.members.author(of: origin).flatMap { names[$0] }
  }

  func report(
    _ conflict: Conflict, _ store: Store
  ) throws(StoreError) -> ConflictReport.Conflict {
    var report = ConflictReport.Conflict(
      id: Int(conflict.id), table: conflict.table,
      key: Self.key(conflict.key, by: conflict.keyNames),
      key_columns: conflict.isKeyCertain ? conflict.keyNames : nil, rule: conflict.rule,
      reason: conflict.reason, at: Node.text(conflict.at), state: conflict.state.rawValue,
      winner: try side(conflict.winner, of: conflict.table, store),
      loser: try side(conflict.loser, of: conflict.table, store))
    if conflict.reason == Reason.parked.name,
      try !store.trackedTables().contains(where: { isSameName($0.name, conflict.table) })
    {
      report.because = "its table is replicated no more, and the row was parked beside it"
    }
    if [.rekeyed, .dismissed].contains(conflict.state),
      let (key, rows) = try store.conflictLog.rekeyed(conflict)
    {
      report.became = ConflictReport.Became(key: Self.key(key, by: conflict.keyNames), rows: rows)
    }
    return report
  }

  private static func key(_ key: Key, by names: [String]) -> [String: SQLValue] {
    Dictionary(zip(names, (key.values ?? []).map(SQLValue.init))) { first, _ in first }
  }

  /// A row that was there before its table was the site's has no time.
  private static func time(_ stamp: Stamp) -> String? {
    stamp <= Stamp.beforeSite ? nil : Node.fineText(stamp.millisecondsSince1970)
  }

  func side(
    _ side: ConflictSide?, of table: String, _ store: Store
  ) throws(StoreError) -> ConflictReport.Side? {
    guard let side else { return nil }
    return ConflictReport.Side(
      node: try side.author.flatMap { author throws(StoreError) in try name(author, store) },
      stamp: side.stamp.flatMap(Self.time), undated: side.isUndated,
      deleted: side.isDeleted,
      // Of what was written over at once the key alone is known: that is no row to show.
      row: side.isDeleted || store.tables.isKeyAlone(side, of: table)
        ? nil : Replica.row(side.values),
      columns: side.values.map(\.name))
  }
}
