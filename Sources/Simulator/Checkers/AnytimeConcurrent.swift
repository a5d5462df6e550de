import Replication

/// What is in a conflict log has met what it did not know: neither author had seen the other edit.
///
/// One that an anchor has rejected, or that had to give way there, may be logged all the same. A
/// later one may have put its ancestor in the place of what it had lost to. So is what its author
/// has written over when the anchor's word on the ancestor was here, and that on the edit itself on
/// its way. And so is what somebody else has written over, if that gave way, too: what is there by
/// name alone nobody could show.
enum AnytimeConcurrent {
  static func check(
    _ before: Observation, _ after: Observation, _ history: inout History, at node: String
  ) {
    let isAnchor = after.office?.certifies == true && before.office?.certifies == true
    for entry in after.logged(since: before) {
      if !entry.isWhole { history.blame("\(node) has logged \(entry) without its content") }
      // Neither is about what the author knew.
      if ["offline", "parked"].contains(entry.reason) { continue }
      guard let loser = entry.loser, let winner = entry.winner else { continue }
      // Two machines ran as one node, and have met here before they met each other.
      if loser == winner, history.isForked(loser) { continue }
      if loser == winner || history.lineage.line(of: winner).contains(loser) {
        history.blame("\(node) has logged \(loser) as lost to \(winner), which had seen it")
      } else if !isExplained(loser, after, entry, history), entry.reason != "older" || isAnchor,
        history.lineage.line(of: loser).contains(winner)
      {
        history.blame("\(node) has logged \(loser) as lost to \(winner), which it had seen")
      }
    }
  }

  private static func isExplained(
    _ edit: Dot, _ after: Observation, _ entry: Observation.Logged, _ history: History
  ) -> Bool {
    guard let standing = after.versions[entry.row] else { return false }
    if standing.certificate != nil, history.doubles.contains(standing.dot.origin) { return true }
    // The later edit may have given way to another one already.
    let isWrittenOver = history.lineage.edits.contains {
      $0.key.origin == edit.origin && $0.key > edit && $0.value.parents.contains(edit)
    }
    if isWrittenOver { return true }
    // The anchor has logged it as lost to one that it had not seen, and its ancestor has taken the
    // place of that since.
    if history.lineage.overruled.contains(edit),
      let winner = history.lineage.logged[edit]?.winner,
      !history.lineage.line(of: edit).contains(winner)
    {
      return true
    }
    if entry.reason == Reason.unseen.name, history.lineage.wasCovered(edit) { return true }
    if standing.dot.origin == edit.origin { return standing.dot.seq > edit.seq }
    // Its author may have made it again before it heard of that.
    let numbers = history.lineage.numbers(of: edit)
    return standing.edit == entry.winner
      && history.lineage.rejected.contains { word, ruling in
        guard numbers.contains(word.edit), word.term == standing.term else {
          return numbers.contains(word.edit) && word.term < standing.term
        }
        // The anchor heard of the ancestor after it had rejected this one.
        let first = history.lineage.certified[Lineage.Word(edit: standing.edit, term: word.term)]
        return first.map { $0.origin == ruling.origin && $0.seq > ruling.seq } ?? false
      }
  }
}
