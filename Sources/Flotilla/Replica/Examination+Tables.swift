import Store

/// Tables of the file that are not replicated.
extension Examination {
  /// So many are named.
  private static let named = 12

  mutating func judge(_ tables: [UntrackedTable], takesNew: Bool) {
    let isNew = { (table: UntrackedTable) in
      takesNew && table.kind != .book && table.kind != .old
    }
    for table in tables where isNew(table) { judge(new: table) }
    let others = tables.filter { !isNew($0) }.map(\.name)
    guard !others.isEmpty else { return }
    let more = others.count > Self.named ? " and \(others.count - Self.named) more" : ""
    add(
      "tables", .ok,
      "not replicated: \(others.prefix(Self.named).joined(separator: ", "))\(more) (flotilla track "
        + "\(shellWord(path)) TABLE replicates one, or says why it cannot)")
  }

  /// Why a new table is not replicated, and what makes it so: as `status` says, and `track`.
  private mutating func judge(new table: UntrackedTable) {
    let (file, name) = (shellWord(path), shellWord(table.name))
    let (text, track) = (
      "the table \(table.name) is new, and is not replicated", "flotilla track \(file) \(name)"
    )
    switch table.kind {
    case .scratch(let original):
      add(
        "tables", .warning, text + ": its name says that it is a copy of \(original)",
        "If it is not: \(track)")
    case .similar(let missing):
      add(
        "tables", .warning, text + ": it may be \(missing) of the site, which is not here",
        "If it is: flotilla schema \(file) --map \(shellWord(missing))=\(name). If not: \(track)")
    case .refused(let reason, let remedy):
      add("tables", .warning, "\(text): \(reason)", remedy)
    case .new, .book, .old:
      add(
        "tables", .warning, text + " yet",
        "flotilla status \(file) says what it waits for; to replicate it now: \(track)")
    }
  }

  /// Rows of tables that nobody tracks. A repair drops those that only members which were shut out
  /// have written. Gives the names of the tables.
  mutating func judgeStray(
    _ store: Store, _ names: AuthorNames, repair: Bool
  ) throws(StoreError) -> [String] {
    let tables = try store.tableSurvey.strayTables()
    var (nobodys, others): ([StrayTable], [StrayTable]) = ([], [])
    for table in tables {
      var isNobodys = !table.isHere
      for author in table.authors where isNobodys {
        isNobodys = try names.isNobody(author, store)
      }
      if isNobodys { nobodys.append(table) } else { others.append(table) }
    }
    if repair, !nobodys.isEmpty {
      try store.endStrayTables(nobodys.map(\.name), at: NodeClock(store, .here).now)
      add(
        "repair", .ok,
        "\(Self.said(nobodys)) were dropped, on every node: members that were shut out wrote them")
    } else if !nobodys.isEmpty {
      add(
        "tables", .warning,
        "\(Self.said(nobodys)) wait: members that were shut out wrote them",
        "To drop them on every node: flotilla stop \(shellWord(path)), then flotilla doctor "
          + "\(shellWord(path)) --repair, and run it again.")
    }
    if !others.isEmpty {
      add(
        "tables", .warning, "\(Self.said(others)) wait until somebody tracks them",
        "To drop them on every node: flotilla untrack \(shellWord(path)) TABLE…")
    }
    return tables.map(\.name)
  }

  private static func said(_ tables: [StrayTable]) -> String {
    let names = tables.prefix(named).map(\.name).joined(separator: ", ")
    let more = tables.count > named ? " and \(tables.count - named) more" : ""
    let rows = counted(tables.reduce(0) { $0 + $1.rows }, "row")
    return "\(rows) of tables that nobody tracks (\(names)\(more))"
  }

  mutating func judge(_ tables: [WaitingTable]) {
    for table in tables {
      guard let question = table.question else { continue }
      let (file, name) = (shellWord(path), shellWord(table.name))
      add(
        "tables", .warning,
        "\(question.node ?? "the site") tracks a table \(table.name), and this file has had one of "
          + "its own: it is not replicated here",
        "If it is the same table: flotilla track \(file) \(name). If not: flotilla untrack \(file) "
          + "\(name) --here")
    }
  }

  /// A table that was dropped at a peer, or never made there: its rows wait at that peer, which
  /// holds them, so the two are in sync.
  mutating func checkTables(of peer: String, from node: String, _ client: ControlClient) async {
    // One whose schema is not for us, or that does not answer in time, is not judged.
    guard let report = await client.schema(of: peer, within: .seconds(5)) else { return }
    for table in report.adoption?.missing ?? [] {
      add(
        "tables", .warning,
        "the table \(table) is missing at \(peer): its rows are kept there, and "
          + "no program sees them",
        "On \(peer) make it as it is here: the migration of the application, or flotilla schema DB "
          + "--adopt \(shellWord(node)). If it is to go everywhere: flotilla untrack "
          + "\(shellWord(path)) \(shellWord(table))")
    }
    for (table, columns) in report.columnsMissingThere {
      add(
        "columns", .warning,
        "\(table) has no \(columns) at \(peer): the values are kept there, and no program sees "
          + "them",
        "On \(peer) add it as it is here: the migration of the application, or flotilla schema DB "
          + "--adopt \(shellWord(node))")
    }
    for (table, columns) in report.columnsMissingHere {
      add(
        "columns", .warning,
        "\(table) has \(columns) at \(peer), and not here: values are kept, and no program sees "
          + "them",
        "Add it as it is there: the migration of the application, or flotilla schema "
          + "\(shellWord(path)) --adopt \(shellWord(peer))")
    }
  }
}
