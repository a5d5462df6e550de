import Replication
import SQLite

@testable import Store

/// The key of a row in a table, the same on every node.
struct RowName: Hashable {
  var table: String
  var key: Key
}

/// Every version that any replica has ever made.
struct History {
  struct Made {
    var version: Version
    var node: Origin
  }

  private(set) var newest: [RowName: Made] = [:]
  /// What was seen to go wrong on the way.
  var faults: [String] = []

  mutating func add(_ version: Version, _ row: RowName) {
    if let known = newest[row], known.version.rank >= version.rank { return }
    newest[row] = Made(version: version, node: version.dot.origin)
  }
}

/// Watches one replica from outside: nothing that its application committed may vanish.
struct Witness {
  typealias Content = [String: SQLite.Value]

  /// What an application has written that is perhaps not folded yet.
  private struct Edit {
    /// Nil if it deleted the row, else what it changed.
    var changed: Content?
    var at: Int64
  }

  private var seen: [RowName: Content] = [:]
  private var pending: [RowName: Edit] = [:]
  private var lastSeq: UInt64 = 0
  private var versions: [RowName: Version] = [:]

  mutating func begin(_ replica: TestReplica, _ tables: [ScheduleTable]) throws {
    try look(replica, tables)
  }

  /// Takes the rows as they are.
  mutating func look(_ replica: TestReplica, _ tables: [ScheduleTable]) throws {
    seen = try Self.rows(replica, tables)
  }

  /// The application has committed: what differs must stay until it is outranked.
  mutating func written(
    _ replica: TestReplica, _ tables: [ScheduleTable], at moment: Int64
  ) throws {
    let before = seen
    try look(replica, tables)
    for name in Set(before.keys).union(seen.keys) where before[name] != seen[name] {
      guard let now = seen[name] else {
        // A row that came and went between two folds leaves nothing to tell others.
        let isKnown = versions[name].map { !$0.isDeleted } ?? false
        pending[name] = isKnown ? Edit(changed: nil, at: moment) : nil
        continue
      }
      var changed = now
      if let old = before[name] { changed = now.filter { old[$0.key] != $0.value } }
      let earlier = pending[name]?.changed ?? [:]
      pending[name] = Edit(changed: earlier.merging(changed) { $1 }, at: moment)
    }
  }

  /// The store has worked: pending edits stand, or something newer does.
  mutating func check(
    _ replica: TestReplica, _ tables: [ScheduleTable], _ history: inout History
  ) throws {
    try look(replica, tables)
    let known = try Self.versions(replica, tables)
    for (name, version) in known where version != versions[name] {
      if version.dot.origin == replica.origin, version.dot.seq > lastSeq {
        if let old = versions[name], old.rank >= version.rank {
          history.faults.append("an edit of \(name) does not outrank what it replaced")
        }
        history.add(version, name)
      } else if let old = versions[name], old.rank >= version.rank {
        history.faults.append("\(name) went back")
      }
    }
    versions = known
    lastSeq = replica.store.position.frontier[replica.origin]
    guard try Journal.isEmpty(on: replica.application), try replica.store.comparing() == nil else {
      return
    }
    for (name, edit) in pending where !stands(edit, name) {
      let newer = versions[name].map { version in
        version.dot.origin != replica.origin
          && version.stamp >= Stamp(millisecondsSince1970: edit.at)
      }
      guard newer != true else { continue }
      history.faults.append("an edit of \(name) is lost: \(edit), now \(seen[name] ?? [:])")
    }
    pending = [:]
  }

  private func stands(_ edit: Edit, _ name: RowName) -> Bool {
    guard let changed = edit.changed else { return seen[name] == nil }
    guard let now = seen[name] else { return false }
    return changed.allSatisfy { now[$0.key] == $0.value }
  }

  /// Every row of the tables, by its key.
  static func rows(
    _ replica: TestReplica, _ tables: [ScheduleTable]
  ) throws -> [RowName: Content] {
    var rows: [RowName: Content] = [:]
    for table in tables {
      let statement = try replica.application.prepare("SELECT * FROM \(table.name)")
      let names = (0..<statement.columnCount).map(statement.columnName)
      while try statement.step() {
        let content = Dictionary(uniqueKeysWithValues: zip(names, statement.row))
        let key = Key(
          table.key.map { Replication.Value(content[$0.column] ?? .null) },
          collations: table.collations)
        guard let key else { continue }
        rows[RowName(table: table.name, key: key)] = content
      }
    }
    return rows
  }

  /// Every version of the tables, read from the file.
  static func versions(
    _ replica: TestReplica, _ tables: [ScheduleTable]
  ) throws -> [RowName: Version] {
    var versions: [RowName: Version] = [:]
    let statement = try replica.application.prepare(
      """
      SELECT l.name, v.key, o.origin, v.seq, v.stamp, v.hash FROM _flotilla_version AS v
      JOIN _flotilla_local AS l ON l.id = v.tbl JOIN _flotilla_origin AS o ON o.id = v.origin
      """)
    while try statement.step() {
      let name = RowName(table: statement.string(0) ?? "", key: Key(bytes: statement.bytes(1)))
      let dot = Dot(
        Origin(rawValue: UInt64(bitPattern: statement.integer(2))), UInt64(statement.integer(3)))
      versions[name] = Version(
        dot: dot, created: dot, stamp: Stamp(rawValue: statement.integer(4)),
        hash: UInt64(bitPattern: statement.integer(5)), isDeleted: statement.isNull(5))
    }
    return versions
  }
}
