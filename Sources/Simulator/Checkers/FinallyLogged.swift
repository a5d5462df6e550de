import Replication

/// Where nobody is ever the anchor no edit is lost: it is in the history of what stands, or in the
/// log of its author and nowhere else, or something with the same content is. Whoever sees an edit
/// of a life lose that is over keeps it.
///
/// What was made on a machine that is lost for good may be in no log, nor what its author dropped
/// with the table, or may not read any more. What an author took back with the right to make it is
/// logged as not allowed, which `FinallyRefused` looks at.
enum FinallyLogged {
  /// What a node that is still there has in its log, and under which origins it wrote what.
  struct Author {
    var name: String
    var log: [Observation.Logged]
    var lives: [RunLog.Life]
  }

  static func check(
    _ shown: Observation, known: Frontier, _ authors: [Author], _ history: inout History
  ) {
    // Of two copies one passes for a life that is over; and what gives way to a delete that is
    // forgotten since, where a file was put back, cannot be told from what is lost.
    if history.hasCopies || history.collects && history.wasPutBack { return }
    let lineage = history.lineage
    var logged: [(row: RowNumber, edit: Dot)] = []
    for author in authors {
      for entry in author.log {
        guard let loser = entry.loser else { continue }
        logged.append((entry.row, loser))
        let isElsewhere = authors.contains { other in
          other.name != author.name && other.lives.last?.origin == loser.origin
        }
        if isElsewhere { history.blame("\(author.name) has logged \(loser), which is another's") }
      }
    }
    func isLeft(_ dot: Dot) -> Bool {
      authors.flatMap(\.lives).contains { $0.origin == dot.origin }
    }
    // What somebody else had said as well goes with that. One number may mean two edits. Where
    // tables were dropped, what was there in the middle of some work alone may have gone with one.
    let hasDropped = !history.unlogged.isEmpty
    for (dot, edit) in lineage.edits
    where !known.covers(dot) || !isLeft(dot) || history.unlogged.contains(dot)
      || history.isForked(dot) || history.isWithdrawn(dot, edit.row)
      || hasDropped && history[dot] == nil
    {
      logged.append((edit.row, dot))
    }
    let kept = history.kept(in: shown, known: known, logged: logged)
    for (dot, edit) in lineage.edits.sorted(by: { $0.key < $1.key }) where !edit.isDeleted {
      if kept[edit.row]?.contains(dot) == true { continue }
      let standing = shown.versions[edit.row].map { "\($0.edit)" } ?? "nothing"
      history.blame("\(dot) of row \(edit.row) is in no log; \(standing) stands")
    }
    checkDeletes(
      shown, history.kept(in: shown, known: known, logged: logged, butDeletes: true), &history)
  }

  /// A delete that lost to what stands is logged like any other edit, unless another one, which had
  /// not seen it, is `kept`: both say the same.
  private static func checkDeletes(
    _ shown: Observation, _ kept: [RowNumber: Set<Dot>], _ history: inout History
  ) {
    let lineage = history.lineage
    let over = Set(lineage.edits.values.flatMap(\.parents))
    for (dot, edit) in lineage.edits.sorted(by: { $0.key < $1.key }) where edit.isDeleted {
      guard let standing = shown.versions[edit.row], !standing.isDeleted, !over.contains(dot),
        let kept = kept[edit.row], !kept.contains(dot)
      else { continue }
      let isSaid = kept.subtracting(lineage.line(of: dot)).contains {
        lineage.edits[$0]?.isDeleted == true
      }
      if isSaid { continue }
      history.blame(
        "\(dot), a delete of row \(edit.row), is in no log; \(standing.edit) stands")
    }
  }
}
