import Replication

/// What must hold in the end where somebody was the anchor.
extension World {
  mutating func checkOffice(_ shown: [(name: String, shown: Observation)]) throws {
    guard isFounded else { return }
    if story.isTold { tellEnd(shown) }
    let alive = nodes.all.filter { !$0.isDead }
    let last = alive.compactMap { $0.appointments.last }.max { $0.term < $1.term }
    let anchor = alive.first { $0.replica.id == last?.node }?.replica.name
    var lives: [String: [RunLog.Life]] = [:]
    for node in nodes.all {
      lives[node.replica.name] = node.replica.runLog.lives(now: node.replica.own)
    }
    let wasAbolished = alive.contains { $0.appointments.contains { $0.node == nil } }
    let dead = nodes.all.filter(\.isDead).map(\.replica)
    let gone = Set(dead.flatMap { (lives[$0.name] ?? []).map(\.origin) + [$0.own] })
    let over = lives.values.flatMap { $0.dropLast() }.map(\.origin)
    FinallyJudged.check(
      shown, isHeld: last?.node != nil, anchor: anchor, isFirst: last?.term.number == 1,
      wasAbolished: wasAbolished, lives: lives, over: gone.union(over), &history)
    // The first anchor of a site leaves what stands as it is, by force or not.
    if last?.isForced == true, last?.term.number != 1 {
      for (name, shown) in shown where name == anchor {
        FinallyCertified.check(shown, named: name, &history)
      }
    }
    FinallyKnown.check(shown, gone: wasAbolished ? gone : [], &history)
    if let first = shown.first { FinallyRejected.check(first.shown, try authors(), &history) }
  }

  /// Everything that somebody was appointed for, whoever has heard of it.
  var appointments: [Appointment] { nodes.all.flatMap(\.appointments) }

  /// Whose origins are, by the lives that nodes have had.
  var owners: [Origin: Identity] {
    var owners: [Origin: Identity] = [:]
    for node in nodes.all {
      let lives = node.replica.runLog.lives(now: node.replica.own).map(\.origin)
      for origin in lives + [node.replica.own] { owners[origin] = node.replica.id }
    }
    return owners
  }

  /// What everybody shows in the end, for a person who looks for a fault.
  mutating func tellEnd(_ shown: [(name: String, shown: Observation)]) {
    for (name, shown) in shown {
      for (row, version) in shown.versions.sorted(by: { $0.key < $1.key }) {
        tell("\(name) ends with row \(row): \(Words.version(version))")
      }
      for ruling in shown.office?.rulings ?? [] {
        let (dot, edit) = (Words.dot(ruling.dot), Words.dot(ruling.edit))
        tell("\(name) knows \(dot): \(ruling.kind) about \(edit), term \(ruling.term.number)")
      }
      for entry in shown.log ?? [] {
        let (loser, winner) = (entry.loser.map(Words.dot), entry.winner.map(Words.dot))
        tell("\(name) logs \(loser ?? "?") under \(winner ?? "?"), \(entry.reason)")
      }
    }
    for (dot, edit) in history.lineage.edits.sorted(by: { $0.key < $1.key }) {
      let what = edit.isDeleted ? "deletes" : "of"
      tell(
        "\(Words.dot(dot)) \(what) row \(edit.row), made over \(edit.parents.map(Words.dot))")
    }
  }
}
