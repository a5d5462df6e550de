import Replication
import Store

/// What the log tells of rows whose content does not give the hash of their version, and of rows of
/// tables that nobody tracks.
struct UnmatchedLines {
  var counted = CountedLine()
  var leftOut = CountedLine()
  /// Of whose edits it was said that two contents are about.
  var authors: Set<Origin> = []
}

extension Node {
  /// Says who has sent such rows, and of whose edits there are two contents: each once.
  func tell(_ unmatched: UnmatchedContent, from sender: String) async {
    if let due = unmatchedLines.counted.receive(unmatched.rows, at: .now) {
      let rows = due.count == 1 ? "1 row" : "\(due.count) rows"
      log(
        "\(rows) from \(due.isFirst ? sender : "members") came without all that its author has "
          + "written: a column was dropped there, or the content was changed on the way; to "
          + "compare: flotilla verify \(shellWord(path)) --repair")
    }
    if let due = unmatchedLines.leftOut.receive(unmatched.leftOut, at: .now) {
      let rows = due.count == 1 ? "1 row" : "\(due.count) rows"
      log(
        "\(rows) from \(due.isFirst ? sender : "members") were left out: of more tables than may "
          + "wait here without being tracked; they come again once their table is")
    }
    for origin in unmatched.doubled where unmatchedLines.authors.insert(origin).inserted {
      log(
        "two contents are about of one edit by \(await name(of: origin)), of which \(sender) has "
          + "sent one: one of those who passed it on has changed it, or its author has")
    }
  }

  private func name(of origin: Origin) async -> String {
    if position.own == origin { return identity.name }
    // Without the file a line of the log must do without the name.
    let node = try? await store.run { (store) throws(StoreError) in try store.author(of: origin) }
    return node.flatMap { $0 }.flatMap { roster.roll.entries[$0]?.name } ?? "an unknown author"
  }
}
