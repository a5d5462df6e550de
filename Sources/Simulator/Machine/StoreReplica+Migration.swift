import Replication

/// Migrations, one by one and, in the end, all of them everywhere.
extension StoreReplica {
  func migrate(_ random: inout Seeded, at now: Instant, _ story: inout Story) throws {
    application.setClock(now.wall)
    if charts != nil, random.chance(400) {
      try charts?.migrate(on: application.connection, &story)
      // A program goes on at once, before anybody has looked.
      try charts?.write(on: application.connection, &story)
      return hasWritten = true
    }
    if random.chance(200) { return try trackAll(at: now) }
    try application.migrate(&random, &story)
    hasWritten = true
    witness.reshaped(try rows())
  }

  var additions: Set<String> {
    Set(application.extra.flatMap { table, added in added.map { "\(table) \($0)" } })
      .union(charts.map { ["\(Charts.name) \($0.level)"] } ?? [])
  }

  func catchUp(
    with additions: Set<String>, at now: Instant, _ story: inout Story
  ) throws {
    application.setClock(now.wall)
    for table in tables { try application.bringBack(table, &story) }
    let level = Charts.levels.indices.last { additions.contains("\(Charts.name) \($0)") }
    try charts?.migrate(to: level ?? 0, on: application.connection, &story)
    try trackAll(at: now)
    for table in tables {
      for addition in ApplicationTable.additions
      where additions.contains("\(table.name) \(addition)") {
        try application.add(addition, to: table, &story)
      }
    }
    hasWritten = true
    witness.reshaped(try rows())
  }
}
