/// The room that Flotilla's own tables take in the file, indexes included.
package struct StoreSize: Sendable, Equatable {
  package struct Part: Sendable, Equatable {
    /// Without `_flotilla_`.
    package var table: String
    package var bytes: Int
    package var rows: Int
  }

  /// The largest first.
  package var parts: [Part]
  /// True if SQLite cannot tell which page is whose, so that bytes are a sum over the values.
  package var isEstimate: Bool
  /// The whole file, and of that the pages that hold nothing.
  package var fileBytes: Int
  package var freeBytes: Int
  /// Live rows of the site's tables, and how many deleted ones are remembered.
  package var rows: Int
  package var deletedRows: Int
  /// Origins that have written, and those of them that a later life of their node has replaced.
  package var origins: Int
  package var earlierLives: Int

  package var ownBytes: Int { parts.reduce(0) { $0 + $1.bytes } }

  package func part(_ table: String) -> Part {
    parts.first { $0.table == table } ?? Part(table: table, bytes: 0, rows: 0)
  }
}
