/// What Flotilla's own tables take in the file, part of what `doctor` says.
///
/// JSON: `{own_bytes,file_bytes,free_bytes,is_estimate,rows,deleted_rows,bytes_per_row,origins,
/// earlier_lives,tables:[{table,bytes,rows}]}`; `bytes_per_row` is null while there are no rows.
public struct SizeReport: Codable, Sendable, Equatable {
  /// One of Flotilla's own tables, with its indexes; `table` is its name without `_flotilla_`.
  public struct Part: Codable, Sendable, Equatable {
    public var table: String
    public var bytes: Int
    public var rows: Int
  }

  public var own_bytes: Int
  public var file_bytes: Int
  /// Of the file, what holds nothing and is used again.
  public var free_bytes: Int
  /// True if this SQLite cannot tell which page is whose.
  public var is_estimate: Bool
  /// Live rows of the site's tables.
  public var rows: Int
  /// Deleted rows that are still remembered.
  public var deleted_rows: Int
  public var bytes_per_row: Double?
  /// Entries of the frontier, and those of them whose node began another life since.
  public var origins: Int
  public var earlier_lives: Int
  /// The largest first.
  public var tables: [Part]
}
