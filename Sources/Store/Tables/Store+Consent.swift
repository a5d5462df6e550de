import Replication
import SQLite

/// Which tables of this file may be replicated: a name alone is no consent.
///
/// A table with rows that was here before somebody else tracked one of its name is held back: no
/// row of it is sent, none is changed, and what others send for it waits on the shelf. So it is
/// until somebody at this machine says what it is.
extension Store {
  /// Decides about a table that the site tracks from now on: a table that is here already is held
  /// back, unless there is nothing in it to lose, or somebody here has said so before.
  ///
  /// True if its rows may be an old copy. What a program has written into a table that it made
  /// here, since this machine is one of the site, are edits like any other.
  func welcome(_ name: String) throws -> Bool {
    let choices = tables.choices
    let choice = try choices[name]
    if choice == .asked || choice == .declined { return true }
    let isHere = try tables.hasRows(name)
    // Whoever joins with a file says that its tables are the site's.
    let isKnown = try choice == .ended || meta.text(.joining) != nil
    // One that has appeared since the site takes in new tables comes from the same migration.
    let isOld = try isKnown || choice == .apart || meta.integer(.takesNewTables) == nil
    if isOld, isHere, !isKnown {
      try choices.set(.asked, for: name)
    } else {
      try choices.remove(name)
    }
    return isOld && isHere || choice == .ended
  }

  /// The word of this machine that a table of its is the site's.
  ///
  /// The site has had it for a while, so the rows that are here rank below what the site holds.
  func consent(to name: String) throws {
    let wasHeldBack = try tables.choices.withheld().contains(folded(name))
    try tables.choices.remove(name)
    guard wasHeldBack, let table = tables.table(name), table.isTracked else { return }
    try tables.setBaseline(true, of: table.id)
    try renewSchema()
    if let table = tables.byID[table.id] { try removeDeleted(table) }
  }

  /// Rows that the site has deleted while the table was held back go, and are kept in the log: the
  /// comparison would take them for new ones.
  private func removeDeleted(_ table: ReplicaTable) throws {
    guard let statements = table.statements else { return }
    let keys = try connection.rows(
      "SELECT key FROM _flotilla_version WHERE tbl = ? AND hash IS NULL", [.integer(table.id)]
    ).compactMap { $0[0].blob.map(Key.init) }
    var gone: [Export.RowID] = []
    for key in keys {
      let values = (key.values ?? []).map(\.sqlite)
      guard let row = try connection.row(statements.selectByKey, values),
        let version = try versions.version(table: table.id, key: key)
      else { continue }
      try contents.logUnseen(
        row, statements, table, key, by: table.shaped(version, nil, key).entry,
        at: version.stamp.millisecondsSince1970)
      try settlement.noteReferred(table, key)
      _ = try contents.writing(table, key) { () throws(SQLiteError) in
        try connection.run(statements.deleteByKey, values)
      }
      gone.append(Export.RowID(table: table.id, key: key))
    }
    try settlement.parkChildren(of: gone)
  }

  /// The same for tables that the site tracks already: nothing changes for the others.
  package func admit(_ names: [String], at now: Instant) throws(StoreError) {
    _ = try foldWritten(at: now)
    try transaction {
      for name in names { try consent(to: siteName(name)) }
    }
  }

  /// Says that a table of this file is not the one that the site tracks under its name.
  package func decline(_ names: [String]) throws(StoreError) {
    try transaction {
      for name in names { try tables.choices.set(.declined, for: siteName(name)) }
      try tables.reload()
    }
  }

  /// Remembers of a table that the site tracks no more what it was here.
  func noteEnd(of table: ReplicaTable) throws {
    let choices = tables.choices
    switch try choices[table.name] {
    case .asked: try choices.set(.apart, for: table.name)
    case .declined: break
    case .apart, .ended, nil:
      if table.isHere { try choices.set(.ended, for: table.nameHere) }
    }
  }
}

extension Store {
  /// Whether nobody was granted another right to one of two tables than to the other.
  ///
  /// Rights go by the name of a table. If a member could say that one is the other, who may not
  /// read it would be sent it under that name.
  func areGrantedAlike(_ one: String, _ other: String) throws(StoreError) -> Bool {
    // By table and node; of several grants the last one stands.
    var (rights, times): ([String: String], [String: Int64]) = ([:], [:])
    var nodes: Set<String> = []
    var gone: Set<String> = []
    func name(_ node: Identity) -> String { "\(node.high) \(node.low)" }
    for signed in try members.statements() {
      let statement = signed.statement
      switch statement.kind {
      case .grant(let node, let table, let right):
        let key = "\(folded(table)) \(name(node))"
        guard statement.time >= times[key, default: .min] else { continue }
        (rights[key], times[key]) = ("\(right.rawValue)", statement.time)
        nodes.insert(name(node))
      case .revoke(let node, _): gone.insert(name(node))
      default: break
      }
    }
    return nodes.allSatisfy { node in
      gone.contains(node)
        || rights["\(folded(one)) \(node)"] == rights["\(folded(other)) \(node)"]
    }
  }
}
