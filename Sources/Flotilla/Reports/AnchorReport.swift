/// Who is the anchor (`anchor --json`). JSON: `{anchor, term, state, changed:[{table, rule}]}`.
public struct AnchorReport: Codable, Sendable, Equatable {
  /// A table whose rule was chosen with the first appointment.
  public struct Change: Codable, Sendable, Equatable {
    public var table: String
    public var rule: String
  }

  /// The name of the anchor, or null.
  public var anchor: String?
  /// Counts the appointments of the site; 0 if there was none.
  public var term: Int
  /// `none`, `gone` (it is no member any more), `connected`, `away`; of this node itself
  /// `judging`, `taking-office` or `waiting` (for the one before to stand down).
  public var state: String
  public var changed: [Change]
}

/// Who is to be the anchor.
public enum AnchorChoice: Sendable, Equatable {
  /// This node.
  case here
  /// The member of that name, or whose id begins like that.
  case node(String)
  /// Nobody: newest wins from then on.
  case none
}
