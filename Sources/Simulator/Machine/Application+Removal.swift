import SQLite

/// What applications take away: tables and columns.
extension Application {
  /// Removes something from one tracked table, or brings the table back if it is gone.
  ///
  /// Gives the names of the tables that are gone by now and were not before.
  func remove(_ random: inout Seeded, _ story: inout Story) throws -> Set<String> {
    let table = pick(&random)
    guard table.isWrittenByAll else { return [] }
    if isGone(table) {
      try bringBack(table, &story)
      return []
    }
    guard try isCaptured(table.name) else { return [] }
    switch passing > 0 && random.chance(500) ? 0 : random.below(5) {
    case 0: try drop(table, &story)
    case 1: try rename(table, &story)
    case 2: try makeAnew(table, &story)
    case 3: try dropColumn(of: table, &random, &story)
    default: try renameColumn(of: table, &random, &story)
    }
    return isGone(table) ? [table.name] : []
  }

  /// Any table; where rows come and go in those that were made again, mostly one that is gone.
  private func pick(_ random: inout Seeded) -> ApplicationTable {
    let gone = tables.filter(isGone)
    return random.pick(passing > 0 && !gone.isEmpty && random.chance(700) ? gone : tables)
  }

  /// Whether the table has no name here at present.
  func isGone(_ table: ApplicationTable) -> Bool {
    dropped.contains(table.name) || renamed.contains(table.name)
  }

  var hasDropped: Bool { !dropped.isEmpty || !madeAgain.isEmpty }

  /// Whether it was ever dropped.
  func hasDropped(_ table: String) -> Bool { dropped.contains(table) || madeAgain.contains(table) }

  /// In the end every table is there again.
  func bringBack(_ table: ApplicationTable, _ story: inout Story) throws {
    if dropped.remove(table.name) != nil {
      story.tell("node-\(number) creates \(table.name) again")
      try connection.execute("CREATE TABLE \(table.name)\(table.sql)")
      madeAgain.insert(table.name)
    } else if renamed.remove(table.name) != nil {
      story.tell("node-\(number) gives \(table.name) its name again")
      try connection.execute("ALTER TABLE old_\(table.name) RENAME TO \(table.name)")
    }
  }

  private func drop(_ table: ApplicationTable, _ story: inout Story) throws {
    story.tell("node-\(number) drops \(table.name)")
    try connection.execute("DROP TABLE \(table.name)")
    dropped.insert(table.name)
    extra[table.name] = nil
  }

  /// Sets it aside, as a migration does for a while: under such a name it is not the site's.
  private func rename(_ table: ApplicationTable, _ story: inout Story) throws {
    story.tell("node-\(number) renames \(table.name)")
    try connection.execute("ALTER TABLE \(table.name) RENAME TO old_\(table.name)")
    renamed.insert(table.name)
  }

  private func makeAnew(_ table: ApplicationTable, _ story: inout Story) throws {
    story.tell("node-\(number) makes \(table.name) anew")
    try connection.execute(
      "BEGIN IMMEDIATE; DROP TABLE \(table.name); CREATE TABLE \(table.name)\(table.sql); COMMIT")
    extra[table.name] = nil
    madeAgain.insert(table.name)
  }

  private func dropColumn(
    of table: ApplicationTable, _ random: inout Seeded, _ story: inout Story
  ) throws {
    guard let columns = extra[table.name], !columns.isEmpty else {
      return try add(random.pick(ApplicationTable.additions), to: table, &story)
    }
    let index = random.below(columns.count)
    let name = added(to: table)[index]
    story.tell("node-\(number) drops the column \(name) of \(table.name)")
    try connection.execute("ALTER TABLE \(table.name) DROP COLUMN \(name)")
    extra[table.name]?.remove(at: index)
  }

  private func renameColumn(
    of table: ApplicationTable, _ random: inout Seeded, _ story: inout Story
  ) throws {
    guard let columns = extra[table.name], !columns.isEmpty else {
      return try add(random.pick(ApplicationTable.additions), to: table, &story)
    }
    let index = random.below(columns.count)
    let (name, other) = (added(to: table)[index], "late_" + added(to: table)[index])
    guard !added(to: table).contains(other) else { return }
    story.tell("node-\(number) renames the column \(name) of \(table.name)")
    try connection.execute("ALTER TABLE \(table.name) RENAME COLUMN \(name) TO \(other)")
    extra[table.name]?[index] = "late_" + columns[index]
  }
}
