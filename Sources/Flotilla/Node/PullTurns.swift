import Replication

/// Whose turn it is to be asked for what is missing here.
///
/// A pure machine. One peer at a time sends what it has, so that a newcomer does not get every row
/// from every member. The others wait in the order in which they came; silence loses the turn.
struct PullTurns: Sendable, Equatable {
  /// So long a peer may send nothing, in ms.
  static let patience: Int64 = 5_000
  /// So long it may have the turn while others wait, in ms, if it brings little meanwhile.
  static let longest: Int64 = 30_000
  /// What counts as little: pieces of work a second.
  static let least: Int64 = 2

  /// Those whose turn has not come yet, in their order.
  private(set) var waiting: [Mesh.ConnectionID] = []
  /// The one that is being asked.
  private(set) var current: Mesh.ConnectionID?
  /// When that last sent anything, by uptime in ms.
  private var heardAt: Int64 = 0
  private var begunAt: Int64 = 0
  /// How often it has sent anything.
  private var heard: Int64 = 0

  mutating func enter(_ id: Mesh.ConnectionID) { waiting.append(id) }

  /// The next one that waits, which waits no more; nil while another one has the turn.
  mutating func next() -> Mesh.ConnectionID? {
    current == nil && !waiting.isEmpty ? waiting.removeFirst() : nil
  }

  /// It is to send what it has.
  mutating func begin(_ id: Mesh.ConnectionID, at uptime: Int64) {
    (current, heardAt, begunAt, heard) = (id, uptime, uptime, 0)
  }

  /// It has sent something.
  mutating func hear(_ id: Mesh.ConnectionID, at uptime: Int64) {
    guard current == id else { return }
    heardAt = uptime
    heard += 1
  }

  /// It has sent all that it has; false if it was not its turn.
  mutating func end(_ id: Mesh.ConnectionID) -> Bool {
    guard current == id else { return false }
    current = nil
    return true
  }

  /// Takes the turn from who was silent for too long, or brings little for long.
  mutating func look(at uptime: Int64) {
    let (silence, turn) = (uptime - heardAt, uptime - begunAt)
    let isSlow = turn >= Self.longest && heard < Self.least * turn / 1_000 && !waiting.isEmpty
    if silence >= Self.patience || isSlow { current = nil }
  }

  /// It has nothing to send, so it need not wait.
  mutating func skip(_ id: Mesh.ConnectionID) { waiting.removeAll { $0 == id } }

  /// Its connection has ended.
  mutating func leave(_ id: Mesh.ConnectionID) {
    waiting.removeAll { $0 == id }
    if current == id { current = nil }
  }
}
