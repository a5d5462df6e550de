import Store

/// The conflict log of this node (`conflicts --json`). JSON: `{conflicts:[{id, table, key,
/// key_columns, rule, reason, at, state, winner, loser, because, stands:{row},
/// became:{key, rows}}],
/// parked:[{id, table, key, key_columns, why, row, because, cut}],
/// now, keeps:{count, days, bytes}, gone}`.
public struct ConflictReport: Codable, Sendable, Equatable {
  /// A version that lost without having been seen, with what stands.
  public struct Conflict: Codable, Sendable, Equatable {
    public var id: Int
    public var table: String
    public var key: [String: SQLValue]
    /// The columns of `key` in the order of the table's key, as that was when this was noted; null
    /// if nothing tells of which columns it was.
    public var key_columns: [String]?
    /// The rule by which it lost; empty if no rule was asked.
    public var rule: String
    /// `older`, `offline`, `unseen`, `already-deleted`, `key-collision`, `not-allowed` or
    /// `parked`.
    public var reason: String
    /// When this node noticed it, ISO 8601 in UTC.
    public var at: String
    /// `open`, `restored`, `dismissed`, or `rekeyed`: the row goes on under another key.
    public var state: String
    /// What stood then; null if this node did not know it.
    public var winner: Side?
    /// What lost; null if only its key is known, for it was a delete.
    public var loser: Side?
    /// Of a `parked` one, which constraint is in its way now, and by which row; null if that is not
    /// known.
    public var because: String?
    /// What stands in the table now, where the log does not have what stood then; null where it
    /// does, and where the row is yet to come.
    public var stands: Standing?
    /// Of a `rekeyed` one, also once it is dismissed, what became of the row that lost its key.
    public var became: Became?

    /// Whether nothing was lost: the row goes on under a fresh key.
    package var isFresh: Bool { state == "rekeyed" }
    /// Whether what lost had deleted the row.
    package var isDelete: Bool { loser.map(\.deleted) ?? true }
    /// Whether it is about which tables are tracked and by which rules, instead of a row of one.
    public var isOfSettings: Bool { table == Store.settings }
  }

  /// A row as it stands; JSON: `{row}`, which is null if there is none.
  public struct Standing: Codable, Sendable, Equatable {
    public var row: [String: SQLValue]?
  }

  /// Under which key a row goes on that had to leave its own to another one.
  public struct Became: Codable, Sendable, Equatable {
    public var key: [String: SQLValue]
    /// How many rows that referred to it have followed it with that.
    public var rows: Int
  }

  /// One version of the row.
  public struct Side: Codable, Sendable, Equatable, CustomReflectable {
    /// Who wrote it, by name; null if that is not known.
    public var node: String?
    /// When it was written, ISO 8601 in UTC to the thousandth; null if it is no version.
    public var stamp: String?
    /// True if nothing tells when that was: `stamp` is the earliest that it can have been.
    public var undated = false
    public var deleted: Bool
    /// By column; null if deleted, and if what it said is not known here.
    public var row: [String: SQLValue]?
    /// The columns of the row in order, those of the key first; not in the JSON.
    public var columns: [String] = []

    /// It was written over before it could be kept: another node may have it.
    public var isUnknown: Bool { !deleted && row == nil }

    private enum CodingKeys: CodingKey { case node, stamp, undated, deleted, row }

    public var customMirror: Mirror {
      Mirror(
        self,
        children: [
          "node": node as Any, "stamp": stamp as Any, "undated": undated, "deleted": deleted,
          "row": row as Any,
        ], displayStyle: .struct)
    }
  }

  /// A row that is held but does not stand in its table.
  public struct Parked: Codable, Sendable, Equatable {
    /// By which it is called: `p` and six digits, the same at each call.
    public var id: String
    public var table: String
    public var key: [String: SQLValue]
    /// The columns of `key` in the order of the table's key.
    public var key_columns: [String]?
    /// `constraint`: it breaks one; `reference`: a row to which it refers is not there; `parent`:
    /// such a row is parked itself; `table`: its table is not here; `too-large`: to travel.
    public var why: String
    public var row: [String: SQLValue]
    /// Which constraint is in its way now, and by which row; null if that is not known.
    public var because: String?
    /// The columns of which `key` and `row` have the beginning alone; null if there are none. A
    /// list shows 1,024 bytes of a value, `show` all of it.
    public var cut: [String]?
  }

  /// How much of the log is kept.
  public struct Bounds: Codable, Sendable, Equatable {
    public var count: Int
    public var days: Int
    /// What all of them may take together once there are more than 2,000: 16 MiB, or a quarter of
    /// the rest of the file. Null if `--keep` has set the count; else those of the last 30 days
    /// stay beyond that.
    public var bytes: Int?
  }

  public var conflicts: [Conflict]
  public var parked: [Parked]
  /// The time of the site as this replica knows it, ISO 8601 in UTC: `at` is told by that.
  public var now: String
  public var keeps: Bounds
  /// How many of the oldest were let go so far.
  public var gone: Int
}

extension ConflictReport {
  /// A reason as people read it, here and in `sql --online`; JSON has the code. Each is explained
  /// in docs/rules.md.
  public static func words(for reason: String) -> String {
    switch reason {
    case "already-deleted": "already deleted"
    case "key-collision": "key taken"
    case "not-allowed": "not allowed"
    case "parked": "does not fit"
    default: reason
    }
  }
}

/// What `conflicts restore` and `dismiss` did. JSON: `{id, state, replaced, was_gone,
/// awaits_verdict}`.
public struct ConflictChange: Codable, Sendable, Equatable {
  public var id: Int
  public var state: String
  /// What was written over, by column, if that is not what stood when the conflict was noted: it is
  /// kept nowhere else. Null if it is.
  public var replaced: [String: SQLValue]?
  /// True if the row had been deleted since then.
  public var was_gone = false
  /// True if the anchor has yet to judge what was written.
  public var awaits_verdict = false
  /// Whether the row was deleted again. Not in the JSON.
  package var isDelete = false
  /// Whether nobody knows what stood when the conflict was noted. Not in the JSON.
  package var isOverUnknown = false

  private enum CodingKeys: CodingKey { case id, state, replaced, was_gone, awaits_verdict }
}
