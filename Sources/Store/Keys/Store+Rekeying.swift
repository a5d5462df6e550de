import Replication
import SQLite

/// After a migration that gave a table another key: what each of its rows was before, and what has
/// become of it elsewhere meanwhile.
///
/// The rows of a table are on each machine made anew by its own migration. A row that nobody
/// edited since is as old as the edit that it shows, not as the migration: so what others have
/// edited under the new key stands, and what was edited here under the old one comes along.
extension Store {
  /// Looks at one row of a table whose key was changed. `touchedAt`: a program wrote it before the
  /// migration, and nobody had seen that.
  func rekey(
    _ table: ReplicaTable, _ key: Key, _ row: StandingRow, touchedAt: Dating.Moment?,
    _ edits: inout Edits, at now: Instant
  ) throws {
    guard let statements = table.statements else { return }
    let held = try versions.version(table: table.id, key: key)
    let shelved = try shelf.entry(table: table.id, key: key)
    let isHeld = held.map { $0.isDeleted || shelved?.why == .table } ?? true
    guard isHeld else {
      return try fold(
        table, key, row, madeAt: touchedAt ?? Dating.Moment(now.moment), &edits)
    }
    let values = try row.values ?? formerRows.values(of: key, statements)
    let (formers, isTold) = try formerRows.formers(of: values, in: table, statements.shape)
    let descent = try formerRows.descent(of: row, values, statements, key, formers, isTold)
    var former: FormerRows.Former?
    if case .former(let found, _) = descent { former = found }
    let beside = try row.beside(former?.shelved, statements, key, on: connection)
    let hash = row.hash(beside)
    let isImage = try formerRows.isImage(row, values, descent, statements, beside)
    if let former { try forget(former) }
    if let held {
      let isOld = former.map { isImage && held.hasSeen($0.version) } ?? false
      let isEqual = !held.isDeleted && held.hash == hash
      if isEqual || isOld && touchedAt == nil || !mayWrite(table) {
        return try adopt(held, shelved, table, key, statements)
      }
      if case .unknown = descent {
        return try adopt(held, shelved, table, key, statements, over: now.moment)
      }
    }
    guard mayWrite(table) else { return }
    // What was made anew elsewhere, and says what was written over here.
    let base = former.flatMap { former in held.flatMap { former.version.hasSeen($0) ? $0 : nil } }
    if base == nil { try unhold(held, table, key) }
    try shelf.remove(table: table.id, key: key)
    var lowest = table
    if case .unknown = descent { lowest = table.asBaseline }
    let moment =
      touchedAt ?? former.map { time(of: $0.version, isImage: isImage) }
      ?? Dating.Moment(now.moment)
    var version = try make(
      over: base ?? former?.version, besides: base == nil ? nil : former?.version, hash: hash,
      isDeleted: false, madeAt: moment, lowest, key, &edits)
    if isImage, touchedAt == nil, let former, former.shelved?.why.isWhole != true {
      // Whoever writes over what it shows is later, and be it by the smallest step.
      version.image = former.version.image ?? former.version.first
      version.stamp = former.version.stamp
    }
    if let former { try verdicts.supersede(version.dot.seq, former.table, former.key) }
    try rowVersions.keep(version, table, key, old: base)
    if !beside.isEmpty { try contents.keep(beside, statements, table, key) }
    if let all = row.values {
      edits.add(statements.shape(with: beside.extras), version, .values(beside.said(all)))
    } else {
      edits.addLong()
    }
    if base != nil { return settlement.changed(table, key) }
    try held.map { try meet($0, shelved, table, key, &edits, at: now) }
    // Under a key that the table did not have here it was deleted since.
    guard let last = formers.first?.former, last.table.id != former?.table.id else { return }
    try deleteAgain(last, table, key, &edits)
  }

  /// When a row was made that shows what a version of before says, or something that was written
  /// over that before anybody looked: then it goes before whatever only shows it.
  private func time(of version: Version, isImage: Bool) -> Dating.Moment {
    var moment = Dating.Moment(of: version)
    if !isImage { moment.at += 1 }
    return moment
  }

  /// The row was made anew under another key: its versions from now on say more. What is left in
  /// the end had no row any more.
  private func forget(_ former: FormerRows.Former) throws(SQLiteError) {
    guard !former.table.isHere, !former.version.isDeleted,
      former.shelved?.why.isWhole != true
    else { return }
    rowVersions.count(former.table, former.key, old: former.version, new: nil)
    try versions.remove(table: former.table.id, key: former.key)
    try shelf.remove(table: former.table.id, key: former.key)
  }

  /// What came for a row stands; `moment` if what stood there is kept in the conflict log.
  private func adopt(
    _ held: Version, _ shelved: Shelf.Entry?, _ table: ReplicaTable, _ key: Key,
    _ statements: RowStatements, over moment: Int64? = nil
  ) throws {
    let values = (key.values ?? []).map(\.sqlite)
    settlement.changed(table, key)
    guard let shelved, !held.isDeleted else {
      if let moment, let row = try connection.row(statements.selectByKey, values) {
        try contents.logUnseen(row, statements, table, key, by: table.keyEntry(key), at: moment)
      }
      _ = try contents.writing(table, key) { () throws(SQLiteError) in
        try connection.run(statements.deleteByKey, values)
      }
      return
    }
    try shelf.remove(table: table.id, key: key)
    var placement = Placement(shelved, held, table, key)
    (placement.exists, placement.unseenAt) = (moment == nil, moment)
    guard try !contents.place(placement, statements, table, key) else { return }
    var application = Application()
    try settlement.postpone(placement, statements, table, key, &application)
  }

  /// Takes what was held of a row away, to let it meet what stands.
  func unhold(_ held: Version?, _ table: ReplicaTable, _ key: Key) throws(SQLiteError) {
    guard let held else { return }
    try versions.remove(table: table.id, key: key)
    try shelf.remove(table: table.id, key: key)
    rowVersions.count(table, key, old: held, new: nil)
  }

  /// What was held comes, as if now.
  func meet(
    _ held: Version, _ shelved: Shelf.Entry?, _ table: ReplicaTable, _ key: Key,
    _ edits: inout Edits, at now: Instant
  ) throws {
    var application = Application()
    let row = table.shaped(held, shelved, key)
    try apply(row, table, key, at: now, &application)
    for (id, key, edit) in application.repeated {
      guard let table = tables.byID[id] else { continue }
      try editAgain(edit, table, key, &edits, at: now, &application)
    }
    try settlement.settle(&application)
  }

  /// A row was written under the key that its table had before, and the migration came before
  /// anybody looked.
  func refold(
    _ before: ReplicaTable, _ key: Key, madeAt moment: Dating.Moment, _ edits: inout Edits,
    at now: Instant
  ) throws {
    guard let table = tables.table(before.name), let statements = table.statements,
      let shape = before.keyShape, let map = KeyMapping(shape, in: statements.shape),
      let values = key.values, values.count == shape.count
    else { return }
    let rows = try connection.with(statements.select(where: map.places), values.map(\.sqlite)) {
      (statement) throws(SQLiteError) in
      var rows: [StandingRow] = []
      while rows.count < 100, try statement.step() {
        rows.append(StandingRow(statement, statements))
      }
      return rows
    }
    for row in rows {
      guard let key = table.key(row.key) else { continue }
      try rekey(table, key, row, touchedAt: moment, &edits, at: now)
    }
    guard rows.isEmpty, mayWrite(table),
      let old = try versions.version(table: before.id, key: key), !old.isDeleted
    else { return }
    let deleted = try make(
      over: old, hash: 0, isDeleted: true, madeAt: moment, before, key, &edits)
    try shelf.remove(table: before.id, key: key)
    try rowVersions.keep(deleted, before, key, old: old)
    edits.add(before.keyShape(of: values), deleted, .deleted(key: values))
  }
}
