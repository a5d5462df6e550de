import Replication

/// The pieces of work that go on beside a node, each under its name.
///
/// Whoever begins one keeps it here, so that a node which stops can end all of them. A piece ends
/// by itself and then gives its name free; loops go on until the node stops.
struct NodeWork: Sendable {
  enum Piece: Hashable, Sendable {
    /// Of an address.
    case dial(String)
    /// Of a peer that has asked, by its connection.
    case dialBack(Mesh.ConnectionID)
    case session(Mesh.ConnectionID)
    case loop(Int)
    /// The wait until the mesh is to be told the time.
    case meshTick
    /// The wait for the next look at what was written.
    case nextLook
    /// The wait until it is kept what others hold.
    case delivery
    /// What a merge has left to be folded.
    case folding
    /// Letting go of deleted versions.
    case collecting
    /// Letting go of what logs keep too much of.
    case trimming
  }

  private var tasks: [Piece: Task<Void, Never>] = [:]
  private var loops = 0

  /// How many peers are dialled because they have asked.
  var dialsBack: Int {
    tasks.keys.count { if case .dialBack = $0 { true } else { false } }
  }

  func isUnderWay(_ piece: Piece) -> Bool { tasks[piece] != nil }

  mutating func begin(_ piece: Piece, _ task: Task<Void, Never>) { tasks[piece] = task }

  /// Begins one more loop.
  mutating func loop(_ task: Task<Void, Never>) {
    loops += 1
    tasks[.loop(loops)] = task
  }

  mutating func end(_ piece: Piece) { tasks[piece] = nil }

  func cancel(_ piece: Piece) { tasks[piece]?.cancel() }

  /// The node stops: what only waits, listens or dials is cancelled. Sessions are told to close,
  /// and a fold is finished.
  func stop() {
    for (piece, task) in tasks {
      switch piece {
      case .session, .folding, .collecting, .trimming: break
      case .dial, .dialBack, .loop, .meshTick, .nextLook, .delivery: task.cancel()
      }
    }
  }

  /// The sessions, and what may become one.
  var connections: [Task<Void, Never>] { tasks.filter { $0.key.isConnection }.map(\.value) }

  /// All other work.
  var others: [Task<Void, Never>] { tasks.filter { !$0.key.isConnection }.map(\.value) }
}

extension NodeWork.Piece {
  fileprivate var isConnection: Bool {
    switch self {
    case .dial, .dialBack, .session: true
    default: false
    }
  }
}
