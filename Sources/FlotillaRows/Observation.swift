import Flotilla

extension OpenReplica {
  /// The rows of a query, and again whenever they have changed, by whose hand ever.
  ///
  /// The query runs when the reader asks for the next rows and something was written to a table
  /// that it reads. A slow reader is given the newest rows, not each state between. The
  /// tables must be replicated ones, at least one; of others no change is noticed.
  public func observe<Row: Decodable & Equatable & Sendable>(
    _ type: Row.Type = Row.self, _ query: String, _ values: [SQLValue] = []
  ) -> Observation<Row> {
    Observation(replica: self, query: query, values: values)
  }
}

/// What `observe` gives: ends when the replica is closed; waits while it is suspended.
public struct Observation<Row: Decodable & Equatable & Sendable>: AsyncSequence, Sendable {
  public typealias Element = [Row]
  public typealias Failure = FlotillaError

  let replica: OpenReplica
  let query: String
  let values: [SQLValue]

  public func makeAsyncIterator() -> Iterator { Iterator(observation: self) }

  /// Gives the rows, waits for changes of their tables, and gives the new ones.
  public struct Iterator: AsyncIteratorProtocol {
    private let observation: Observation
    /// What the reader has, of which tables, and where the changes go on that come after it.
    private var last: (rows: [Row], tables: [String], cursor: String)?
    private var pause = RetryPause()

    init(observation: Observation) { self.observation = observation }

    public mutating func next() async throws(FlotillaError) -> [Row]? {
      try await next(isolation: nil)
    }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(FlotillaError) -> [Row]? {
      while !Task.isCancelled, await !observation.replica.isClosed {
        do {
          let rows = try await step(isolation: actor)
          pause = RetryPause()
          if let rows { return rows }
        } catch {
          if await observation.replica.isClosed { return nil }
          guard error.passes else { throw error }
          await pause.wait(for: observation.replica)
        }
      }
      return nil
    }

    /// New rows; nil if there are none after a while.
    private mutating func step(
      isolation actor: isolated (any Actor)?
    ) async throws(FlotillaError) -> [Row]? {
      let replica = observation.replica
      guard try await mayHaveChanged(isolation: actor) else { return nil }
      // A view may read other tables by now. The place comes before the rows: what changes while
      // the query runs is noticed the next time.
      let tables = try await replica.replicatedTables(readBy: observation.query)
      let cursor = try await replica.nextChanges(since: nil, tables: tables).cursor
      let rows = try await replica.rows(Row.self, observation.query, observation.values)
      let isNew = rows != last?.rows
      last = (rows, tables, cursor)
      return isNew ? rows : nil
    }

    /// Whether a table of the query was written to, or may not be the query's any more.
    private mutating func mayHaveChanged(
      isolation actor: isolated (any Actor)?
    ) async throws(FlotillaError) -> Bool {
      guard let last else { return true }
      do {
        let news = try await observation.replica.nextChanges(
          since: last.cursor, tables: last.tables, within: .seconds(1))
        if news.reset || !news.changes.isEmpty { return true }
        self.last?.cursor = news.cursor
        return false
      } catch {
        // One of them is not replicated any more: which are is to be seen anew.
        guard error.code == .table else { throw error }
        return true
      }
    }
  }
}
