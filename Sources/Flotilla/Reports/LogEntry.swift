/// One line of a node's log: what happened, and what it is about.
public struct LogEntry: Sendable, Equatable {
  /// How grave it is, by the numbers of syslog(3).
  public enum Level: Int, Sendable {
    case warning = 4
    case information = 6
  }

  /// A sentence for people.
  public var text: String
  public var level: Level
  /// The absolute path of the database; nil if it is about all of a process.
  public var database: String?
  /// The name of the other node that it is about.
  public var peer: String?

  public init(
    _ text: String, _ level: Level = .information, database: String? = nil, peer: String? = nil
  ) {
    (self.text, self.level, self.database, self.peer) = (text, level, database, peer)
  }
}
