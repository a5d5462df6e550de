import Replication
import SQLite

/// What one merge is doing to the tables.
struct Application {
  var placed = 0
  /// Rows that were known here, or older than what is.
  var known: UInt64 = 0
  var shelved = 0
  /// Who has said something about the office.
  var speakers: Set<Origin> = []
  /// Rows that met a constraint and are tried again once the others stand: until then they are on
  /// the shelf, like any that are parked.
  var postponed: Set<Export.RowID> = []
  /// Tables in which something changed, so that parked rows may fit now.
  var changed: Set<Int64> = []
  /// Own edits that are to be made again on top of what has come.
  var repeated: [(table: Int64, key: Key, edit: Version)] = []
  /// Rows that came, and that were deleted here before the key of their table was changed.
  var undone: [(table: Int64, key: Key, by: FormerRows.Former)] = []
  /// What the sender says was judged.
  var judged: Judged?
  /// The rows were asked for because something is amiss.
  var isRepair = false
  /// What a whole member that sends them is known to hold.
  var held = Frontier()
  /// Rows that go into their table together.
  var newRows = NewRows()
}

extension Store {
  /// Merges one version: if it outranks what stands, its content is put into the table. `known` is
  /// what stands, if that was looked for already.
  @_optimize(speed)
  func apply(
    _ row: ShapedRow, _ table: ReplicaTable, _ key: Key, over known: Version?? = nil,
    at now: Instant, _ application: inout Application
  ) throws {
    if let ruling = row.row.content.ruling {
      return try take(ruling, row, table, key, &application)
    }
    let incoming = row.row.version
    if tables.hasHeld, try meetHeld(row, table, key, &application) { return }
    var old = try known ?? versions.version(table: table.id, key: key)
    var meeting = viewpoint.meeting(incoming, old)
    if case .waits = meeting, old == nil, !viewpoint.isUndecided(incoming),
      let gone = try lost.version(table, key), incoming.rank <= gone.rank
    {
      // It stood here before its table was dropped.
      meeting = .gives(.history)
    }
    if case .gives = meeting, let edit = try unrepeat(table, key, over: old, &application) {
      (old, meeting) = (edit, viewpoint.meeting(incoming, edit))
    }
    switch meeting {
    case .same:
      application.known += 1
      // It came with an exchange that was cut, before the frontier could cover it; now it may.
      recent.touch(incoming.dot, table: table.id, key)
      if try refusals.putBack(row, table, key, &application) { return }
      return try complete(row, table, key, &application)
    case .stays:
      application.known += 1
      if let old, try refusals.wasTakenBack(old, by: application, table, key) { break }
      // Who lacks the one needs the other, which may have come long before.
      if let old { recent.touch(old.dot, table: table.id, key) }
      if let old, old.collides(with: incoming) {
        let isKept = try noteCollision(
          incoming, row.entry, under: old, table, key, at: now
        ) { try standingSide(table, key) }
        if isKept { return try moved.noteFormer(of: row, table, key) }
      } else if let old, old.isTwin(of: incoming) {
        try moved.noteTwin(incoming, of: old, table, key)
      }
      guard let old, viewpoint.isLostHere(incoming, to: old) else { return }
      return try logLoser(
        incoming, row.entry, table, key, standingSide(table, key),
        isTold: !old.isApart(from: incoming), at: now)
    case .waits:
      try hold(incoming, row.entry, table, key)
      if let old, old.collides(with: incoming), incoming.hash != old.hash {
        try kinship.former.note(
          FormerKeys.Place(table: table.id, key: key, created: incoming.created))
      }
      if office.certifies, brings(application) { pending.noteCompared(incoming.dot) }
      return
    case .gives(let fate):
      if let old, let edit = try edit(above: incoming, shownBy: old, table, key, application) {
        application.repeated.append((table.id, key, edit))
        return try rowVersions.keep(incoming, table, key, old: old)
      }
      try old.map { try leave($0, to: fate, row, table, key, at: now) }
    }
    try stand(row, table, key, over: old, at: now, &application)
  }

  /// Whether a repair has brought what will not come any other way: its sender covers no more than
  /// this node.
  private func brings(_ application: Application) -> Bool {
    let frontier = origins.frontier
    return application.isRepair && frontier.joined(application.held) == frontier
  }

  /// The own edit whose content is in the table and that is made again on top of what comes: the
  /// one that stands, or one that had given way to the anchor's word on what it was made on, as
  /// that says the same.
  private func edit(
    above incoming: Version, shownBy standing: Version, _ table: ReplicaTable, _ key: Key,
    _ application: Application
  ) throws -> Version? {
    if try isBase(incoming, of: standing, table, key, application) { return standing }
    for item in try pending.all(table: table.id, key: key)
    where viewpoint.isShown(item.version, by: standing) {
      guard try isBase(incoming, of: item.version, table, key, application) else { continue }
      try pending.remove(item)
      return item.version
    }
    return nil
  }

  /// Whether an own edit, whose content is in the table, is made again on top of what comes. One
  /// that was rejected is not, nor if that was before it was made again: else the two would go on
  /// for ever.
  private func isBase(
    _ incoming: Version, of old: Version, _ table: ReplicaTable, _ key: Key,
    _ application: Application
  ) throws -> Bool {
    guard viewpoint.isBase(incoming, of: old), lives.made(old.edit), table.isHere
    else { return false }
    // An edit that was judged without a word on it never met an anchor: it had lost where nobody
    // was one. Unless words may have been let go.
    if isJudged(old, application), try rulings.mayLack() { return false }
    // Who may not write the table any more makes nothing again: others have the edit, and it is
    // judged as it is.
    guard mayWrite(table) || !office.isHeld else { return false }
    guard try verdicts.ruling(on: old.edit) == nil else { return false }
    guard let shelved = try shelf.entry(table: table.id, key: key), shelved.why.isWhole
    else { return true }
    // One that is parked an anchor has yet to judge; where nobody is one, it is made again as well.
    return shelved.why.isParked && !office.isHeld
  }

  /// Whether the anchor says that it has judged an edit, or the sender does.
  private func isJudged(_ edit: Version, _ application: Application) -> Bool {
    guard office.isHeld else { return false }
    return !viewpoint.isUndecided(edit)
      || application.judged?.covers(edit.dot, in: office.term) == true
  }

  /// What an own edit was to be made again on gives way itself to more that comes: so the edit
  /// stands once more, and meets that.
  private func unrepeat(
    _ table: ReplicaTable, _ key: Key, over base: Version?, _ application: inout Application
  ) throws -> Version? {
    let index = application.repeated.firstIndex { $0.table == table.id && $0.key == key }
    guard let index else { return nil }
    let edit = application.repeated.remove(at: index).edit
    try rowVersions.keep(edit, table, key, old: base)
    return edit
  }

  /// Makes an own edit again on top of the certificate that has come, in the session in which it
  /// was made. Whoever waits for its verdict gets that of the new one.
  func editAgain(
    _ edit: Version, _ table: ReplicaTable, _ key: Key, _ edits: inout Edits, at now: Instant,
    _ application: inout Application
  ) throws {
    let session = anchor.onlineSession
    (anchor.onlineSession, repeating) = (edit.session, edit.asEdit)
    defer { (anchor.onlineSession, repeating) = (session, nil) }
    if let parked = try shelf.entry(table: table.id, key: key), parked.why.isParked,
      let standing = try versions.version(table: table.id, key: key)
    {
      return try makeAgain(
        edit.asEdit, parked, over: standing, table, key, &edits, at: now, &application)
    }
    let before = edits.last
    try fold(table, key, madeAt: Dating.Moment(of: edit), &edits)
    guard edits.last > before, let made = try versions.version(table: table.id, key: key),
      made.saysTheSame(as: edit)
    else { return }
    try verdicts.pass(of: edit.edit.seq, to: edits.last)
  }

  /// The same for one that waited to be judged, and whose content is not in the table; false if it
  /// was not made on what stands, or is not here.
  func editAgain(
    waiting item: PendingTable.Item, _ edits: inout Edits, at now: Instant,
    _ application: inout Application
  ) throws -> Bool {
    let edit = item.version.asEdit
    guard lives.made(edit.dot), let table = tables.byID[item.table], table.isHere,
      mayWrite(table), try verdicts.ruling(on: edit.dot) == nil,
      let standing = try versions.version(table: item.table, key: item.key),
      !standing.isTentative, standing.edit != edit.dot, edit.hasSeen(standing)
    else { return false }
    let entry = try pending.entry(item)
    guard edit.isDeleted || entry != nil else { return false }
    try pending.remove(item)
    repeating = edit
    defer { repeating = nil }
    try makeAgain(
      edit, entry, over: standing, table, item.key, &edits, at: now, &application)
    return true
  }

  /// Makes an own edit again on top of what stands, from content that is not in the table.
  private func makeAgain(
    _ edit: Version, _ entry: Shelf.Entry?, over standing: Version, _ table: ReplicaTable,
    _ key: Key, _ edits: inout Edits, at now: Instant, _ application: inout Application
  ) throws {
    let version = try make(
      over: standing, hash: edit.hash, isDeleted: edit.isDeleted, isDangling: edit.isDangling,
      madeAt: Dating.Moment(of: edit), keys: KeyNote(of: edit, key), table, key, &edits)
    let row = table.shaped(version, entry, key)
    try stand(row, table, key, over: standing, at: now, &application)
    edits.add(row.shape, version, row.row.content)
    try verdicts.pass(of: edit.dot.seq, to: version.dot.seq)
  }

  /// Makes a version the one that stands, and puts its content into the table.
  @_optimize(speed)
  func stand(
    _ row: ShapedRow, _ table: ReplicaTable, _ key: Key, over old: Version?,
    leaving: Leaving? = nil, isPlaced: Bool = false, at now: Instant,
    _ application: inout Application
  ) throws {
    let incoming = row.row.version
    let gone = old == nil ? try lost.version(table, key) : nil
    if let gone, gone.rank > incoming.rank { return }
    if let left = try leaving ?? self.leaving(old, to: incoming, table, key) {
      settlement.noteReferred(left.referred, table, key)
      try keepReplaced(left, by: incoming, table, key, at: now)
    }
    if old?.isDangling != incoming.isDangling { application.changed.insert(table.id) }
    try rowVersions.keep(incoming, table, key, old: old)
    if let old, !old.isDeleted { try moved.noteReplaced(old, by: incoming, table, key) }
    if incoming.hasNumbering { try moved.noteFormer(of: row, table, key) }
    let isWaiting = try putBacks.remove(table, key)
    application.placed += 1
    guard table.isTracked, let statements = table.statements else {
      return try settlement.shelve(row, table, key, why: .table, &application)
    }
    switch row.row.content {
    case .deleted(let values):
      if old?.isDeleted != false {
        if let stood = try connection.row(statements.selectByKey, values.map(\.sqlite)) {
          try contents.logUnseen(stood, statements, table, key, by: row.entry, at: now.moment)
        }
      }
      _ = try contents.writing(table, key) { () throws(SQLiteError) in
        try connection.run(statements.deleteByKey, values.map(\.sqlite))
      }
      try shelf.remove(table: table.id, key: key)
      application.changed.insert(table.id)
    case .ruling: break
    case .withheld:
      // It says what is here already.
      if !isWaiting, let old, old.saysTheSame(as: incoming),
        try shelf.entry(table: table.id, key: key)?.why.isWhole != true
      {
        return
      }
      try settlement.shelve(row, table, key, why: .tooLarge, &application)
    case .values where isPlaced: application.changed.insert(table.id)
    case .values(let values):
      let isNew = old == nil && gone == nil && !lost.knowsEnd(of: table)
      let shelved = isNew ? nil : try shelf.entry(table: table.id, key: key)
      let isSame = old.map { !$0.isDeleted && $0.hash == incoming.hash } ?? false
      var placement = Placement(
        shape: row.shape, values: values, hash: incoming.hash,
        exists: old.map { !$0.isDeleted } ?? false && shelved?.why.isWhole != true,
        unseenAt: old?.isDeleted == false ? nil : now.moment)
      // What waits to be put back is not as its version has it; nor is a row whose author counts
      // other defaults than this table has.
      if isSame, !isWaiting, shelved?.why.isWhole != true,
        statements.rest(in: shelved) == 0, shelved?.standIns.isEmpty ?? true,
        placement.isCounted(by: statements, asHere: true)
      {
        return
      }
      if let shelved {
        placement.brought = shelved.brought
        try shelf.remove(table: table.id, key: key)
      }
      application.changed.insert(table.id)
      if try settlement.gather(placement, statements, table, key, &application) { return }
      if try !contents.place(placement, statements, table, key) {
        try settlement.postpone(placement, statements, table, key, &application)
      }
    }
  }

  /// The same version again, this time with content that was withheld, or with values of a column
  /// that was dropped here and is here again.
  private func complete(
    _ row: ShapedRow, _ table: ReplicaTable, _ key: Key, _ application: inout Application
  ) throws {
    guard case .values(let values) = row.row.content, let statements = table.statements
    else { return }
    let entry = try shelf.entry(table: table.id, key: key)
    var placement = Placement(
      shape: row.shape, values: values, hash: row.row.version.hash, exists: true)
    placement.brought = entry?.brought ?? []
    let isBetter =
      switch entry?.why {
      case .tooLarge: true
      case .columns where application.isRepair, nil where application.isRepair:
        try contents.isBetter(placement, than: entry, by: row.row.version.edit.origin, statements)
      case .columns: entry?.rest != 0 && placement.isCounted(by: statements)
      default: false
      }
    guard isBetter else { return }
    try shelf.remove(table: table.id, key: key)
    settlement.changed(table, key)
    if try !contents.place(placement, statements, table, key) {
      try settlement.postpone(placement, statements, table, key, &application)
    }
  }
}
