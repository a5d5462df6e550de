/// What this file lacks of the schema of another member, and what differs otherwise.
package struct SchemaAdoption: Sendable, Equatable {
  package enum Kind: String, Sendable {
    case table, column, index, view, trigger
    /// A number in the head of the file.
    case number
    /// The book of a migration tool.
    case book
  }

  /// What is added: one statement, the last word of the other member on how it is declared.
  package struct Step: Sendable, Equatable {
    package var kind: Kind
    package var name: String
    /// The table that it belongs to; its own name for a table or a view.
    package var table: String
    package var sql: String
  }

  /// What differs and is not added.
  package struct Difference: Sendable, Equatable {
    package var kind: Kind
    package var name: String
    package var table: String
    /// Goes on where the name ends: "has another key at ward-1".
    package var what: String
    package var remedy: String?
  }

  package var steps: [Step] = []
  package var differences: [Difference] = []
  /// Replicated tables of this file that the other one does not have under any name.
  package var missing: [String] = []
}
