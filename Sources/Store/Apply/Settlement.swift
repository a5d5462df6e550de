import Replication
import SQLite

/// Which of the rows stand in their tables, and which are parked until they fit.
///
/// Two rows claim one number of a badge: one of them stands. A row refers to a customer who is not
/// here yet: it waits. What programs have written is folded elsewhere; here versions alone decide.
final class Settlement {
  let connection: Connection
  let tables: Tables
  let versions: VersionTable
  let shelf: Shelf
  let contents: TableContents
  let derived: DerivedTriggers
  let changeLog: ChangeLog
  /// What has changed since it was decided which rows stand.
  let parking: Parking
  let kinship: Kinship
  private let ownRights: OwnRights
  /// So many new rows go into their table with one statement.
  var rowsTogether: Int
  /// The foreign keys, as the schema and the rights are now.
  private var knownReferences: (references: References, age: Int, rights: Int)?

  init(
    _ connection: Connection, _ tables: Tables, _ versions: VersionTable, _ shelf: Shelf,
    _ contents: TableContents, _ derived: DerivedTriggers, _ changeLog: ChangeLog,
    _ parking: Parking, _ kinship: Kinship, _ ownRights: OwnRights, rowsTogether: Int
  ) {
    (self.connection, self.tables, self.versions) = (connection, tables, versions)
    (self.shelf, self.contents, self.derived) = (shelf, contents, derived)
    (self.changeLog, self.parking, self.kinship) = (changeLog, parking, kinship)
    (self.ownRights, self.rowsTogether) = (ownRights, rowsTogether)
  }

  /// The foreign keys between tracked tables, as the schema and the rights are now.
  var references: References {
    if let known = knownReferences, known.age == tables.age, known.rights == ownRights.age {
      return known.references
    }
    let read = References(tables.tracked) { ownRights.rights.right(to: $0) == .none }
    knownReferences = (read, tables.age, ownRights.age)
    return read
  }

  /// Whether a row in its table refers to one that is not there.
  func isDangling(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    guard references.mayDangle(table.id) else { return false }
    let values = (key.values ?? []).map(\.sqlite)
    return try references.isDangling(table.id, values, on: connection) ?? false
  }

  /// Whether a program has left a row so: it dangles by a reference to a table that this node may
  /// write. It may not have broken another one; the row that is missing was put back.
  func isBroken(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    let key = (key.values ?? []).map(\.sqlite)
    for reference in references.of(table.id) where ownRights.mayWrite(reference.parent) {
      guard let values = try connection.row(reference.selectValues, key), !values.contains(.null)
      else { continue }
      if try connection.row(reference.exists, values) == nil { return true }
    }
    return false
  }

  /// A row is taken out by this node, and no program says what becomes of those that refer to it.
  func tookOut(_ table: ReplicaTable, _ key: Key) {
    changed(table, key)
    if !references.to(table.id).isEmpty { parking.requireSettling() }
  }

  /// A program has deleted a row, or changed it: others may refer to what it was.
  func noteOrphans(
    of table: ReplicaTable, _ key: Key, isDeleted: Bool, at moment: Dating.Moment
  ) {
    let isReferredTo = references.to(table.id).contains { isDeleted || !$0.isToKey }
    guard isReferredTo else { return }
    parking.orphan(Export.RowID(table: table.id, key: key), at: moment)
  }

  /// Keeps what others refer to in a row that is about to be replaced.
  func noteReferred(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) {
    noteReferred(try referred(in: table, key), table, key)
  }

  func noteReferred(_ values: [Int: [SQLite.Value]], _ table: ReplicaTable, _ key: Key) {
    if !values.isEmpty {
      parking.note(values, before: Export.RowID(table: table.id, key: key))
    }
  }

  /// What others refer to in a row, by the number of the reference, where that does not follow from
  /// its key.
  func referred(in table: ReplicaTable, _ key: Key) throws(SQLiteError) -> [Int: [SQLite.Value]] {
    var values: [Int: [SQLite.Value]] = [:]
    guard references.concern(table.id) else { return values }
    for reference in references.to(table.id) where !reference.isToKey {
      let row = try connection.row(reference.selectTargets, (key.values ?? []).map(\.sqlite))
      let entry = try row == nil ? shelf.entry(table: table.id, key: key) : nil
      values[reference.number] = row ?? entry.flatMap { reference.targetValues(of: $0) }
    }
    return values
  }
}
