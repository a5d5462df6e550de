import Replication

/// Who begins a new life has no part in an office of which its file knows: it may have forgotten
/// what it has decided. A later appointment has another term.
struct AnytimeResigned {
  /// The last term that was known when the present life began.
  private let term: Term?

  /// Nil for the first life, and before one begins.
  init(since beginning: Observation? = nil) { term = beginning?.office?.term }

  func check(_ now: Observation, _ history: inout History, at node: String) {
    guard let office = now.office, office.term == term, office.part != 0 else { return }
    history.blame("\(node) goes on in the office of the life before")
  }
}
