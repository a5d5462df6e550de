import Store

/// The change feed without an open replica.
extension Replica {
  /// The next changes after a cursor; none, and where they begin, if it is nil. A running node is
  /// waited for until there are some; without one what there is now is told.
  public func changes(
    since cursor: String?, tables: [String]? = nil, within limit: Duration = .seconds(10)
  ) async throws(FlotillaError) -> OpenReplica.Changes {
    try await changes(since: cursor, tables: tables, within: limit, isBare: false)
  }

  /// The same without the rows, for who reads them with SQL: whether one is deleted is not told.
  package func changedKeys(
    since cursor: String?, tables: [String], within limit: Duration
  ) async throws(FlotillaError) -> OpenReplica.Changes {
    try await changes(since: cursor, tables: tables, within: limit, isBare: true)
  }

  private func changes(
    since cursor: String?, tables: [String]?, within limit: Duration, isBare: Bool
  ) async throws(FlotillaError) -> OpenReplica.Changes {
    let request = ControlRequest.changes(
      since: cursor, tables: tables, milliseconds: Int(limit.milliseconds),
      isBare: isBare ? true : nil)
    return try await perform(request) { node async throws(FlotillaError) in
      try await node.foldNow()
      return try await node.changes(
        since: cursor, tables: tables, readsRows: !isBare, within: .zero)
    }
  }
}

extension Replica {
  /// Whether a text has the form of a cursor.
  public static func isCursor(_ text: String) -> Bool { ChangeCursor(text) != nil }
}
