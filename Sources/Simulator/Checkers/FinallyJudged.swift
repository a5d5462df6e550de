import Replication

/// Once everything has healed and somebody is the anchor, nothing waits for it: every edit has its
/// verdict, everybody knows that, and what stands agrees with it.
enum FinallyJudged {
  static func check(
    _ all: [(name: String, shown: Observation)], isHeld: Bool, anchor: String?, isFirst: Bool,
    wasAbolished: Bool, lives: [String: [RunLog.Life]], over: Set<Origin>,
    _ history: inout History
  ) {
    let known = all.reduce(into: Frontier()) { $0.join($1.shown.frontier) }
    for (name, shown) in all {
      guard let office = shown.office else { continue }
      if office.isHeld != isHeld { history.blame("\(name) has not heard who is the anchor") }
      for (row, all) in office.pending.sorted(by: { $0.key < $1.key }) {
        // Of a life that is `over` and that nobody has all of, some may be left of an exchange that
        // did not end. If its author is there, it has handed them on under other names.
        // The same goes for what its author has taken back since.
        let versions = all.filter {
          (known.covers($0.dot) || !over.contains($0.dot.origin))
            && (shown.frontier.covers($0.dot) || !history.isWithdrawn($0.dot, row))
        }
        guard !versions.isEmpty else { continue }
        history.blame("of row \(row), \(versions.map(\.dot)) wait at \(name) for ever")
      }
      guard isHeld else { continue }
      // The first anchor leaves what stands as it is; every later one has certified all of it.
      // A deleted one may be forgotten where it would have been certified, and of one that its
      // author has taken back nobody may hear: digests do not count it.
      for (row, version) in shown.versions
      where !isFirst && version.isTentative {
        if version.isDeleted, history.collects || history.isWithdrawn(version.dot, row) { continue }
        history.blame("row \(row) at \(name), \(version.dot), was never certified")
      }
      if name == anchor, office.part != 3 { history.blame("\(name) has not taken office") }
      if office.judged.term != office.term {
        history.blame("\(name) does not know what the anchor has judged")
      }
      // Where nobody was the anchor for a while, what is dropped there is in its author's log.
      for (seq, verdict) in office.verdicts.sorted(by: { $0.key < $1.key }) {
        let life = lives[name]?.first { $0.first <= seq && seq <= $0.last }
        agree(
          verdict, seq, shown, office, life?.origin, name, wasAbolished: wasAbolished, &history)
      }
    }
    guard isHeld else { return }
    for dot in history.lineage.edits.keys.sorted() where known.covers(dot) {
      for (name, shown) in all where shown.office?.judged.frontier.covers(dot) == false {
        history.blame("\(name) does not know that \(dot) was judged")
      }
    }
  }

  /// When one gives way to an edit that did not see it nothing is logged, not even at the anchor.
  private static func deletes(of row: RowNumber, _ lineage: Lineage) -> [Dot] {
    lineage.edits.filter { $0.value.row == row && $0.value.isDeleted }.map(\.key)
  }

  private static func agree(
    _ verdict: String?, _ seq: UInt64, _ shown: Observation, _ office: OfficeView,
    _ own: Origin?, _ name: String, wasAbolished: Bool, _ history: inout History
  ) {
    guard let own else { return }
    let edit = Dot(own, seq)
    guard let verdict else { return history.blame("\(name) has no verdict about \(edit)") }
    let wasRejected =
      history.lineage.rejected[Lineage.Word(edit: edit, term: office.judged.term)] != nil
    let row = history.lineage.edits[edit]?.row
    let stands = row.flatMap { shown.versions[$0] }?.edit == edit
    if stands, wasRejected {
      history.blame("\(edit) was rejected in the last term and stands at \(name)")
    }
    let lineage = history.lineage
    guard verdict == "accepted", !stands, !wasAbolished, let row,
      let standing = shown.versions[row],
      let made = lineage.edits[edit], !made.isDeleted
    else { return }
    let words = Set(lineage.certified.keys.map { $0.edit })
    // Of equal content one is certified, and nothing is said about the other. What is overruled in
    // the same commit only the log tells of, and nothing does where the other has seen it.
    let same = lineage.edits.filter { $0.value.row == row && $0.value.hash == made.hash }
    func isAccountedFor(_ edit: Dot) -> Bool {
      let numbers = lineage.numbers(of: edit)
      return [[standing.edit], Array(words), Array(lineage.overruled), deletes(of: row, lineage)]
        .joined().contains { !lineage.line(of: $0).isDisjoint(with: numbers) }
    }
    let isKnown =
      made.hash == standing.hash || lineage.rejected.keys.contains { $0.edit == edit }
      || isAccountedFor(edit) || same.keys.contains { $0 != edit && isAccountedFor($0) }
    if !isKnown {
      history.blame("\(edit) was accepted, \(name) is told, but nobody has certified it")
    }
  }
}
