import SQLite

/// What SQLite does to a value before it is stored in a column or compared with it.
package enum Affinity: String, Sendable {
  case text = "TEXT"
  case numeric = "NUMERIC"
  case integer = "INTEGER"
  case real = "REAL"
  /// None: every value stays as it is.
  case blob = "BLOB"

  /// The affinity of a declared type, by the five rules of sqlite.org/datatype3.html, section 3.1.
  ///
  /// In a STRICT table "ANY" means none; elsewhere no rule matches it, so it is NUMERIC.
  package init(declared type: String, isStrict: Bool) {
    let type = type.uppercased()
    if isStrict, type == "ANY" {
      self = .blob
    } else if type.contains("INT") {
      self = .integer
    } else if ["CHAR", "CLOB", "TEXT"].contains(where: type.contains) {
      self = .text
    } else if type.isEmpty || type.contains("BLOB") {
      self = .blob
    } else if ["REAL", "FLOA", "DOUB"].contains(where: type.contains) {
      self = .real
    } else {
      self = .numeric
    }
  }
}

/// One column of a table as it is declared.
package struct Column: Sendable, Equatable {
  package let name: String
  /// The declared type, perhaps empty.
  package let type: String
  package let affinity: Affinity
  /// BINARY, NOCASE or RTRIM.
  package let collation: String
  /// Declared NOT NULL, or so because of its place in the primary key.
  package let isNotNull: Bool
  /// Computed from other columns, stored or not; never written, never shipped.
  package let isGenerated: Bool
  /// The expression of the DEFAULT clause, without the parentheses around it.
  package let defaultText: String?
  /// What an INSERT without this column stores: nil if the default is not a literal.
  package let constantDefault: Value?
  /// The columns that a generated column is computed from, directly or not; else empty.
  package let sources: [Int]
}
