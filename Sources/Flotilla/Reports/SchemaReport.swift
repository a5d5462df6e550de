/// The columns of the replicated tables, here and as the site knows them. JSON: `{tables:[{table,
/// first, columns:[{name, first}], kept:[{columns, fate, rows}]}], remark, adoption:{node, is_made,
/// statements:[{kind, name, table, sql}], differences:[{kind, name, table, what, remedy}]}}`.
public struct SchemaReport: Codable, Sendable, Equatable {
  /// A column that travels.
  public struct Column: Codable, Sendable, Equatable {
    public var name: String
    /// The name under which the site first knew it; another one once it was renamed.
    public var first: String
  }

  /// Values that rows hold for columns which the table does not have here.
  public struct Kept: Codable, Sendable, Equatable {
    /// Empty if only their share of the content hash is known.
    public var columns: [String]
    /// `not-here-yet`, `dropped` (the table had them here), `shown-otherwise` (they are here, of
    /// another type), `in-its-form` or `let-go`. What is in its form shows a default for NULL, or a
    /// number in the form of its type.
    public var fate: String
    public var rows: Int
  }

  /// A replicated table that is here.
  public struct Table: Codable, Sendable, Equatable {
    public var table: String
    /// The name under which the site first knew it; another one once it was renamed.
    public var first: String
    public var columns: [Column]
    public var kept: [Kept]
  }

  /// How the schema differs from that of another member.
  public struct Adoption: Codable, Sendable, Equatable {
    /// What this file lacks, as it is added.
    public struct Statement: Codable, Sendable, Equatable {
      /// `table`, `column`, `index`, `view` or `trigger`.
      public var kind: String
      public var name: String
      /// The table that it belongs to, or itself.
      public var table: String
      public var sql: String
    }

    /// What differs and is not added.
    public struct Difference: Codable, Sendable, Equatable {
      /// As of a statement, or `number` (in the head of the file) or `book` (of a migration tool).
      public var kind: String
      public var name: String
      public var table: String
      public var what: String
      public var remedy: String?
    }

    public var node: String
    /// Whether the statements were carried out.
    public var is_made: Bool
    public var statements: [Statement]
    public var differences: [Difference]
    /// Replicated tables of this file that the node does not have: their rows wait there.
    public var missing: [String]?
  }

  public var tables: [Table]
  /// What was done, in words; null if nothing was asked for.
  public var remark: String?
  /// Null unless another member was named.
  public var adoption: Adoption?
}

/// What is to be done about tables and columns.
public enum SchemaRequest: Codable, Sendable, Equatable {
  case show
  /// What others call by the first name is the column of the second one here, for the whole site.
  case map(table: String, columns: [String: String])
  /// What the site or another machine calls by the first name is the table of the second one here,
  /// for the whole site.
  case mapTable(String, to: String)
  /// Values that are kept for columns which the table lacks are not wanted here any more.
  case letGo(table: String, columns: [String])
}
