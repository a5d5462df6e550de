/// What happens to an open replica, as it happens. Each stream ends when the replica is closed.
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
  static let patience = 10_000

  /// Verdicts, each once, in the order of the edits: on those after that number, or on those that
  /// wait now and all later ones. A reader that takes its time loses none that the node keeps.
  public func verdicts(after number: UInt64? = nil) -> AsyncStream<Judgement> {
    stream(from: number, isComplete: true) { (last: UInt64?) async throws(FlotillaError) in
      let news = try await self.ask(
        .settled(after: last, milliseconds: Self.patience), as: VerdictNews.self)
      return (news.last, try await self.replica.standing(after: news.verdicts))
    }
  }

  /// The peers, now and whenever the state of one of them changes.
  public func peers() -> AsyncStream<[PeerReport]> {
    stream(from: [String]?.none) { (known: [String]?) async throws(FlotillaError) in
      let news = try await self.ask(
        .peers(known: known, milliseconds: Self.patience), as: PeersReport.self)
      let states = news.peers.map { "\($0.id) \($0.state.rawValue)" }
      return (states, states == known ? [] : [news.peers])
    }
  }

  /// Asks again and again; while the replica is suspended, now and then.
  ///
  /// A reader that does not keep up loses the oldest news; where the stream is to be complete, the
  /// next are asked for once it has read. Never memory without end.
  @_semantics("optimize.sil.specialize.generic.never")
  func stream<Mark: Sendable, Element: Sendable>(
    from start: Mark, isComplete: Bool = false,
    _ ask: @escaping @Sendable (Mark) async throws(FlotillaError) -> (Mark, [Element])
  ) -> AsyncStream<Element> {
    let pause = Duration.milliseconds(200)
    return AsyncStream(
      bufferingPolicy: isComplete ? .bufferingOldest(1_000) : .bufferingNewest(10_000)
    ) { continuation in
      let task = Task { [weak self] in
        var mark = start
        while !Task.isCancelled, let self, await !self.isClosed {
          do {
            let (next, elements) = try await ask(mark)
            mark = next
            for element in elements {
              while case .dropped = continuation.yield(element), isComplete {
                try await Task.sleep(for: pause)
              }
            }
          } catch {
            guard (try? await Task.sleep(for: pause)) != nil else { break }
          }
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}

/// Verdicts since a number.
struct VerdictNews: Codable, Sendable {
  var last: UInt64?
  var verdicts: [OpenReplica.Judgement]
}
