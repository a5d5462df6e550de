import Replication
import Store

/// Rows whose content does not give the hash of their version, or that nobody tracks.
extension Node {
  /// Says who has sent such rows, and of whose edits there are two contents: each once.
  func tell(_ unmatched: UnmatchedContent, from sender: String) async {
    for line in rowLines.unmatched(unmatched, from: sender, at: .now) { log(line) }
    for origin in rowLines.doubled(unmatched) {
      log(
        "two contents are about of one edit by \(await name(of: origin)), of which \(sender) has "
          + "sent one: one of those who passed it on has changed it, or its author has")
    }
  }

  private func name(of origin: Origin) async -> String {
    if position.own == origin { return identity.name }
    // Without the file a line of the log must do without the name.
    let node = try? await store.run { (store) throws(StoreError) in
      try store.members.author(of: origin)
    }
    return node.flatMap { $0 }.flatMap { roster.roll.entries[$0]?.name } ?? "an unknown author"
  }
}
