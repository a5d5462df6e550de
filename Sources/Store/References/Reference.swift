import Replication
import SQLite

/// A foreign key between two tables of the site that are here, and the SQL that asks about it.
///
/// "When comparing values …, the collating sequence and affinity of the parent key column are used"
/// (sqlite.org/foreignkeys.html, section 3, in other words): so the parent's column stands on the
/// left, and the child's has a plus before it, which takes its affinity away. A reference with NULL
/// in one of its columns leads nowhere on purpose: SQLite knows MATCH SIMPLE alone.
struct Reference {
  /// A column of the parent, and what it makes of values that are compared with it.
  struct Target {
    let name: String
    /// Under which the site knows it.
    let first: String
    let affinity: Affinity
    let collation: KeyCollation
    /// Its place in the parent's key; nil if it is none of the key.
    let keyPlace: Int?
  }

  /// Its place among all references.
  let number: Int
  let child: ReplicaTable
  let childStatements: RowStatements
  let columns: [String]
  /// For each column its place in the child's shape; nil for a generated one.
  let places: [Int?]
  let parent: ReplicaTable
  let parentStatements: RowStatements
  let targets: [Target]

  /// Whether rows refer to the whole primary key: then a row's values follow from its key.
  var isToKey: Bool {
    targets.count == parentStatements.shape.keyCount
      && Set(targets.compactMap(\.keyPlace)).count == targets.count
  }

  /// The condition that a row of the child, called `c`, refers to a row that is not in the parent.
  let unmet: String
  /// Whether a row of the parent has the values that are bound.
  let exists: String
  /// The keys of the rows that refer to the values that are bound.
  let lookUp: String
  /// The keys of all rows that refer to a row which is not there.
  let dangling: String
  /// The same, with the rows that refer to these in turn; nil if the parent is another table.
  let falling: String?
  /// What the rows refer to, and what is referred to, by the key that is bound.
  let selectValues: String
  let selectTargets: String
  /// Whether the columns compare alike on both sides, so that `lookUp` finds all.
  let isAlike: Bool

  /// Nil if SQLite would call it a mismatch: the parent's columns are not there or not unique.
  init?(_ key: ForeignKey, number: Int, child: ReplicaTable, parent: ReplicaTable) {
    guard let childSchema = child.schema, let parentSchema = parent.schema,
      let childStatements = child.statements, let parentStatements = parent.statements
    else { return nil }
    guard let columns = parentSchema.columns(referredToBy: key) else { return nil }
    let own = key.columns.compactMap(childSchema.column(named:))
    guard own.count == columns.count else { return nil }
    self.number = number
    (self.child, self.childStatements) = (child, childStatements)
    (self.parent, self.parentStatements) = (parent, parentStatements)
    self.columns = own.map { childSchema.columns[$0].name }
    self.places = self.columns.map { childStatements.column(here: $0) }
    self.targets = columns.map { index in
      let column = parentSchema.columns[index]
      let place = parentStatements.column(here: column.name)
      return Target(
        name: column.name, first: place.map { parentStatements.shape.columns[$0] } ?? column.name,
        affinity: column.affinity,
        collation: KeyCollation(named: column.collation),
        keyPlace: parentSchema.key.firstIndex(of: index))
    }
    let (childName, parentName) = (quoted(childSchema.name), quoted(parentSchema.name))
    self.unmet = parentSchema.lacks(columns, from: self.columns)
    let bound = self.targets.map { "\(quoted($0.name)) = ?" }
    self.exists = "SELECT 1 FROM main.\(parentName) WHERE \(bound.joined(separator: " AND "))"
    let shape = childStatements.shape
    let keys = childStatements.names.prefix(shape.keyCount).map { "c.\(quoted($0))" }
      .joined(separator: ", ")
    let searched = zip(own, columns).map { mine, theirs in
      let (name, collation) = (
        childSchema.columns[mine].name, parentSchema.columns[theirs].collation
      )
      let isSame = isSameName(childSchema.columns[mine].collation, collation)
      return "c.\(quoted(name)) = ?" + (isSame ? "" : " COLLATE \(collation)")
    }
    self.lookUp =
      "SELECT \(keys) FROM main.\(childName) AS c WHERE \(searched.joined(separator: " AND "))"
    self.dangling = "SELECT \(keys) FROM main.\(childName) AS c WHERE \(unmet)"
    self.falling =
      child.id == parent.id
      ? Self.falling(childSchema, childStatements, self.columns, self.targets, unmet) : nil
    self.selectValues = childStatements.select(
      self.columns.map(quoted).joined(separator: ", "))
    self.selectTargets = parentStatements.select(
      self.targets.map { quoted($0.name) }.joined(separator: ", "))
    self.isAlike = zip(own, columns).allSatisfy { mine, theirs in
      childSchema.columns[mine].affinity == parentSchema.columns[theirs].affinity
    }
  }

  /// All in one statement, for which SQLite makes "an automatic index that lasts only for the
  /// duration of a single SQL statement" (sqlite.org/optoverview.html). It gives rows in the order
  /// in which they are found, which it does not promise: whoever parks them looks again.
  private static func falling(
    _ schema: TableSchema, _ statements: RowStatements, _ own: [String], _ targets: [Target],
    _ unmet: String
  ) -> String {
    let keys = statements.names.prefix(statements.shape.keyCount)
    let selected = (keys + targets.map(\.name)).map { "c.\(quoted($0))" }.joined(separator: ", ")
    let names = keys.indices.map { "k\($0)" }
    let found = targets.indices.map { "t\($0)" }
    let refers = zip(found, own).map { "f.\($0) = c.\(quoted($1))" }
    let table = "main.\(quoted(schema.name)) AS c"
    return """
      WITH RECURSIVE f(\((names + found).joined(separator: ", "))) AS (
        SELECT \(selected) FROM \(table) WHERE \(unmet)
        UNION SELECT \(selected) FROM f CROSS JOIN \(table)
        WHERE \(refers.joined(separator: " AND ")))
      SELECT \(names.joined(separator: ", ")) FROM f LIMIT ?
      """
  }

  /// Whether it is by this reference that a row says which one it means.
  func holds(_ link: Parentage.Link) -> Bool { places.contains(link.column) }

  /// The values by which children refer to a row of the parent with this key; nil if they are not
  /// in the key.
  func values(ofKey key: Key) -> [SQLite.Value]? {
    guard isToKey, let values = key.values else { return nil }
    let found = targets.compactMap { target in
      target.keyPlace.flatMap { values.indices.contains($0) ? values[$0].sqlite : nil }
    }
    return found.count == targets.count ? found : nil
  }

  /// The values of a row that is not in its table; nil if it refers to nothing, or if a column is
  /// computed, so that only its table can tell.
  func values(of entry: Shelf.Entry) -> [SQLite.Value]? {
    values(entry.values.map(\.name), entry.values.map(\.value))
  }

  func values(of placement: Placement) -> [SQLite.Value]? {
    values(placement.shape.columns, placement.values)
  }

  private func values(_ names: [String], _ row: [Replication.Value]) -> [SQLite.Value]? {
    let values = read(places, of: names, row, by: childStatements)
    return values?.contains(.null) == true ? nil : values
  }

  /// What is referred to in a row of the parent that is not in its table.
  func targetValues(of entry: Shelf.Entry) -> [SQLite.Value]? {
    read(
      targets.map { parentStatements.column(here: $0.name) }, of: entry.values.map(\.name),
      entry.values.map(\.value), by: parentStatements)
  }

  private func read(
    _ places: [Int?], of names: [String], _ row: [Replication.Value], by statements: RowStatements
  ) -> [SQLite.Value]? {
    let columns = statements.columns(for: names, row)
    var values: [SQLite.Value] = []
    for place in places {
      guard let place else { return nil }
      let kept = columns.first { $0.column == place }.map { row[$0.index] }
      values.append((kept ?? statements.defaults[place])?.sqlite ?? .null)
    }
    return values
  }
}

extension TableSchema {
  /// The columns to which a foreign key refers; nil if SQLite would call it a mismatch.
  func columns(referredToBy key: ForeignKey) -> [Int]? {
    let names =
      key.parentColumns.isEmpty ? self.key.map { columns[$0].name } : key.parentColumns
    let found = names.compactMap(column(named:))
    guard !found.isEmpty, found.count == names.count, found.count == key.columns.count,
      areUnique(found)
    else { return nil }
    return found
  }

  /// The condition that a row called `c` refers by some columns to a row that is not here.
  func lacks(_ targets: [Int], from own: [String]) -> String {
    let present = own.map { "c.\(quoted($0)) IS NOT NULL" }
    let matches = zip(targets, own).map { "p.\(quoted(columns[$0].name)) = +c.\(quoted($1))" }
    return """
      (\(present.joined(separator: " AND ")) AND NOT EXISTS (
        SELECT 1 FROM main.\(quoted(name)) AS p WHERE \(matches.joined(separator: " AND "))))
      """
  }

  /// Whether no two rows have the same values in these columns: they are the key, or those of a
  /// unique index over all rows.
  fileprivate func areUnique(_ columns: [Int]) -> Bool {
    let wanted = Set(columns)
    guard wanted.count == columns.count else { return false }
    if wanted == Set(key) { return true }
    return uniqueIndexes.contains { index in
      let own = index.terms.compactMap { term -> Int? in
        guard case .column(let column) = term.source else { return nil }
        return isSameName(term.collation, self.columns[column].collation) ? column : nil
      }
      return index.predicate == nil && own.count == index.terms.count && Set(own) == wanted
    }
  }
}
