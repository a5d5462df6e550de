/// Whether the rows here are those of the other nodes. JSON: `{identical, node, rows, digest,
/// parked, local:[{table,key,key_columns,finding}], local_findings, uncaptured, repaired,
/// peers:[{node, state, identical, rows, digest,
/// differing:[{table,key,key_columns,why,here,there}], differing_rows, on_the_way, forgotten,
/// uncaptured, repaired, error}], waiting:[…]}`.
public struct VerifyReport: Codable, Sendable, Equatable {
  /// A row that is not as this node has noted it. `finding` is `changed`, `added`, `removed`,
  /// `waiting`, or `sums` for the sums of all rows, without table and key.
  public struct Finding: Codable, Sendable, Equatable {
    public var table: String?
    public var key: [String: SQLValue]?
    /// The columns of `key` in the order of the table's key; null from a node that does not say it.
    public var key_columns: [String]?
    public var finding: String
  }

  /// What one node has of a row.
  public struct Side: Codable, Sendable, Equatable {
    /// Who has edited it, if that is known, and when: ISO 8601 in UTC.
    public var edited_by: String?
    public var edited_at: String?
    /// `live`, `deleted`, `changed` (other content than was noted), `uncaptured` (it stands and
    /// was never noted) or `missing`.
    public var state: String
    /// A hash of its content, 16 hexadecimal digits; null if nothing stands.
    public var content: String?
  }

  /// A row that two nodes do not have in the same way. `why` is `only-here`, `only-there`,
  /// `newer-here`, `newer-there`, `other-content` or `other-version`.
  public struct Difference: Codable, Sendable, Equatable {
    public var table: String
    public var key: [String: SQLValue]
    /// The columns of `key` in the order of the table's key; null from a node that does not say it.
    public var key_columns: [String]?
    public var why: String
    public var here: Side?
    public var there: Side?
  }

  /// How another node compares with this one.
  public struct Peer: Codable, Sendable, Equatable {
    /// How far the comparison went.
    public enum State: String, Codable, Sendable {
      case identical
      case differing
      /// No difference, but rows are on their way.
      case moving
      case away
      /// One of the two may not read every table.
      case incomparable
      /// The time was over before it had answered.
      case late
      /// It could not answer, or answered wrongly.
      case failed
    }

    public var node: String
    public var state: State
    public var identical: Bool
    /// Its rows in the tables of applications, and its digest; null if it did not tell.
    public var rows: Int?
    public var digest: String?
    /// The first thousand of them at most.
    public var differing: [Difference] = []
    public var differing_rows = 0
    /// Rows that one of the two has not got yet, and deletes that one has forgotten.
    public var on_the_way = 0
    public var forgotten = 0
    /// Rows there that were written past its triggers.
    public var uncaptured = 0
    public var repaired = 0
    public var error: String?

    init(node: String, state: State, error: String? = nil) {
      self.node = node
      self.state = state
      self.identical = state == .identical
      self.error = error
    }
  }

  public var identical: Bool
  public var node: String
  /// Rows in the tables of applications here, and the digest of all that this node holds.
  public var rows: Int
  public var digest: String
  /// Rows that are held and do not stand in their tables.
  public var parked: Int
  /// The first thousand of them at most.
  public var local: [Finding]
  public var local_findings: Int
  /// Rows here that were written past the triggers, all of them; null from a node that does not
  /// say it.
  public var uncaptured: Int?
  /// Local findings that were repaired.
  public var repaired: Int
  public var peers: [Peer]
  /// Tables whose key is not the same everywhere, in words: their rows are held, and cannot stand
  /// in all tables.
  public var waiting: [String]
}

extension VerifyReport {
  /// Whether something here is not as this node has noted it, but for what waits to be put back.
  public var isWrongHere: Bool {
    (uncaptured ?? 0) > 0 || local.contains { $0.finding != "waiting" }
  }
}
