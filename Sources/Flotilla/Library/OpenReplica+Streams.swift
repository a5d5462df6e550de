import Replication
import Store

/// What happens to an open replica, as it happens. Each sequence ends when the replica is closed.
extension OpenReplica {
  /// What the anchor has said of an edit of this replica.
  public struct Judgement: Codable, Sendable, Equatable {
    /// Counts the edits of this replica: with it a program that was killed goes on after the last
    /// verdict that it has seen.
    public var number: UInt64
    public var table: String
    public var key: [String: SQLValue]
    public var verdict: RowVerdict
    /// The row as it stands here when this is told (the server response), without values if it is
    /// gone. Nil if the verdict is `unknown`, or the table is not here any more.
    public var standing: TouchedRow?
  }

  /// So long the node holds an answer back until there is something to say, in ms.
  private static let patience = 1_000

  /// Verdicts, each once, in the order of the edits: on those after that number, or on those that
  /// wait now and all later ones. A number that this file has not come to is an error of code
  /// `refused`: the file was put back.
  public func verdicts(
    after number: UInt64? = nil
  ) -> some AsyncSequence<Judgement, FlotillaError> & Sendable {
    News(owner: self, start: number) { (replica, last) async throws(FlotillaError) in
      let news = try await replica.ask(
        .settled(after: last, milliseconds: Self.patience), as: VerdictNews.self)
      return (news.last, try await replica.replica.standing(after: news.verdicts))
    } inFile: { (replica) async throws(FlotillaError) in
      guard number == nil else { return nil }
      let last = try await replica.withFile { store throws(StoreError) in
        try Node.lastTold(by: store)
      }
      return (place: .some(last), elements: [])
    }
  }

  /// The peers, at first and whenever the state of one of them has changed.
  public func peers() -> some AsyncSequence<[PeerReport], FlotillaError> & Sendable {
    News(owner: self, start: [String]?.none) { (replica, known) async throws(FlotillaError) in
      let news = try await replica.ask(
        .peers(known: known, milliseconds: Self.patience), as: PeersReport.self)
      let states = news.peers.map { "\($0.id) \($0.state.rawValue)" }
      return (states, states == known ? [] : [news.peers])
    } inFile: { (_) async throws(FlotillaError) in
      nil
    }
  }

  /// Changes after a cursor, or from now on; those of one commit together if they are few.
  ///
  /// The first element says where they begin. One with `reset` says that changes were missed. What
  /// `nextChanges` refuses, such as a table that is not replicated, is thrown.
  public func changes(
    since cursor: String? = nil, tables: [String]? = nil
  ) -> some AsyncSequence<Changes, FlotillaError> & Sendable {
    News(owner: self, start: cursor) { (replica, last) async throws(FlotillaError) in
      let news = try await replica.nextChanges(
        since: last, tables: tables, within: .milliseconds(Self.patience))
      let isTold = last == nil || news.reset || !news.changes.isEmpty
      return (news.cursor, isTold ? [news] : [])
    } inFile: { (replica) async throws(FlotillaError) in
      guard cursor == nil else { return nil }
      let news = try await replica.withFile { store throws(StoreError) in
        Changes(try store.feed.changes(after: nil, limit: 1, at: Uptime.wall, of: nil))
      }
      return (place: .some(news.cursor), elements: [news])
    }
  }
}

/// Asks again and again, as the reader goes on; ends when the replica is closed.
///
/// It begins where things stand when it is made. What follows is asked for when the reader wants
/// it, so one that takes its time loses none that the node keeps, and nothing piles up. While the
/// replica is suspended the reader waits, and it is in the file where things stood before.
private struct News<Place: Sendable, Element: Sendable>: AsyncSequence, Sendable {
  typealias Failure = FlotillaError
  /// What there is, and the place behind it.
  typealias Step = (place: Place, elements: [Element])

  let owner: OpenReplica
  let start: Place
  let ask: @Sendable (OpenReplica, Place) async throws(FlotillaError) -> Step
  /// Is over as soon as the node has answered once.
  private let first: Task<Result<Step, FlotillaError>, Never>

  init(
    owner: OpenReplica, start: Place,
    ask: @escaping @Sendable (OpenReplica, Place) async throws(FlotillaError) -> Step,
    inFile: @escaping @Sendable (Replica) async throws(FlotillaError) -> Step?
  ) {
    (self.owner, self.start, self.ask) = (owner, start, ask)
    first = Task {
      do throws(FlotillaError) {
        return .success(try await ask(owner, start))
      } catch {
        if error.passes, let step = try? await inFile(owner.replica) { return .success(step) }
        return .failure(error)
      }
    }
  }

  func makeAsyncIterator() -> Iterator { Iterator(news: self) }

  struct Iterator: AsyncIteratorProtocol {
    let news: News
    /// Nil before the first step.
    var place: Place?
    /// What was not given yet, the next one last.
    var left: [Element] = []
    var pause = RetryPause()

    mutating func next() async throws(FlotillaError) -> Element? { try await next(isolation: nil) }

    mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(FlotillaError) -> Element? {
      while left.isEmpty {
        guard !Task.isCancelled, await !news.owner.isClosed else { return nil }
        do {
          let step = try await step()
          (place, left) = (.some(step.place), step.elements.reversed())
          pause = RetryPause()
        } catch {
          if await news.owner.isClosed { return nil }
          guard error.passes else { throw error }
          place = .some(place ?? news.start)
          await pause.wait(for: news.owner)
        }
      }
      return left.popLast()
    }

    private func step() async throws(FlotillaError) -> Step {
      guard let place else { return try await news.first.value.get() }
      return try await news.ask(news.owner, place)
    }
  }
}

/// How long a reader waits before it tries again what has failed: to start a node that cannot take
/// its file over is much work, and helps nobody.
package struct RetryPause {
  private var time: Duration = .milliseconds(200)
  private static let longest: Duration = .seconds(5)

  package init() {}

  /// Waits, twice as long each time; while the replica is suspended always as short.
  package mutating func wait(for replica: OpenReplica) async {
    if await replica.isSuspended { self = RetryPause() }
    try? await Task.sleep(for: next())
  }

  mutating func next() -> Duration {
    defer { time = min(time * 2, Self.longest) }
    return time
  }
}

extension FlotillaError {
  /// Whether a reader that goes on waits: it is suspended, or another process takes over; another
  /// program holds the write lock; or the disk has no room.
  package var passes: Bool { [.node, .locked, .diskFull].contains(code) }
}

/// Verdicts since a number.
struct VerdictNews: Codable, Sendable {
  var last: UInt64?
  var verdicts: [OpenReplica.Judgement]
}
