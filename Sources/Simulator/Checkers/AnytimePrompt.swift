import Replication

/// No honest peer has to wait for what it has said for nothing (`Toll`).
enum AnytimePrompt {
  static func check(
    _ message: Message, _ side: inout Link.Side, from name: String, at now: Instant,
    _ history: inout History
  ) {
    guard side.hasToWait(with: message, at: now) else { return }
    history.blame("\(name) has to wait with what it says, though it is honest")
  }
}
