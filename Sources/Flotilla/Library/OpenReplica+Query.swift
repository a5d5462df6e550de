import Replication
import SQLite

/// The rows of a query: those here at once, then those after contact with the anchor.
public struct QueryResponses: AsyncSequence, Sendable {
  /// One answer to a query.
  public struct Element: Sendable, Equatable {
    /// Where an answer comes from.
    public enum Source: String, Sendable {
      /// What this replica held at once (the local response).
      case local
      /// What it held after an exchange with the anchor (the server response).
      case anchor
    }
    public var source: Source
    public var report: SQLReport
  }

  public typealias Failure = FlotillaError

  let owner: OpenReplica
  let statement: String
  let values: [SQLValue]
  let timeout: Duration

  public func makeAsyncIterator() -> Iterator { Iterator(query: self) }

  /// Gives the local rows, then those of the anchor if it is in reach, then nil.
  public struct Iterator: AsyncIteratorProtocol {
    let query: QueryResponses
    var given = 0

    public mutating func next() async throws(FlotillaError) -> Element? {
      try await next(isolation: nil)
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(FlotillaError) -> Element? {
      given += 1
      switch given {
      case 1: return Element(source: .local, report: try await query.read())
      case 2:
        guard try await query.owner.refresh(within: query.timeout) else { return nil }
        return Element(source: .anchor, report: try await query.read())
      default: return nil
      }
    }
  }

  private func read() async throws(FlotillaError) -> SQLReport {
    try await owner.replica.write(statement, values, mayChange: false)
  }
}

extension OpenReplica {
  /// The rows of a query as they are here, with values for its question marks.
  public func read(
    _ statement: String, _ values: [SQLValue] = []
  ) async throws(FlotillaError) -> SQLReport {
    try await replica.write(statement, values, mayChange: false)
  }

  /// The replicated tables that a query reads, through views too: those of which the change feed
  /// tells. An error of code `table` if there are none.
  public func replicatedTables(readBy query: String) async throws(FlotillaError) -> [String] {
    let read = try await replica.tables(readBy: query)
    let report = try await ask(.tables, as: TablesReport.self)
    let found = report.tables.filter { $0.state == "replicated" }.map(\.table)
      .filter(read.contains)
    guard !found.isEmpty else {
      throw FlotillaError(
        .table, "the query reads no replicated table, so nobody tells when its rows change",
        remedy: "See which are: flotilla track \(shellWord(replica.path))")
    }
    return found
  }

  /// Asks for rows, with values for its question marks. The sequence gives them as they are here,
  /// and once more after contact with the anchor; only once if it is not in reach, or if there is
  /// none.
  public func query(
    _ statement: String, _ values: [SQLValue] = [], timeout: Duration = .seconds(10)
  ) throws(FlotillaError) -> QueryResponses {
    guard !StatementKind(statement).editsRows else {
      throw FlotillaError(
        .usage, "a query asks for rows and changes nothing", remedy: "save, update and remove do.")
    }
    return QueryResponses(owner: self, statement: statement, values: values, timeout: timeout)
  }

  /// One exchange with the anchor; false if it is not in reach. The anchor itself has all.
  fileprivate func refresh(within timeout: Duration) async throws(FlotillaError) -> Bool {
    guard let office = try? await ask(.office, as: AnchorReport.self), let anchor = office.anchor
    else { return false }
    if office.isOfThisNode { return true }
    let request = ControlRequest.sync(peer: anchor, milliseconds: Int(timeout.milliseconds))
    let report = try await ask(request, as: SyncReport.self)
    return report.peers.allSatisfy { $0.error == nil }
  }
}

extension AnchorReport {
  /// Whether the node that was asked is the anchor.
  var isOfThisNode: Bool { ["judging", "taking-office", "waiting"].contains(state) }
}
