import Network
import Replication

/// The log of a node: gets its lines to whoever wants them, and bounds how many there are.
struct NodeLog: Sendable {
  /// The log has no more lines in a minute: some 1 MiB in an hour.
  private static let mostLines = 180

  private let lines = Locked(StrangerLines(most: Self.mostLines))
  private let write: @Sendable (LogEntry) -> Void

  init(_ write: @escaping @Sendable (LogEntry) -> Void) { self.write = write }

  /// A line, about a member if that is named.
  func callAsFunction(
    _ text: String, about peer: String? = nil, _ level: LogEntry.Level = .information
  ) {
    guard let leftOut = lines.withLock({ $0.take(at: Uptime.now) }) else { return }
    write(LogEntry(text + StrangerLines.remark(leftOut), level, peer: peer))
  }
}

extension Node {
  /// A line of the log about what could not be done.
  nonisolated func warn(_ text: String, about peer: String? = nil) {
    log(text, about: peer, .warning)
  }
}
