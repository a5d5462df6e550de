import Replication
import SQLite

/// Values that were kept beside a row, on their way into columns that exist here by now.
extension Settlement {
  /// What becomes of a row.
  private struct Entering {
    /// As its table will show it.
    var values: [Replication.Value]
    var known: [(column: Int, value: SQLite.Value)] = []
    /// What the table will not show, for the log.
    var unseen: [(column: Int, value: SQLite.Value)] = []
    /// What is kept beside it.
    var entry: Shelf.Entry
    /// Under which names its version counts the columns, nil for one that it does not; nil if a
    /// program has written the row since.
    var counted: [String?]?
    /// The columns that show what a rename has brought, of which that is known by now: it is older
    /// than what has come for them since.
    var brought: Set<Int> = []
  }

  /// Puts columns in place that exist here by now; the others wait on. Gives whether the row is
  /// parked by that.
  ///
  /// What an application has written into a new column before anybody looked stays: it is newer.
  /// What the migration has put there does not: what most rows show. If no value is that of most,
  /// it has computed them: what another machine has written stands over that. Of two values that
  /// were written apart one goes to the log.
  func unpackColumns(
    _ entry: Shelf.Entry, _ version: Version, _ table: ReplicaTable, _ key: Key,
    _ statements: RowStatements, _ presets: Presets, _ former: [String: String]
  ) throws -> Bool {
    let keyValues = (key.values ?? []).map(\.sqlite)
    guard let standing = try connection.row(statements.selectByKey, keyValues) else {
      // A program has deleted it, which the next fold looks at.
      try shelf.put(entry, table: table.id, key: key)
      return false
    }
    let shown = standing.map(Replication.Value.init)
    let beside = try statements.beside(entry, shown)
    var entering = Entering(values: shown, entry: entry)
    // Nobody has written the row since: what stands in the column is what the row has shown so far.
    var before = beside
    let unknown = Set(statements.unknown(in: entry).map(\.name))
    before.extras += entry.values.filter { !unknown.contains($0.name) }
    let columns = statements.columns(for: entry.values.map(\.name), entry.values.map(\.value))
    entering.counted = statements.countedNames(
      version.hash, shown, before, kept: Set(columns.compactMap(\.column)), former: former)
    if entering.counted != nil {
      entering.brought = beside.settled(statements)
      let names = zip(beside.places, beside.standIns)
        .filter { entering.brought.contains($0.0) }.map(\.1.name)
      entering.entry.standIns.removeAll { $0.isBrought && names.contains($0.name) }
    }
    let isAsMigrated =
      try entering.counted == nil && contents.isTheirs(version)
      && statements.shows(version.hash, shown, before, without: columns.compactMap(\.column))
      && !presets.isWritten(key)
    try choose(&entering, columns, statements) { (column) throws(SQLiteError) in
      if try presets.holds(standing[column], column, of: key) { return .migration(isShared: true) }
      guard isAsMigrated, try presets.hasComputed(column) else { return .program }
      return .migration(isShared: false)
    }
    for (column, standIn) in zip(beside.places, beside.standIns)
    where !standIn.isBrought && statements.takes(standIn.value, in: column)
      && standIn.value != shown[column]
    {
      entering.known.append((column, standIn.value.sqlite))
      entering.values[column] = standIn.value
    }
    if try !enter(entering, version, table, key, statements) {
      if entering.counted != nil {
        try park(entering, table, key, statements)
        return true
      }
      entering.unseen += entering.known.filter { !beside.places.contains($0.column) }
      entering.values = shown
    } else {
      try noteEntered(in: &entering, keyValues, statements)
    }
    try logUnseen(entering, version, statements, table, key)
    // What went into its column is counted there from now on.
    var after = try statements.beside(entering.entry, entering.values)
    if entering.counted != nil {
      after.rest = 0
      after.rest = statements.sum(entering.values, after).rest(to: version.hash)
    }
    // The next fold is to see that something was written over these.
    after.standIns += after.writtenOver.sorted { $0.key < $1.key }.map(\.value)
    try contents.keep(after, statements, table, key)
    return false
  }

  /// Who has put into a new column what stands there.
  private enum Filler {
    case program
    /// The same into all rows, or into each its own.
    case migration(isShared: Bool)
  }

  /// Which of the values go into their columns. `filler` is asked about rows that a program may
  /// have written.
  private func choose(
    _ entering: inout Entering, _ columns: [(index: Int, column: Int?)],
    _ statements: RowStatements, filler: (Int) throws(SQLiteError) -> Filler
  ) throws(SQLiteError) {
    let entry = entering.entry
    let (names, values) = (entry.values.map(\.name), entry.values.map(\.value))
    for (index, column) in columns {
      guard let column else { continue }
      let (kept, shown) = (values[index], entering.values[column])
      if let counted = entering.counted {
        // The version has a value under each of two names of the column.
        let isCounted =
          shown != statements.defaults[column] && !entering.brought.contains(column)
        if isCounted, kept != shown, let name = counted[column] {
          let isLater = statements.isLater(names[index], than: name, of: column)
          let isShown =
            isLater
            ? statements.isHidden(kept, by: shown, in: column)
            : !statements.isHidden(shown, by: kept, in: column)
          let hidden = isShown ? kept : shown
          if !statements.isSilent(hidden, in: column) {
            entering.unseen.append((column, hidden.sqlite))
          }
          if isShown { continue }
        }
      } else {
        switch try filler(column) {
        case .program:
          entering.unseen.append((column, kept.sqlite))
          continue
        case .migration(isShared: false): entering.unseen.append((column, shown.sqlite))
        case .migration: break
        }
      }
      if kept == .null, statements.isRequired[column] {
        let name = statements.shape.columns[column]
        entering.entry.standIns.append(
          StandIn(name: name, value: .null, shown: shown, isCounted: true))
        continue
      }
      entering.known.append((column, kept.sqlite))
      entering.values[column] = kept
    }
    // Of values for one column the others are none of the row.
    for index in values.indices where !columns.contains(where: { $0.index == index }) {
      guard let column = statements.columns(for: [names[index]])[0],
        !statements.isSilent(values[index], in: column)
      else { continue }
      entering.unseen.append((column, values[index].sqlite))
    }
  }

  /// Writes what goes in; false if the row would break a constraint by that, or refer to nothing.
  private func enter(
    _ entering: Entering, _ version: Version, _ table: ReplicaTable, _ key: Key,
    _ statements: RowStatements
  ) throws -> Bool {
    let (known, keyValues) = (entering.known, (key.values ?? []).map(\.sqlite))
    guard !known.isEmpty else { return true }
    let mayDangle = try version.isDangling || isDangling(table, key)
    return try derived.attempt {
      let broken = try contents.writing(table, key) { () throws(SQLiteError) in
        _ = try connection.run(
          statements.update(known.map(\.column)), known.map(\.value) + keyValues)
      }
      return try broken == nil && (mayDangle || !isDangling(table, key))
    }
  }

  /// What went into its column counts as it did so far, and is kept on where the column shows it
  /// otherwise.
  private func noteEntered(
    in entering: inout Entering, _ keyValues: [SQLite.Value], _ statements: RowStatements
  ) throws(SQLiteError) {
    let known = entering.known.map { (column: $0.column, value: Replication.Value($0.value)) }
    if known.contains(where: { !statements.takes($0.value, in: $0.column) }),
      let row = try connection.row(statements.selectByKey, keyValues)
    {
      entering.values = row.map(Replication.Value.init)
    }
    for (column, value) in known {
      let name = statements.shape.columns[column]
      let former = entering.entry.standIns.last { isSameName($0.name, name) }
      entering.entry.standIns.removeAll { isSameName($0.name, name) }
      entering.entry.standIns.append(
        StandIn(
          name: name, value: value, shown: entering.values[column],
          isCounted: former?.isCounted ?? true))
    }
  }

  /// A row does not fit with the values that were kept for its new columns: it is parked like any
  /// other, for those are values of the row, too.
  private func park(
    _ entering: Entering, _ table: ReplicaTable, _ key: Key, _ statements: RowStatements
  ) throws {
    let beside = try statements.beside(entering.entry, entering.values)
    let names = statements.shape(with: beside.extras).columns
    let values = beside.said(entering.values)
    try park(zip(names, values).map { (name: $0, value: $1) }, table, key, statements)
  }

  private func park(
    _ values: [(name: String, value: Replication.Value)], _ table: ReplicaTable, _ key: Key,
    _ statements: RowStatements
  ) throws {
    _ = try contents.writing(table, key) { () throws(SQLiteError) in
      try connection.run(statements.deleteByKey, (key.values ?? []).map(\.sqlite))
    }
    try shelf.put(
      Shelf.Entry(why: .constraint, values: values, keyCount: statements.shape.keyCount),
      table: table.id, key: key)
    changed(table, key)
  }

  /// Rows that refer to some that were just parked, changed or removed wait until all is folded: no
  /// program has broken these references. One that a program has written since stays: the fold
  /// looks at that.
  func parkChildren(of rows: [Export.RowID]) throws {
    var wave = rows
    while !wave.isEmpty {
      let parents = wave
      wave = []
      for reference in references.all {
        let gone = parents.filter { $0.table == reference.parent.id }
        guard !gone.isEmpty else { continue }
        let (table, statements) = (reference.child, reference.childStatements)
        let found = try references.children(
          of: reference,
          gone.map {
            reference.values(ofKey: $0.key) ?? parking.before[$0]?[reference.number]
          }, on: connection)
        for values in found {
          guard let key = table.key(values.map(Replication.Value.init)),
            try isDangling(table, key),
            let version = try versions.version(table: table.id, key: key), !version.isDangling,
            try setAside(version, table, key, statements)
          else { continue }
          wave.append(Export.RowID(table: table.id, key: key))
        }
      }
    }
  }

  /// Parks a row that shows what its version says; false if it does not.
  @discardableResult
  func setAside(
    _ version: Version, _ table: ReplicaTable, _ key: Key, _ statements: RowStatements
  ) throws -> Bool {
    let row = try connection.row(statements.selectByKey, (key.values ?? []).map(\.sqlite))
    guard let shown = row?.map(Replication.Value.init) else { return false }
    let beside = try statements.beside(shelf.entry(table: table.id, key: key), shown)
    guard statements.sum(shown, beside).value == version.hash else { return false }
    let names = statements.shape(with: beside.extras).columns
    try park(zip(names, beside.said(shown)).map { (name: $0, value: $1) }, table, key, statements)
    return true
  }

  /// A program has written over values that were kept for new columns, which it has not seen; or
  /// of two values for one column one is not shown.
  private func logUnseen(
    _ entering: Entering, _ version: Version, _ statements: RowStatements, _ table: ReplicaTable,
    _ key: Key
  ) throws {
    let shown = entering.values.map(\.sqlite)
    let named = zip(statements.shape.columns, entering.values).map { (name: $0, value: $1) }
    let winner = Shelf.Entry(
      why: .constraint, values: named, keyCount: statements.shape.keyCount)
    var left = entering.unseen
    while !left.isEmpty {
      var (unseen, columns, others) = (shown, Set<Int>(), [(column: Int, value: SQLite.Value)]())
      for (column, value) in left {
        if columns.insert(column).inserted {
          unseen[column] = value
        } else {
          others.append((column, value))
        }
      }
      left = others
      guard unseen != shown else { continue }
      try contents.logUnseen(
        unseen, statements, table, key, by: winner, at: version.stamp.millisecondsSince1970)
    }
  }
}
