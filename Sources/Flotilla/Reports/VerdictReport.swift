/// What became of an edit that was run `--online`. JSON: `{verdict, rows:[{table, key, local,
/// verdict, reason, rule, conflict, server}]}`.
public struct OnlineReport: Sendable, Equatable {
  /// One row that the statement touched.
  public struct Row: Sendable, Equatable {
    /// The row as the statement left it here, at once (the local response).
    public var local: TouchedRow
    public var verdict: RowVerdict
    /// The row as it stands after the verdict (the server response); nil while that is pending.
    public var server: TouchedRow?
  }

  /// The worst of the rows' verdicts: `rejected`, `pending`, `unknown`, `superseded` or `accepted`.
  /// Nil if there was nothing to judge: no row of a replicated table was changed.
  public var verdict: String?
  public var rows: [Row]
  /// What the statement gave here at once.
  public var local: SQLReport
  /// Of a query: the rows after an exchange with the anchor. Of an edit that returned rows: the
  /// same rows, if it was accepted and they stand as it left them.
  public var server: SQLReport?
  /// Why a verdict that is pending may never come; nil if the anchor is only away.
  public var obstacle: String?
  /// Of a verdict that is pending: the anchor, if it is away.
  public var away: AnchorAbsence?
}

/// An anchor that is not in reach.
public struct AnchorAbsence: Codable, Sendable, Equatable {
  public var anchor: String
  /// ISO 8601 in UTC, or null if it was never met.
  public var since: String?
}

/// What the anchor says of the edit of one row.
public struct RowVerdict: Codable, Sendable, Equatable {
  /// `accepted`, `rejected`, `superseded` (written again here before it was judged), `pending` or
  /// `unknown` (not kept any more, or made before there was an anchor).
  public var verdict: String
  /// Why it was rejected: `older`, `offline`, `unseen`, `already-deleted`, `key-collision`,
  /// `not-allowed` or `parked`.
  public var reason: String?
  /// The rule by which it was judged.
  public var rule: String?
  /// If it was rejected: the number under which the conflict log of this node keeps it. Nil if that
  /// does not, as where what stands says the same.
  public var conflict: Int?

  init(verdict: String, reason: String? = nil, rule: String? = nil, conflict: Int? = nil) {
    (self.verdict, self.reason, self.rule, self.conflict) = (verdict, reason, rule, conflict)
  }

  static let accepted = RowVerdict(verdict: "accepted")
  static let pending = RowVerdict(verdict: "pending")
  static let unknown = RowVerdict(verdict: "unknown")
}

/// How a node stands before an edit whose verdict is awaited.
struct PreparedEdit: Codable, Sendable {
  var anchor: String
  /// Whether this node is the anchor, which has nobody to ask.
  var isHere: Bool
  /// The last edit that was made before.
  var seq: UInt64
  /// Why nobody may judge it, if that is known.
  var obstacle: String?
}
