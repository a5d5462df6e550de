import Replication

/// In the end an edit that an anchor has rejected is whole in the log of its author.
///
/// What somebody has written over who had seen it is not lost. Nor is what an anchor of another
/// term has certified, or what says the same as an edit that stands, was certified or is in a log.
enum FinallyRejected {
  static func check(
    _ shown: Observation, _ authors: [FinallyLogged.Author], _ history: inout History
  ) {
    let lineage = history.lineage
    let words = Set(lineage.certified.keys.map(\.edit))
    for dot in Set(lineage.rejected.keys.map(\.edit)).sorted() where !words.contains(dot) {
      guard let edit = lineage.edits[dot],
        let author = authors.first(where: { $0.lives.last?.origin == dot.origin }),
        !lineage.wasWrittenOver(dot), !history.isForked(dot),
        !history.isWithdrawn(dot, edit.row), !history.unlogged.contains(dot)
      else { continue }
      let numbers = lineage.numbers(of: dot)
      let isLogged = author.log.contains {
        $0.row == edit.row && $0.isWhole && $0.loser.map(numbers.contains) == true
      }
      if isLogged { continue }
      let standing = shown.versions[edit.row]
      let line = standing.map { lineage.line(of: $0.edit) } ?? []
      let isSaid = lineage.edits.contains { other, said in
        other != dot && said.row == edit.row && said.isDeleted == edit.isDeleted
          && said.hash == edit.hash
          && (line.contains(other) || words.contains(other) || lineage.logged[other] != nil)
      }
      if line.contains(dot) || isSaid { continue }
      history.blame(
        "\(dot) of row \(edit.row) was rejected, and is not in the log of \(author.name)")
    }
  }
}
