import Replication

/// No frontier has an origin under which nobody writes, nor more of one than its owner has written.
///
/// Of a machine that was put back, or has died, others may hold more than it does, and of two
/// copies that write under one origin, too.
enum FinallySigned {
  static func check(
    _ frontiers: [(name: String, own: Origin, frontier: Frontier)], invented: [Origin],
    _ history: inout History
  ) {
    for (name, _, frontier) in frontiers {
      for origin in invented where frontier[origin] > 0 {
        history.blame("\(name) counts \(frontier[origin]) edits of an invented origin")
      }
      for (author, own, written) in frontiers
      where frontier[own] > written[own] && !history.isForked(own) {
        history.blame(
          "\(name) counts \(frontier[own]) edits of \(author), which has written \(written[own])")
      }
    }
  }
}
