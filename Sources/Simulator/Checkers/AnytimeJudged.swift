import Replication

/// An anchor judges an edit once in its term, and what its author was told stays.
enum AnytimeJudged {
  static func check(
    _ before: Observation, _ after: Observation, _ history: inout History, at node: String
  ) {
    guard let office = after.office else { return }
    for ruling in office.rulings where ruling.kind < 128 {
      let word = Lineage.Word(edit: ruling.edit, term: ruling.term)
      if let other = history.lineage.rejected[word], other != ruling.dot {
        history.blame("\(ruling.edit) was rejected twice in one term: \(other), \(ruling.dot)")
      }
    }
    for (seq, verdict) in before.office?.verdicts ?? [:] {
      guard let verdict, let now = office.verdicts[seq], now != verdict else { continue }
      history.blame("the verdict of \(seq) at \(node) was \(verdict), is \(now ?? "open")")
    }
  }
}
