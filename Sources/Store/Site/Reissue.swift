import Replication
import SQLite

/// New names, in a new life, for what others may know by its name for something else: the edits of
/// the life before above `common`, and the rows that they made.
struct Reissue {
  let old: Origin
  let common: UInt64
  private let own: Origin
  /// Rows of that life that others have written in: they have their names from there.
  private let known: Set<Dot>
  private var edits: [Dot: Dot] = [:]
  private var rows: [Dot: Creation] = [:]

  init(of old: Origin, above common: UInt64, as own: Origin, known: Set<Dot>) {
    (self.old, self.common, self.own, self.known) = (old, common, own, known)
  }

  private func isDoubtful(_ dot: Dot) -> Bool {
    dot.origin == old && dot.seq > common && !known.contains(dot)
  }

  /// The same edit under the next dot. Of one row all edits name the first of them as what made it.
  mutating func issue(_ version: Version, _ numbers: inout Edits) -> Version {
    let dot = Dot(own, numbers.next())
    edits[version.dot] = dot
    var again = version.reissued(as: dot, common: common)
    guard isDoubtful(version.created) else {
      (again.created, again.createdAt) = (version.created, version.createdAt)
      return again
    }
    if let row = rows[version.created] {
      (again.created, again.createdAt) = (row.dot, row.at)
    } else {
      rows[version.created] = Creation(at: again.createdAt, dot: again.created)
    }
    return again
  }

  /// What a version says of other rows and of its former keys, by the names that these have now.
  mutating func rename(_ numbering: Numbering, _ numbers: inout Edits) -> Numbering {
    var renamed = numbering
    renamed.elders = numbering.elders.map { row($0, &numbers) }
    renamed.parents = numbering.parents.map {
      ParentRow(link: $0.link, made: row($0.made, &numbers))
    }
    renamed.former = numbering.former.map {
      let made = Creation(at: .zero, dot: $0.created)
      return FormerKey(
        key: $0.key, created: row(made, &numbers).dot, edit: edit($0.edit, &numbers))
    }
    return renamed
  }

  /// Only a row that has left its key stands nowhere under its name: it gets one of its own.
  mutating func row(_ made: Creation, _ numbers: inout Edits) -> Creation {
    guard isDoubtful(made.dot) else { return made }
    if let row = rows[made.dot] { return row }
    let row = Creation(at: made.at, dot: Dot(own, numbers.next()))
    rows[made.dot] = row
    return row
  }

  mutating func edit(_ dot: Dot, _ numbers: inout Edits) -> Dot {
    guard isDoubtful(dot) else { return dot }
    if let edit = edits[dot] { return edit }
    let edit = Dot(own, numbers.next())
    edits[dot] = edit
    return edit
  }
}
