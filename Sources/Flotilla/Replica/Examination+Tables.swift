import Store

/// Tables of the file that are not replicated.
extension Examination {
  /// So many are named.
  private static let named = 12

  mutating func judge(_ tables: [UntrackedTable], takesNew: Bool) {
    let isNew = { (table: UntrackedTable) in
      takesNew && table.kind != .book && table.kind != .old
    }
    for table in tables where isNew(table) {
      add(
        "tables", .warning, "the table \(table.name) is new, and is not replicated yet",
        "flotilla status \(shellWord(path)) says what it waits for; to replicate it now: flotilla "
          + "track \(shellWord(path)) \(shellWord(table.name))")
    }
    let others = tables.filter { !isNew($0) }.map(\.name)
    guard !others.isEmpty else { return }
    let more = others.count > Self.named ? " and \(others.count - Self.named) more" : ""
    add(
      "tables", .ok,
      "not replicated: \(others.prefix(Self.named).joined(separator: ", "))\(more) (flotilla track "
        + "\(shellWord(path)) TABLE replicates one, or says why it cannot)")
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
}
