/// The change feed: which rows have changed here, by whose hand ever (docs/changes.md).
extension OpenReplica {
  /// A row that has changed here, as its table showed it when this was read.
  public struct Change: Codable, Sendable, Equatable {
    /// Who has dealt with this change goes on after it with `changes(since:)`.
    public var cursor: String
    public var table: String
    /// How the site called the table first: tokens go by that.
    package var first: String
    public var key: [String: SQLValue]
    /// Whether the table shows no such row any more.
    public var deleted: Bool
    /// Every column; nil if the row is deleted, or longer than 1 MiB: read that one with SQL.
    public var row: [String: SQLValue]?
    /// The node that made the newest edit of the row, and when; nil where nobody knows.
    public var author: String?
    public var stamp: String?
    /// Whether the anchor has certified that edit.
    public var certified: Bool
  }

  /// Some changes, in the order in which they were committed here.
  public struct Changes: Codable, Sendable, Equatable {
    public var changes: [Change]
    /// After the last of them.
    public var cursor: String
    /// What came before cannot be told: read the tables, then what follows the cursor.
    public var reset: Bool
    /// Whether there is more by now.
    public var more: Bool
  }

  /// The next changes after a cursor, waiting for some; none, and where they begin, if it is nil.
  /// `tables` bounds of which tables.
  public func nextChanges(
    since cursor: String?, tables: [String]? = nil, within limit: Duration = .seconds(10)
  ) async throws(FlotillaError) -> Changes {
    try await ask(
      .changes(since: cursor, tables: tables, milliseconds: Int(limit.milliseconds)),
      as: Changes.self)
  }
}

extension JSON {
  /// A change as the command and the gateway tell it.
  package init(_ change: OpenReplica.Change) {
    let row = change.row.map { JSON.object($0.mapValues { JSON($0) }) } ?? .null
    self = .object([
      "cursor": .text(change.cursor), "table": .text(change.table),
      "key": .object(change.key.mapValues { JSON($0) }), "deleted": .bool(change.deleted),
      "row": row, "author": change.author.map(JSON.text) ?? .null,
      "stamp": change.stamp.map(JSON.text) ?? .null, "certified": .bool(change.certified),
    ])
  }
}
