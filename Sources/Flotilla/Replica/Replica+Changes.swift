import Store

/// The change feed without an open replica.
extension Replica {
  /// The next changes after a cursor; none, and where they begin, if it is nil. A running node is
  /// waited for until there are some; without one what there is now is told.
  public func changes(
    since cursor: String?, tables: [String]? = nil, within limit: Duration = .seconds(10)
  ) async throws(FlotillaError) -> OpenReplica.Changes {
    let request = ControlRequest.changes(
      since: cursor, tables: tables, milliseconds: Int(limit.milliseconds))
    return try await perform(request) { node async throws(FlotillaError) in
      try await node.foldNow()
      return try await node.changes(since: cursor, tables: tables, within: .zero)
    }
  }
}

extension Replica {
  /// Whether a text has the form of a cursor.
  public static func isCursor(_ text: String) -> Bool { ChangeCursor(text) != nil }
}
