import Replication

/// Watches one replica: runs the checkers that must hold at any time, and remembers what its
/// application has committed until it stands as a version or something newer does.
struct Witness {
  /// What an application has committed that is perhaps not folded yet.
  private struct Edit {
    /// Nil if the row was deleted.
    var content: Observation.Content?
    /// The earliest moment that the edit can be stamped with.
    var moment: Int64
  }

  private var seen = Observation()
  /// What stood in the middle of the work under way, when the application wrote.
  private var glanced: Observation?
  private var pending: [RowNumber: Edit] = [:]
  /// Rows that the application has changed since the last check.
  private var touched: Set<RowNumber> = []
  /// Rows whose table was taken away, perhaps with edits that were not folded, until they are here
  /// again and folded.
  private var away: Set<RowNumber> = []
  private var lastRead: [RowNumber: Observation.Content] = [:]

  /// What the replica shows at first.
  mutating func begin(_ now: Observation) { seen = now }

  /// The application has committed; `rows` is what it reads now.
  mutating func written(_ rows: [RowNumber: Observation.Content], at moment: Int64) {
    for row in Set(lastRead.keys).union(rows.keys) where lastRead[row] != rows[row] {
      touched.insert(row)
    }
    lastRead = rows
    for row in Set(seen.rows.keys).union(rows.keys).union(pending.keys) {
      let isAsBefore = pending[row].map { $0.content == rows[row] } ?? (seen.rows[row] == rows[row])
      if isAsBefore, pending[row] == nil { continue }
      if seen.rows[row] == rows[row] {
        // What is as it was leaves nothing to tell others.
        pending[row] = nil
      } else {
        let earlier = isAsBefore ? pending[row]?.moment ?? moment : moment
        pending[row] = Edit(content: rows[row], moment: min(earlier, moment))
      }
    }
  }

  /// A migration changes what rows look like, and may take the note of a touch along.
  mutating func reshaped(_ rows: [RowNumber: Observation.Content]) {
    for row in pending.keys {
      pending[row]?.content = rows[row]
      pending[row]?.moment = 0
    }
    for (row, content) in rows where pending[row] == nil { seen.rows[row] = content }
  }

  /// A table was taken away with these rows: whether they come again is not for this node to say.
  mutating func removed(_ rows: Set<RowNumber>) {
    away.formUnion(rows)
    for row in rows { (pending[row], seen.rows[row], lastRead[row]) = (nil, nil, nil) }
  }

  /// The replica has worked. `own` is the origin that it writes under, `isFolded` tells that
  /// nothing of its application's waits.
  mutating func check(
    _ now: Observation, own: Origin, isFolded: Bool, at node: String, wall: Int64,
    _ history: inout History
  ) {
    let waiting = isFolded ? [] : touched.union(pending.keys).union(away)
    AnytimeForward.check(seen, now, &history, at: node)
    for (row, version) in now.versions
    where version.dot.origin == own && seen.versions[row] != version && history[version.dot] == nil
    {
      history.add(
        History.Made(
          row: row, version: version, content: now.rows[row]?.common,
          // A table that is away under another name shows nothing.
          isSeen: !waiting.contains(row) && (version.isDeleted || now.rows[row] != nil)))
    }
    AnytimeContent.check(seen, now, &history, at: node, waiting)
    AnytimeFrontier.check(seen, now, &history, at: node)
    if now.office != nil {
      AnytimeJudged.check(seen, now, own: own, &history, at: node)
      history.lineage.note(glanced ?? seen, now, own: own)
      glanced = nil
      AnytimeConcurrent.check(seen, now, &history, at: node)
    }
    touched = []
    lastRead = now.rows
    if isFolded {
      if now.office != nil {
        for (row, edit) in pending where edit.content == nil {
          if let gone = seen.versions[row] { history.lineage.remove(row, gone.edit) }
        }
      }
      away.subtract(now.rows.keys)
      FinallyKept.check(
        pending.mapValues { ($0.content, min($0.moment, wall)) }, now, own: own,
        &history, at: node)
      pending = [:]
      seen = now
    } else {
      for row in pending.keys {
        if let edit = pending[row], edit.moment > wall { pending[row]?.moment = wall }
      }
      // Rows that the application has changed are compared with what they were.
      let rows = seen.rows
      seen = now
      for row in pending.keys { seen.rows[row] = rows[row] }
    }
  }

  /// The application is about to write in the middle of the replica's work.
  mutating func glance(_ now: Observation, own: Origin, _ lineage: inout Lineage) {
    lineage.note(glanced ?? seen, now, own: own)
    glanced = now
  }

  /// The replica does not have all tables yet: what it shows is looked at when it has.
  mutating func wait() { seen = Observation() }

  /// Power was cut: rows of an exchange that has not ended may be gone, but nothing that the
  /// frontier covers, nor anything that the application has committed.
  mutating func setBack(to now: Observation, _ history: inout History, at node: String) {
    if !now.frontier.covers(seen.frontier) {
      history.blame("\(node) has lost versions of its frontier in a power cut")
    }
    let rows = seen.rows
    seen = now
    for row in pending.keys { seen.rows[row] = rows[row] }
  }
}
