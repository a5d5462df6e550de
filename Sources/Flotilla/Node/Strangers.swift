import Network
import Replication

/// The streams whose other end has not said Hello yet, or that bring a first copy.
///
/// Every stream gets its number here, and keeps it as a session. Those that others have opened get
/// few places, and who has to make room is closed. Each handshake blocks a thread, so nobody comes
/// in while several that were closed still have theirs. A node that stops closes the ones that are
/// left.
struct Strangers: Sendable {
  /// So many that had to make room may be on their way out at a time.
  private static let mostLeaving = 4

  private var nextNumber: Mesh.ConnectionID = 1
  private var places = Vestibule()
  private var streams: [Mesh.ConnectionID: any ByteChannel] = [:]
  /// Those whose handshake has begun, ...
  private var begun: Set<Mesh.ConnectionID> = []
  /// ... and those of them that had to make room.
  private var leaving: Set<Mesh.ConnectionID> = []
  /// The work on streams that others have opened, until each is a session or closed.
  private var handshakes: [Mesh.ConnectionID: Task<Void, Never>] = [:]

  var isEmpty: Bool { streams.isEmpty }

  /// Whether the next one has to wait until others are gone.
  var isCrowded: Bool { leaving.count >= Self.mostLeaving }

  /// The work that is under way.
  var tasks: [Task<Void, Never>] { Array(handshakes.values) }

  /// Takes a stream and gives its number, which no other stream of this node has had.
  mutating func enter(_ stream: any ByteChannel, isDialled: Bool) -> Mesh.ConnectionID {
    let id = nextNumber
    nextNumber += 1
    if !isDialled, let leaver = places.enter(id, from: stream.remote.host) {
      streams[leaver]?.close()
      if begun.contains(leaver) { leaving.insert(leaver) }
    }
    streams[id] = stream
    return id
  }

  /// For how many ms a stream that somebody has opened has to wait before its handshake; nil if it
  /// had to make room, for then it takes nobody's turn.
  mutating func pause(_ id: Mesh.ConnectionID, at now: Instant) -> Int64? {
    guard places.holds(id), let stream = streams[id] else { return nil }
    let pause = places.pause(from: stream.remote.host, at: now)
    if pause == 0 { begun.insert(id) }
    return pause
  }

  /// A stream needs no place any more; it is still closed when the node stops.
  mutating func free(_ id: Mesh.ConnectionID) { places.leave(id) }

  /// The other end has said Hello, or is gone. A handshake is not enough, for who knows an old code
  /// can make any number of them.
  mutating func leave(_ id: Mesh.ConnectionID) {
    places.leave(id)
    streams[id] = nil
    begun.remove(id)
    leaving.remove(id)
  }

  /// Remembers the work on a stream until `end`.
  mutating func begin(_ id: Mesh.ConnectionID, _ handshake: Task<Void, Never>) {
    handshakes[id] = handshake
  }

  mutating func end(_ id: Mesh.ConnectionID) { handshakes[id] = nil }

  /// Closes the streams that are no sessions.
  func close(unless isSession: (Mesh.ConnectionID) -> Bool) {
    for (id, stream) in streams where !isSession(id) { stream.close() }
  }
}
