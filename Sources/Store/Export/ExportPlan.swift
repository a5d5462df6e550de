import Replication
import SQLite

/// Finds out what a peer lacks, and where the rows of that are read.
///
/// Where little has changed since the peer was here, that is known in memory; else the snapshot is
/// looked through.
struct ExportPlan {
  let connection: Connection
  let tables: Tables
  let origins: Origins
  let versions: VersionTable
  let pending: PendingTable
  let rulings: RulingTable
  let lost: LostVersions
  let putBacks: PutBackTable
  let recent: RecentVersions
  let own: Origin
  let ownRights: OwnRights

  /// "BEGIN" alone opens no snapshot; the first read does (sqlite.org/isolation.html).
  static func openSnapshot(_ reader: Connection) throws(SQLiteError) {
    try reader.execute("BEGIN")
    _ = try reader.scalar("SELECT count(*) FROM main._flotilla_origin")
  }

  func export(
    _ scope: Session.ExportScope, _ filter: ExportFilter, _ reader: Connection,
    at now: Instant
  ) throws(SQLiteError) -> Export {
    switch scope {
    case .above(let held): try rows(above: held, for: held, filter, reader, at: now)
    case .unsent(let sent, let held): try rows(above: sent, for: held, filter, reader, at: now)
    case .rows(let names): try rows(named: names, reader, at: now)
    case .buckets(let buckets):
      try scan(reader, above: Frontier(), origins.frontier, buckets: Set(buckets), at: now)
    case .bucket(let bucket, let sent):
      try scan(reader, above: sent, origins.frontier, buckets: [bucket], at: now)
    }
  }

  private func rows(
    above sent: Frontier, for held: Frontier, _ filter: ExportFilter, _ reader: Connection,
    at now: Instant
  ) throws(SQLiteError) -> Export {
    var entries = try lost.covers(origins.frontier, for: held).entries
    // Of an origin of which the peer holds less than it was sent, something could not be given: it
    // may be here again, but this export does not hold it.
    for (origin, seq) in sent.entries where seq > held[origin] {
      entries[origin] = min(entries[origin] ?? 0, held[origin])
    }
    for dot in try putBacks.dots(origins) where held[dot.origin] < dot.seq {
      entries[dot.origin] = min(entries[dot.origin] ?? 0, dot.seq - 1)
    }
    let items = try recent.above(sent).map(items)
    let covers = try covers(Frontier(entries), of: items, above: sent, for: held, filter)
    guard let items else {
      return try scan(reader, above: sent, covers, buckets: nil, at: now)
    }
    return Export(
      connection: reader, covers: covers, frontier: origins.frontier, rows: UInt64(items.count),
      openedAt: now.uptime, tables: tables.byID, source: .list(items, next: 0), buckets: nil)
  }

  /// A leaf may hold less than its frontier says, and is believed about its own edits alone; who
  /// may write nothing any more is believed nothing. What it wrote where it may not write any more
  /// it does not send: the peer has to get that from others, so it must not count as held. Nor does
  /// it cover what edits that were taken back had replaced.
  private func covers(
    _ given: Frontier, of items: [Export.Item]?, above sent: Frontier, for held: Frontier,
    _ filter: ExportFilter
  ) throws(SQLiteError) -> Frontier {
    if filter.sender.isWhole { return given }
    guard filter.sender.writes else { return Frontier() }
    let top = min(given[own], held[own] < (try ownRights.elsewhere()) ? held[own] : .max)
    let silent = Set(tables.byID.values.filter { filter.withholds($0.name) }.map(\.id))
    guard !silent.isEmpty, let number = origins.knownNumber(of: own) else {
      return Frontier([own: top])
    }
    var first: UInt64?
    if let items {
      first = items.filter { $0.version.dot.origin == own && silent.contains($0.table) }
        .map(\.version.dot.seq).min()
    } else {
      let list = silent.sorted().map { "\($0)" }.joined(separator: ", ")
      first = try connection.scalar(
        "SELECT min(seq) FROM _flotilla_version WHERE origin = ? AND seq > ? AND tbl IN (\(list))",
        [.integer(number), .integer(Int64(sent[own]))]
      ).integer.map { UInt64($0) }
    }
    return Frontier([own: min(top, first.map { $0 - 1 } ?? .max)])
  }

  /// The rows of these names; what is not known here is left out.
  private func rows(
    named names: [RowName], _ reader: Connection, at now: Instant
  ) throws(SQLiteError) -> Export {
    var items: [Export.Item] = []
    for name in names {
      guard let table = tables.table(name.table) else { continue }
      let key = Key(bytes: name.key)
      guard let version = try versions.version(table: table.id, key: key) else { continue }
      items.append(Export.Item(table: table.id, key: key, version: version))
    }
    return Export(
      connection: reader, covers: origins.frontier, frontier: origins.frontier,
      rows: UInt64(items.count), openedAt: now.uptime, tables: tables.byID,
      source: .list(items, next: 0), buckets: nil)
  }

  /// Those of the recent rows that are still current; the others were replaced by later ones.
  private func items(_ recent: [RecentVersions.Entry]) throws(SQLiteError) -> [Export.Item] {
    var items: [Export.Item] = []
    for entry in recent {
      if let item = try item(entry) { items.append(item) }
    }
    return items
  }

  /// Where the version of a recent change is now; nil if a later one has taken its place.
  private func item(_ entry: RecentVersions.Entry) throws(SQLiteError) -> Export.Item? {
    let (table, key) = (entry.table, entry.key)
    if let version = try versions.version(table: table, key: key), version.dot == entry.dot {
      return Export.Item(table: table, key: key, version: version)
    }
    if let version = try pending.version(table: table, key: key, origin: entry.dot.origin),
      version.dot == entry.dot
    {
      return Export.Item(table: table, key: key, version: version, place: .pending)
    }
    return try rulings.item(entry.dot).map {
      Export.Item(table: $0.table, key: $0.key, version: $0.version, place: .ruling)
    }
  }

  private func scan(
    _ reader: Connection, above sent: Frontier, _ covers: Frontier, buckets: Set<Int>?,
    at now: Instant
  ) throws(SQLiteError) -> Export {
    for (origin, seq) in sent.sorted {
      // Of an origin that is not known here there is nothing to leave out.
      guard let number = origins.knownNumber(of: origin) else { continue }
      try reader.run(
        "INSERT INTO temp.peer(origin, seq) VALUES (?, ?)",
        [.integer(number), .integer(Int64(seq))])
    }
    let above = "v.seq > coalesce((SELECT p.seq FROM temp.peer p WHERE p.origin = v.origin), 0)"
    let columns = VersionTable.columns(of: "v")
    let ruled = "v.origin, v.seq, v.stamp, NULL, NULL, NULL, NULL, NULL, v.extra, NULL"
    let all = """
      SELECT \(columns), v.tbl, v.key, 0 AS place FROM _flotilla_version v WHERE \(above)
      UNION ALL SELECT \(columns), v.tbl, v.key, 1 FROM _flotilla_pending v WHERE \(above)
      UNION ALL SELECT \(ruled), v.tbl, v.key, 2 FROM _flotilla_ruling v WHERE \(above)
      """
    let count = try reader.scalar("SELECT count(*) FROM (\(all))")
    let rows = UInt64(count.integer ?? 0)
    // Origins are unsigned on the wire: those with the highest bit come last.
    let statement = try reader.prepare(
      """
      SELECT a.* FROM (\(all)) a JOIN _flotilla_origin o ON o.id = a.origin
      ORDER BY o.origin < 0, o.origin, a.seq
      """)
    return Export(
      connection: reader, covers: covers, frontier: origins.frontier,
      rows: buckets.map { rows * UInt64($0.count) / UInt64(Digest.bucketCount) } ?? rows,
      openedAt: now.uptime, tables: tables.byID, source: .scan(statement),
      buckets: buckets)
  }
}
