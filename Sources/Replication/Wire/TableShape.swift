/// How a table is written in a batch: its name and columns, the key columns first.
///
/// Each row has one, and most are copies of one another, so what it says is kept once.
package struct TableShape: Sendable {
  private final class Fields: Sendable {
    let name: String
    let columns: [String]
    let key: KeyShape
    let collations: [KeyCollation]
    let affinities: [KeyAffinity]
    let generation: UInt64

    init(
      _ name: String, _ columns: [String], _ collations: [KeyCollation],
      _ affinities: [KeyAffinity], _ generation: UInt64
    ) {
      (self.name, self.columns, self.generation) = (name, columns, generation)
      (self.collations, self.affinities) = (collations, affinities)
      key = KeyShape(
        zip(columns, zip(affinities, collations)).map {
          KeyShape.Column(name: $0, affinity: $1.0, collation: $1.1)
        })
    }
  }

  private let fields: Fields

  package var name: String { fields.name }
  package var keyCount: Int { fields.collations.count }
  package var columns: [String] { fields.columns }
  /// How each key column compares its text: who lacks the table must know which keys are one.
  package var collations: [KeyCollation] { fields.collations }
  /// What each key column makes of a value.
  package var affinities: [KeyAffinity] { fields.affinities }
  /// How often the key of the table was given another shape before it got this one.
  package var generation: UInt64 { fields.generation }

  /// What `collations` leaves out is binary, what `affinities` leaves out has none.
  package init(
    name: String, keyCount: Int, columns: [String], collations: [KeyCollation] = [],
    affinities: [KeyAffinity] = [], generation: UInt64 = 0
  ) {
    fields = Fields(
      name, columns,
      (0..<keyCount).map { $0 < collations.count ? collations[$0] : .binary },
      (0..<keyCount).map { $0 < affinities.count ? affinities[$0] : .none }, generation)
  }

  /// Where the key alone is spoken of.
  package init(name: String, key: KeyShape, generation: UInt64) {
    self.init(
      name: name, keyCount: key.count, columns: key.names, collations: key.collations,
      affinities: key.affinities, generation: generation)
  }

  /// Whether both are one in memory.
  package func isCopy(of other: TableShape) -> Bool { fields === other.fields }

  /// The shape of its key.
  package var key: KeyShape { fields.key }

  /// The same of a table with that name.
  package func named(_ name: String) -> TableShape { changed(name: name) }

  /// The same with further columns.
  package func with(_ others: [String]) -> TableShape { changed(columns: columns + others) }

  /// The same of another generation of the key.
  package func of(generation: UInt64) -> TableShape { changed(generation: generation) }

  private func changed(
    name: String? = nil, columns: [String]? = nil, generation: UInt64? = nil
  ) -> TableShape {
    TableShape(
      name: name ?? self.name, keyCount: keyCount, columns: columns ?? self.columns,
      collations: collations, affinities: affinities, generation: generation ?? self.generation)
  }
}

extension TableShape: Hashable {
  /// Compares bytes: for Swift two spellings of one letter are equal, for SQLite they are not.
  package static func == (left: TableShape, right: TableShape) -> Bool {
    left.fields === right.fields
      || left.collations == right.collations && left.affinities == right.affinities
        && left.generation == right.generation
        && left.name.utf8.elementsEqual(right.name.utf8)
        && left.columns.hasSameBytes(as: right.columns)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(columns.count)
    hasher.combine(generation)
  }
}

extension [String] {
  /// Compares bytes, and these only where the two are not one in memory.
  package func hasSameBytes(as other: [String]) -> Bool {
    isCopy(of: other) || elementsEqual(other) { $0.utf8.elementsEqual($1.utf8) }
  }

  private func isCopy(of other: [String]) -> Bool {
    withUnsafeBufferPointer { mine in
      other.withUnsafeBufferPointer {
        mine.baseAddress == $0.baseAddress && mine.count == $0.count
      }
    }
  }
}
