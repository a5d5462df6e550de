import Replication

/// Every edit that an application has committed becomes a version, or is in the log, for something
/// newer of another origin stands in its place.
enum FinallyKept {
  typealias Edits = [RowNumber: Witness.Edit]

  static func check(
    _ edits: Edits, _ now: Observation, own: Origin, _ history: inout History, at node: String
  ) {
    for (row, edit) in edits {
      // A column that was added may be filled with what was kept beside the row.
      let stands =
        edit.moment > 0
        ? now.rows[row] == edit.content : now.rows[row]?.common == edit.content?.common
      guard !stands else { continue }
      if now.office?.keeps(
        row, of: own, now.versions[row], isDelete: edit.content == nil) == true
      {
        continue
      }
      let authors: Set<Origin> = [own, edit.author ?? own]
      // What stands may have its name.
      if authors.contains(where: { history.isForked($0) }) { continue }
      if authors.contains(where: { now.hasLogged(row, of: $0, above: edit.above) }) { continue }
      // Without a log nothing tells what the liar has claimed to know better.
      if now.log == nil, history.lied.contains(row) { continue }
      if edit.content != nil, isParked(row, edit.moment, now, own) { continue }
      if now.givenUp.values.contains(row) { continue }
      if edit.content == nil, history.copies.contains(node) { continue }
      let isOutranked = now.versions[row].map { version in
        version.dot.origin != own && version.stamp >= Stamp(millisecondsSince1970: edit.moment)
      }
      if isOutranked == true, isSeen(edit, row, now, authors, history) { continue }
      if isHistory(edit.content, now, row, own, history) { continue }
      history.blame("an edit of row \(row) at \(node) is lost")
    }
  }

  /// Whether what was committed stands and is kept beside its table: a row that goes before it has
  /// its value. Where each claims values of its own, the node had deleted that one, and the anchor
  /// put it back.
  private static func isParked(
    _ row: RowNumber, _ moment: Int64, _ now: Observation, _ own: Origin
  ) -> Bool {
    guard now.office != nil && now.hidden.contains(row) || now.parked[row] != nil,
      let standing = now.versions[row]
    else { return false }
    return standing.edit.origin == own
      && standing.stamp >= Stamp(millisecondsSince1970: moment)
  }

  /// Whether an edit that something else has outranked at once was a version before, or is in the
  /// log: what becomes of that is looked at in the end. Nothing is logged of what somebody else had
  /// said as well. Where tables are dropped a delete may have gone with one.
  private static func isSeen(
    _ edit: Witness.Edit, _ row: RowNumber, _ now: Observation, _ authors: Set<Origin>,
    _ history: History
  ) -> Bool {
    guard let log = now.log, edit.content != nil || !history.migrates else { return true }
    let isKnown = history.lineage.edits.contains {
      authors.contains($0.key.origin) && $0.key.seq > edit.above && $0.value.row == row
    }
    if isKnown || log.contains(where: { $0.row == row && $0.loser == nil }) { return true }
    return history.made.values.joined().contains {
      $0?.row == row && $0?.content == edit.content?.common
    }
  }

  /// Whether what stands at an anchor was made over an edit of somebody else that says the same: it
  /// goes on with one of the two, and nothing is logged.
  private static func isHistory(
    _ content: Observation.Content?, _ now: Observation, _ row: RowNumber, _ own: Origin,
    _ history: History
  ) -> Bool {
    guard let content, let standing = now.versions[row], now.office?.certifies == true
    else { return false }
    return history.lineage.line(of: standing.edit).contains {
      $0.origin != own && history[$0]?.content == content.common
    }
  }
}
