import Replication

/// An anchor judges an edit once in its term, what comes together in the order of the stamps, what
/// its author was told stays, and nobody is told that an edit was accepted that was rejected.
enum AnytimeJudged {
  static func check(
    _ before: Observation, _ after: Observation, own: Origin, _ history: inout History,
    at node: String
  ) {
    guard let office = after.office else { return }
    let known = before.office?.rulings.count ?? 0
    for ruling in office.rulings.dropFirst(known) where ruling.kind < 128 {
      let word = Lineage.Word(edit: ruling.edit, term: ruling.term)
      if let other = history.lineage.rejected[word], other != ruling.dot {
        history.blame("\(ruling.edit) was rejected twice in one term: \(other), \(ruling.dot)")
      }
    }
    // What is judged between two looks was all there at the first. What does not fit comes last,
    // and so does what was written over: the anchor may have it by name alone. What did not fit in
    // its turn may be rejected for another reason later, where all claim each other's values.
    let rejections = office.rulings.dropFirst(known)
      .filter { $0.kind < 128 && $0.kind != Reason.parked.rawValue && $0.dot.origin == own }.sorted
    { $0.dot.seq < $1.dot.seq }
    let stamps = rejections.filter { !history.lineage.wasWrittenOver($0.edit) }
      .compactMap { history.lineage.edits[$0.edit] }
      .filter { !history.traces.rows.contains($0.row) }.compactMap(\.stamp)
    if !zip(stamps, stamps.dropFirst()).allSatisfy({ $0 <= $1 }) {
      history.blame("\(node) has judged an edit before an earlier one")
    }
    guard before.office?.verdicts != office.verdicts else { return }
    // Whoever waits for an edit that was made again is told what became of that.
    for (seq, verdict) in office.verdicts where verdict == "accepted" {
      let edit = Dot(own, seq)
      guard before.office?.verdicts[seq] != verdict, !history.lineage.wasWrittenOver(edit),
        history.lineage.rejected[Lineage.Word(edit: edit, term: office.judged.term)] != nil
      else { continue }
      history.blame("\(edit) was rejected, and \(node) takes it for accepted")
    }
    for (seq, verdict) in before.office?.verdicts ?? [:] {
      guard let verdict, let now = office.verdicts[seq], now != verdict else { continue }
      history.blame("the verdict of \(seq) at \(node) was \(verdict), is \(now ?? "open")")
    }
  }
}
