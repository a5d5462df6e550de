import Replication
import SQLite

/// One table of the site as this replica knows it.
struct ReplicaTable {
  /// This replica's number for the table, as the journal and the version table write it.
  let id: Int64
  let name: String
  /// Nil while the table does not exist here: its rows wait on the shelf.
  let schema: TableSchema?
  /// Whether its triggers and its view were as they should be when the schema was read.
  let isIntact: Bool
  /// True if the site tracks it.
  let isTracked: Bool
  /// Existing rows were here before the table became the site's: they rank lowest.
  var isBaseline: Bool
  /// The seed of its hashes, equal on every node.
  let seed: UInt64
  /// As the table declares them; for one that is not here, as others said.
  let keyCollations: [KeyCollation]
  let statements: RowStatements?

  /// Whether it is the site's, not the application's.
  var isSettings: Bool { Tables.isSettings(name) }

  init(
    id: Int64, name: String, known: SchemaCache.Known?, isTracked: Bool, isBaseline: Bool,
    collations: [KeyCollation] = []
  ) {
    let schema = known?.schema
    self.id = id
    self.name = name
    self.schema = schema
    self.isIntact = known?.isIntact ?? false
    self.isTracked = isTracked
    self.isBaseline = isBaseline
    self.seed = tableSeed(name)
    self.keyCollations = schema?.collations ?? collations
    self.statements = known?.statements
  }

  /// The identity of a row from its key values; nil if one is NULL.
  func key(_ values: [Replication.Value]) -> Key? { Key(values, collations: keyCollations) }
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
