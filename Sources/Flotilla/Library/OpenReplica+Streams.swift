import Replication
import Store

/// What happens to an open replica, as it happens. Each stream ends when the replica is closed.
extension OpenReplica {
  /// A row that has changed here, whoever has written it.
  public struct Change: Codable, Sendable, Equatable {
    public var table: String
    public var key: [String: SQLValue]
    public var isDeleted: Bool
  }

  /// What the anchor has said of an edit of this replica.
  public struct Judgement: Codable, Sendable, Equatable {
    /// Counts the edits of this replica: with it a program that was killed goes on after the last
    /// verdict that it has seen.
    public var number: UInt64
    public var table: String
    public var key: [String: SQLValue]
    public var verdict: RowVerdict
  }

  /// So long the node holds an answer back until there is something to say, in ms.
  private static let patience = 10_000

  /// Rows that change from now on, in batches.
  public func changes() -> AsyncStream<[Change]> {
    let mark = FrontierText(nil)
    return stream(from: mark) { (mark: FrontierText) async throws(FlotillaError) in
      let news = try await self.ask(
        .changes(since: mark.text, milliseconds: Self.patience), as: ChangeNews.self)
      return (FrontierText(news.frontier), news.changes.isEmpty ? nil : news.changes)
    }
  }

  /// Verdicts, each once, in the order of the edits: those after the one of that number, or those
  /// that come from now on.
  public func verdicts(after number: UInt64? = nil) -> AsyncStream<Judgement> {
    let batches = stream(from: number) { (last: UInt64?) async throws(FlotillaError) in
      let news = try await self.ask(
        .settled(after: last, milliseconds: Self.patience), as: VerdictNews.self)
      return (news.last, news.verdicts.isEmpty ? nil : news.verdicts)
    }
    return AsyncStream { continuation in
      let task = Task {
        for await batch in batches { for verdict in batch { continuation.yield(verdict) } }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// The peers, now and whenever the state of one of them changes.
  public func peers() -> AsyncStream<[PeerReport]> {
    stream(from: [String]?.none) { (known: [String]?) async throws(FlotillaError) in
      let news = try await self.ask(
        .peers(known: known, milliseconds: Self.patience), as: PeersReport.self)
      let states = news.peers.map { "\($0.id) \($0.state.rawValue)" }
      return (states, states == known ? nil : news.peers)
    }
  }

  /// Asks again and again; while the replica is suspended, now and then.
  private func stream<Mark: Sendable, Element: Sendable>(
    from start: Mark,
    _ ask: @escaping @Sendable (Mark) async throws(FlotillaError) -> (Mark, Element?)
  ) -> AsyncStream<Element> {
    // A reader that does not keep up loses the oldest news, never memory without end.
    AsyncStream(bufferingPolicy: .bufferingNewest(10_000)) { continuation in
      let task = Task { [weak self] in
        var mark = start
        while !Task.isCancelled, let self, await !self.isClosed {
          do {
            let (next, element) = try await ask(mark)
            mark = next
            if let element { continuation.yield(element) }
          } catch {
            guard (try? await Task.sleep(for: .milliseconds(200))) != nil else { break }
          }
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}

/// A frontier as text, for the socket.
struct FrontierText: Sendable {
  let text: String?

  init(_ text: String?) { self.text = text }

  init(_ frontier: Frontier) {
    text = frontier.sorted.map { "\($0.origin):\($0.seq)" }.joined(separator: ",")
  }

  /// Nil from anything else than such a text.
  var frontier: Frontier? {
    guard let text else { return nil }
    var entries: [Origin: UInt64] = [:]
    for part in text.split(separator: ",") {
      let pair = part.split(separator: ":")
      guard pair.count == 2, let origin = UInt64(pair[0], radix: 16), let seq = UInt64(pair[1])
      else { return nil }
      entries[Origin(rawValue: origin)] = seq
    }
    return Frontier(entries)
  }
}

/// Rows that have changed since a frontier, and the frontier that they lead to.
struct ChangeNews: Codable, Sendable {
  var frontier: String
  var changes: [OpenReplica.Change]
}

/// Verdicts since a number.
struct VerdictNews: Codable, Sendable {
  var last: UInt64?
  var verdicts: [OpenReplica.Judgement]
}
