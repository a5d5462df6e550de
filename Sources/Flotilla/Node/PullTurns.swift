import Replication

/// Whose turn it is to be asked for what is missing here.
///
/// A pure machine. One peer at a time sends what it has, so that a newcomer does not get every row
/// from every member. The others wait in the order in which they came; silence loses the turn.
struct PullTurns: Sendable, Equatable {
  /// So long a peer may send nothing, in ms.
  static let patience: Int64 = 5_000

  /// Those whose turn has not come yet, in their order.
  private(set) var waiting: [Mesh.ConnectionID] = []
  /// The one that is being asked.
  private(set) var current: Mesh.ConnectionID?
  /// When that last sent anything, by uptime in ms.
  private var heardAt: Int64 = 0

  mutating func enter(_ id: Mesh.ConnectionID) { waiting.append(id) }

  /// The next one that waits, which waits no more; nil while another one has the turn.
  mutating func next() -> Mesh.ConnectionID? {
    current == nil && !waiting.isEmpty ? waiting.removeFirst() : nil
  }

  /// It is to send what it has.
  mutating func begin(_ id: Mesh.ConnectionID, at uptime: Int64) {
    (current, heardAt) = (id, uptime)
  }

  /// It has sent something.
  mutating func hear(_ id: Mesh.ConnectionID, at uptime: Int64) {
    if current == id { heardAt = uptime }
  }

  /// It has sent all that it has; false if it was not its turn.
  mutating func end(_ id: Mesh.ConnectionID) -> Bool {
    guard current == id else { return false }
    current = nil
    return true
  }

  /// Takes the turn from who was silent for too long.
  mutating func look(at uptime: Int64) {
    if uptime - heardAt >= Self.patience { current = nil }
  }

  /// It has nothing to send, so it need not wait.
  mutating func skip(_ id: Mesh.ConnectionID) { waiting.removeAll { $0 == id } }

  /// Its connection has ended.
  mutating func leave(_ id: Mesh.ConnectionID) {
    waiting.removeAll { $0 == id }
    if current == id { current = nil }
  }
}
