/// What the log of a node is told.
extension Node {
  /// A line about a member.
  nonisolated func log(
    _ text: String, about peer: String, _ level: LogEntry.Level = .information
  ) {
    entries(LogEntry(text, level, peer: peer))
  }

  /// A line about what could not be done.
  nonisolated func warn(_ text: String, about peer: String? = nil) {
    entries(LogEntry(text, .warning, peer: peer))
  }
}
