import Replication

/// Nobody goes on under an origin of which a peer has told that it holds more than was written
/// here: the machine was put back to an earlier state, or somebody else writes under that origin.
enum AnytimeLife {
  static func check(_ have: Have, _ mark: LifeMark, _ history: inout History, at node: String) {
    guard have.frontier[mark.origin] > mark.seq else { return }
    history.blame(
      "\(node) goes on after \(mark.seq) though a peer holds \(have.frontier[mark.origin]) of its")
  }
}
