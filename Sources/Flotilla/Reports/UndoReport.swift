/// What a member that was shut out has written since a moment, and what was done about it
/// (`revoke --undo-since`, the part `undo` of its JSON). JSON: `{node, since, knows_arrivals,
/// rows:[{table, key, key_columns, way, new, deleted, late, stands, before, done, why}], put_back,
/// left, more, awaits_verdict}`.
public struct UndoReport: Codable, Sendable, Equatable {
  /// One row that it has written, or that rests on what it wrote.
  public struct Row: Codable, Sendable, Equatable {
    public var table: String
    public var key: [String: SQLValue]
    /// The columns of `key` in the order of the table's key.
    public var key_columns: [String]
    /// `put-back`: what stood before is known; `remove`: nothing stood before; `older`: an older
    /// state is known; `unknown`; `edited-since`: others have written on top of it; `parked`: it is
    /// not in its table; `setting`: it is a choice for the whole site.
    public var way: String
    /// Whether the member made the row.
    public var new: Bool
    /// Whether the row is deleted now.
    public var deleted: Bool
    /// True if it is dated before the moment and came in here after it.
    public var late: Bool
    /// What stands.
    public var stands: ConflictReport.Side?
    /// What stood before, as far as that is known.
    public var before: ConflictReport.Side?
    /// Whether it was put back, or taken out.
    public var done = false
    /// Why it was not, though there was a way.
    public var why: String?

    /// Whether there is a way to undo it without a person.
    public var hasWay: Bool { way == "put-back" || way == "remove" }
  }

  public var node: String
  /// ISO 8601 in UTC, by the time of the site.
  public var since: String
  /// False if this node cannot tell what came in after the moment: then stamps alone say it.
  public var knows_arrivals: Bool
  /// All that can be put back, and the first of those about which a person has to decide.
  public var rows: [Row]
  public var put_back = 0
  /// What a person has to decide about, all of it.
  public var left = 0
  /// Whether there are more rows than are told of here.
  public var more: Bool
  /// True if the anchor has yet to judge what was written.
  public var awaits_verdict = false
}
