import Replication

/// An anchor judges an edit once in its term. Of what comes together, edits of several authors are
/// judged in the order of their stamps, and those of one author in that of their numbers or stamps.
/// What its author was told stays, and nobody is told that an edit was accepted that was rejected.
///
/// Two copies of the anchor may hold one office until they hear of each other. Both judge, perhaps
/// one after the other.
enum AnytimeJudged {
  static func check(
    _ before: Observation, _ after: Observation, own: Origin, waited: [UInt64] = [],
    _ history: inout History, at node: String
  ) {
    guard let office = after.office else { return }
    let held = [office, before.office].compactMap { $0 }.first { $0.certifies }
    history.note(office: held?.term, in: own, at: node) { life, term in
      office.rulings.contains {
        $0.kind == OfficeView.tookOffice && $0.dot.origin == life && $0.term == term
      }
    }
    let rulings = office.rulings(since: before.office)
    for ruling in rulings where ruling.kind < 128 {
      let word = Lineage.Word(edit: ruling.edit, term: ruling.term)
      if let other = history.lineage.rejected[word], other != ruling.dot,
        !history.doubles.isSuperset(of: [other.origin, ruling.dot.origin])
      {
        history.blame("\(ruling.edit) was rejected twice in one term: \(other), \(ruling.dot)")
      }
    }
    // What is judged between two looks was all there at the first; `waited` has the numbers up to
    // which it was looked at before it had all tables. What does not fit comes last,
    // and so does what was written over: the anchor may have it by name alone. What did not fit in
    // its turn may be rejected for another reason later, where all claim each other's values. What
    // an earlier anchor had certified counts with the time that it had there.
    let rejections = rulings.filter {
      $0.kind < 128 && $0.kind != Reason.parked.rawValue && $0.dot.origin == own
    }.sorted { $0.dot.seq < $1.dot.seq }
    var latest: [Origin: (edit: Dot, stamp: Stamp, ruling: UInt64)] = [:]
    for ruling in rejections where !history.lineage.wasWrittenOver(ruling.edit) {
      guard let edit = history.lineage.edits[ruling.edit], let stamp = edit.stamp,
        !history.isForked(ruling.edit), !history.traces.rows.contains(edit.row),
        !history.lineage.wasRedated(ruling.edit)
      else { continue }
      let (author, number) = (ruling.edit.origin, ruling.edit.seq)
      let early = latest.values.filter { other in
        other.stamp > stamp && (other.edit.origin != author || other.edit.seq > number)
          && !waited.contains { other.ruling <= $0 && $0 < ruling.dot.seq }
      }.min { $0.edit < $1.edit }
      if let early {
        history.blame("\(node) has judged \(early.edit) before \(ruling.edit), made earlier")
      }
      if latest[author].map({ $0.stamp <= stamp }) ?? true {
        latest[author] = (ruling.edit, stamp, ruling.dot.seq)
      }
    }
    guard before.office?.verdicts != office.verdicts else { return }
    // Whoever waits for an edit that was made again is told what became of that.
    for (seq, verdict) in office.verdicts where verdict == "accepted" {
      let edit = Dot(own, seq)
      let word = Lineage.Word(edit: edit, term: office.judged.term)
      guard before.office?.verdicts[seq] != verdict, !history.lineage.wasWrittenOver(edit),
        let ruling = history.lineage.rejected[word], !history.doubles.contains(ruling.origin)
      else { continue }
      history.blame("\(edit) was rejected, and \(node) takes it for accepted")
    }
    for (seq, verdict) in before.office?.verdicts ?? [:] {
      guard let verdict, let now = office.verdicts[seq], now != verdict else { continue }
      history.blame("the verdict of \(seq) at \(node) was \(verdict), is \(now ?? "open")")
    }
  }
}
