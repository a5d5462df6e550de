import Replication
import SQLite

/// The conflict log and parked rows, for people.
extension Store {
  /// The table that holds the site's choice of tables and rules. It has no triggers: `track` and
  /// `untrack` edit it, and of what else is written into it nobody hears.
  package static let settings = Tables.settings

  /// A row that is held but does not stand in its table.
  package struct ParkedRow: Sendable {
    package var table: String
    /// The name under which the site knows the table.
    fileprivate let first: String
    package var key: Key
    /// `table`, `constraint`, `reference`, `parent` or `too-large`.
    package var why: String
    package var values: [(name: String, value: Replication.Value)]
    /// By which column it refers to a row of which table that has lost its number; nil if it does
    /// not.
    package var stray: (column: String, parent: String)?

    /// The name by which people call it: the same at each call, and on each machine.
    package var id: String {
      let hash = hash64(key.bytes, seed: tableSeed(first))
      let digits = String(hash, radix: 16)
      return "p" + (String(repeating: "0", count: 16 - digits.count) + digits).suffix(6)
    }
  }

  /// Notes, beside a node that may run, that somebody gives up a parked row, or writes it anew, and
  /// has seen what it says: the next fold makes an edit of it.
  package static func giveUp(
    _ row: ParkedRow, isDeleted: Bool, at wall: Int64, on connection: Connection
  ) throws(SQLiteError) {
    try connection.run(
      """
      INSERT OR IGNORE INTO _flotilla_dismissed(tbl, key)
      SELECT id, ? FROM _flotilla_local WHERE name = ?
      """, [.blob(row.key.bytes), .string(row.first)])
    let key = row.key.values ?? []
    guard isDeleted, !key.isEmpty else { return }
    let names = key.indices.map { ", k\($0)" }.joined()
    let marks = key.map { _ in ", ?" }.joined()
    try connection.run(
      """
      INSERT INTO \(Journal.table)(tbl, at\(names))
      SELECT id, ?\(marks) FROM _flotilla_local WHERE name = ?
      """, [.integer(wall)] + key.map(\.sqlite) + [.string(row.first)])
  }

  /// Conflicts, the latest first; those that were restored or dismissed only if asked for. Rows
  /// that got a fresh key are told of until somebody has dismissed that.
  package func conflictList(all: Bool) throws(StoreError) -> [Conflict] {
    try reporting { () throws(SQLiteError) in
      try conflicts.list("\(all ? "" : "WHERE state IN ('open', 'rekeyed')") ORDER BY id DESC", [])
        .map(namedHere)
    }
  }

  /// Under which key the row goes on that lost its own, and how many others have followed it.
  package func rekeyed(_ conflict: Conflict) throws(StoreError) -> (key: Key, rows: Int)? {
    try reporting { () throws(SQLiteError) in try conflicts.rekeyed(conflict.id) }
  }

  package func conflict(_ id: Int64) throws(StoreError) -> Conflict? {
    try reporting { () throws(SQLiteError) in
      try conflicts.list("WHERE id = ?", [.integer(id)]).first.map(namedHere)
    }
  }

  /// What was done about it: restored, or dismissed because nobody wants it.
  package func settle(_ id: Int64, as state: Conflict.State) throws(StoreError) {
    try reporting { () throws(SQLiteError) in try conflicts.set(state, of: id) }
  }

  /// Takes those off the list that nobody has settled, in one transaction; gives their numbers.
  package func dismissConflicts(_ ids: [Int64]) throws(StoreError) -> [Int64] {
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        var dismissed: [Int64] = []
        for id in ids where try conflicts.dismiss(id) { dismissed.append(id) }
        return dismissed
      }
    }
  }

  /// How much of the log is kept here.
  package func conflictBounds() throws(StoreError) -> ConflictBounds {
    try reporting { () throws(SQLiteError) in try readConflictBounds() }
  }

  private func readConflictBounds() throws(SQLiteError) -> ConflictBounds {
    var bounds = ConflictBounds()
    if let days = try meta.integer(.conflictDays) { bounds.days = Int(days) }
    if let count = try meta.integer(.conflictCount) {
      bounds.count = Int(count)
    } else {
      bounds.bytes = ConflictBounds.bytes(besides: try usedBytes() - conflicts.bytes())
    }
    return bounds
  }

  /// Pages of the file that hold something.
  private func usedBytes() throws(SQLiteError) -> Int {
    let pages =
      try connection.prepareScalar("PRAGMA page_count")
      - connection.prepareScalar("PRAGMA freelist_count")
    return Int(try pages * connection.prepareScalar("PRAGMA page_size"))
  }

  /// Sets how much is kept, where it is given, and lets go of what is beyond. A count that was
  /// chosen holds however much the log takes.
  package func setConflictBounds(
    count: Int?, days: Int?, at now: Instant
  ) throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        if let count { try meta.set(.conflictCount, .integer(Int64(count))) }
        if let days { try meta.set(.conflictDays, .integer(Int64(days))) }
      }
    }
    try trimConflicts(at: now)
  }

  /// The bounds that hold where nobody has set any.
  package func setConflictBoundsByDefault(at now: Instant) throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        for setting in [Meta.Name.conflictCount, .conflictDays] { try meta.set(setting, .null) }
      }
    }
    try trimConflicts(at: now)
  }

  /// Lets go of the oldest conflicts beyond the bounds.
  package func trimConflicts(at now: Instant) throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        let gone = try conflicts.trim(to: try readConflictBounds(), at: now.ageing)
        guard gone > 0 else { return }
        try meta.set(
          .conflictsGone, .integer((try meta.integer(.conflictsGone) ?? 0) + Int64(gone)))
      }
    }
  }

  /// Lets go of the oldest rulings beyond what is kept.
  package func trimRulings() throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in try rulings.trim() }
    }
  }

  /// Lets go of the oldest settled verdicts.
  package func trimVerdicts(at now: Instant) throws(StoreError) {
    try verdicts.trim(at: now, atOnce: pace.comparedRows)
  }

  /// How many were let go so far.
  package func conflictsGone() throws(StoreError) -> Int {
    try reporting { () throws(SQLiteError) in
      Int(try meta.integer(.conflictsGone) ?? 0)
    }
  }

  package func parkedRows() throws(StoreError) -> [ParkedRow] {
    try reporting { () throws(SQLiteError) in
      let strays = try strays
      var found: [ParkedRow] = []
      let rows = try connection.rows(
        """
        SELECT tbl, key, why, row FROM _flotilla_shelf WHERE why <> 'columns'
        AND (tbl, key) NOT IN (SELECT tbl, key FROM _flotilla_dismissed) ORDER BY tbl, key
        """)
      for row in rows {
        guard let table = row[0].integer.flatMap({ tables.byID[$0] }), !table.isHeld,
          let why = row[2].string.flatMap(Shelf.Why.init)
        else { continue }
        let entry = Shelf.decode(row[3].blob ?? [], why)
        var parked = ParkedRow(
          table: table.nameHere, first: table.name, key: Key(bytes: row[1].blob ?? []),
          why: why.rawValue,
          values: namedHere(entry?.values ?? [], in: table.name))
        if why == .reference {
          parked.stray = try strays.words(table, parked.key)
        }
        found.append(parked)
      }
      return found
    }
  }

  /// Values by the names that their columns have in this file, where they have one. Of two values
  /// for one column the one that would go in has it, and the other one the name that it came with.
  func namedHere(
    _ values: [(name: String, value: Replication.Value)], in table: String
  ) -> [(name: String, value: Replication.Value)] {
    guard let statements = tables.table(table)?.statements else { return values }
    let columns = statements.columns(for: values.map(\.name), values.map(\.value))
    let named = columns.map { index, column in
      (column.map { statements.names[$0] } ?? values[index].name, values[index].value)
    }
    let others = values.indices.filter { index in
      !columns.contains { $0.index == index }
        && !named.contains { isSameName($0.0, values[index].name) }
    }
    return named + others.map { values[$0] }
  }

  private func namedHere(_ conflict: Conflict) -> Conflict {
    var conflict = conflict
    if let loser = conflict.loser {
      conflict.loser?.values = namedHere(loser.values, in: conflict.table)
    }
    if let winner = conflict.winner {
      conflict.winner?.values = namedHere(winner.values, in: conflict.table)
    }
    conflict.table = nameHere(conflict.table)
    return conflict
  }

  /// The names of the columns of a table that travel, those of the key first, as far as it is here.
  package func columns(of table: String) -> [String] {
    tables.table(called: table)?.statements?.names ?? []
  }

  /// The names of the key columns of a table, as far as the table is here.
  package func keyColumns(of table: String) -> [String] {
    tables.table(called: table)?.statements?.keyNames ?? []
  }
}
