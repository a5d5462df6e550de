import Replication
import SQLite

/// One table of the site as this replica knows it.
///
/// It is looked at for each row, and no row makes a copy of it.
final class ReplicaTable {
  /// This replica's number for the table, as the journal and the version table write it.
  let id: Int64
  /// The name under which the site knows it.
  let name: String
  /// The name that it has in this file, or had when it was here last.
  let nameHere: String
  /// Nil while the table does not exist here: its rows wait on the shelf.
  let schema: TableSchema?
  /// Whether it is here. Each row asks, and must not copy the schema for that.
  let isHere: Bool
  private let keyCountHere: Int?
  /// Whether its triggers and its view were as they should be when the schema was read.
  let isIntact: Bool
  /// True if the site tracks it.
  let isTracked: Bool
  /// Existing rows were here before the table became the site's: they rank lowest.
  var isBaseline: Bool
  /// The seed of its hashes, equal on every node.
  let seed: UInt64
  /// As the table declares them; for one that is not here, as others said.
  private(set) var keyCollations: [KeyCollation]
  private(set) var statements: RowStatements?
  /// Of the keys of its versions; nil while nobody has said.
  private(set) var keyShape: KeyShape?
  private(set) var generation: UInt64
  /// True of rows of another shape of key than the table of that name has here: they wait.
  let isHeld: Bool
  /// True if its versions count in the digest: of several shapes of key the last one's do.
  private(set) var isLeading: Bool

  /// Whether its versions count in a digest.
  func counts(in scope: DigestScope) -> Bool { scope == .here ? !isHeld : isLeading }

  /// Over the names of the table and its columns in this file; 0 while it is not here.
  lazy var look: UInt64 =
    schema.map { schema in
      schema.columns.reduce(mix(tableSeed(schema.name) ^ UInt64(bitPattern: id))) {
        mix($0 ^ ContentHash.column($1.name))
      }
    } ?? 0

  /// How many columns the keys have that its triggers note; nil while nobody has said.
  var notedKeyCount: Int? { keyCountHere ?? (isHeld ? keyShape?.count : nil) }

  /// Whether it is the site's, not the application's.
  var isSettings: Bool { Tables.isSettings(name) }

  init(
    id: Int64, name: String, nameHere: String? = nil, known: SchemaCache.Known?, isTracked: Bool,
    isBaseline: Bool,
    collations: [KeyCollation] = [], key: KeyShapes.Known? = nil, isHeld: Bool = false,
    isLeading: Bool = true
  ) {
    let schema = known?.schema
    self.id = id
    self.name = name
    self.nameHere = schema?.name ?? nameHere ?? name
    self.schema = schema
    self.isHere = schema != nil
    self.keyCountHere = schema?.key.count
    self.isIntact = known?.isIntact ?? false
    self.isTracked = isTracked
    self.isBaseline = isBaseline
    self.seed = tableSeed(name)
    self.keyCollations = schema?.collations ?? key?.shape.collations ?? collations
    let statements = known?.statements.travelling(in: key?.generation ?? 0)
    self.statements = statements
    self.keyShape = key?.shape ?? statements?.shape.key
    self.generation = key?.generation ?? 0
    self.isHeld = isHeld
    self.isLeading = isLeading
  }

  private init(_ other: ReplicaTable, isBaseline: Bool) {
    (id, name, nameHere, schema) = (other.id, other.name, other.nameHere, other.schema)
    (isHere, keyCountHere) = (other.isHere, other.keyCountHere)
    (isIntact, isTracked, self.isBaseline) = (other.isIntact, other.isTracked, isBaseline)
    (seed, keyCollations, statements) = (other.seed, other.keyCollations, other.statements)
    (keyShape, generation) = (other.keyShape, other.generation)
    (isHeld, isLeading) = (other.isHeld, other.isLeading)
  }

  /// The same table with rows that were here before it became the site's.
  var asBaseline: ReplicaTable { ReplicaTable(self, isBaseline: true) }

  /// The same once the shape of its keys is known, or another one leads: an export that is under
  /// way goes on with this one.
  func taking(_ known: KeyShapes.Known, isLeading: Bool) -> ReplicaTable {
    let table = ReplicaTable(self, isBaseline: isBaseline)
    (table.keyShape, table.generation) = (known.shape, known.generation)
    table.isLeading = isLeading
    table.statements = statements?.travelling(in: known.generation)
    if schema == nil { table.keyCollations = known.shape.collations }
    return table
  }

  /// The identity of a row from its key values; nil if one is NULL.
  func key(_ values: [Replication.Value]) -> Key? { Key(values, collations: keyCollations) }

  func key(_ values: ArraySlice<Replication.Value>) -> Key? {
    Key(values, collations: keyCollations)
  }

  /// The same of key values that stand in these columns of a statement.
  func key(in statement: Statement, from first: Int, _ count: Int) -> Key? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count * 20)
    for index in 0..<count {
      switch statement.content(first + index) {
      case .null: return nil
      case .integer(let integer): Key.append(integer, to: &bytes)
      case .real(let real): Key.append(real, to: &bytes)
      case .text(let text):
        guard index >= keyCollations.count || keyCollations[index] == .binary else {
          return key((first..<first + count).map { Replication.Value(statement.value($0)) })
        }
        Key.append(text, isText: true, to: &bytes)
      case .blob(let blob): Key.append(blob, isText: false, to: &bytes)
      }
    }
    return Key(bytes: bytes)
  }

  /// How a row travels of which these columns are known, the key columns first.
  func shape(_ columns: [String], keyCount: Int) -> TableShape {
    TableShape(
      name: name, keyCount: keyCount, columns: columns, collations: keyCollations,
      affinities: keyShape?.affinities ?? [], generation: generation)
  }

  /// How a row travels of which the key alone is known.
  func keyShape(of key: [Replication.Value]) -> TableShape {
    if let statements, statements.shape.keyCount == key.count { return statements.shape }
    if let keyShape, keyShape.count == key.count {
      return TableShape(name: name, key: keyShape, generation: generation)
    }
    return shape(RowStatements.placeholders(key.count), keyCount: key.count)
  }

  /// What the key columns are called, as far as anybody has said.
  func keyNames(_ count: Int) -> [String] {
    if let statements, statements.shape.keyCount == count {
      return Array(statements.shape.columns.prefix(count))
    }
    if let keyShape, keyShape.count == count { return keyShape.names }
    return RowStatements.placeholders(count)
  }
}

extension TableSchema {
  /// By which collation two keys are one, per key column.
  var collations: [KeyCollation] {
    keyCollations.map(KeyCollation.init(named:))
  }
}

extension KeyCollation {
  /// By the name that SQLite gives it.
  init(named name: String) {
    self =
      switch name {
      case "NOCASE": .nocase
      case "RTRIM": .rtrim
      default: .binary
      }
  }
}
