import Replication
import SQLite

/// The rows of some buckets as they stand, in the order in which an account tells them.
final class AccountWalk {
  var snapshot: Int64
  let buckets: Set<Int>
  /// By their folded names.
  let tables: [(name: [UInt8], table: ReplicaTable)]
  var table = 0
  var after = Key(bytes: [])
  /// Rows without a version, which are in no order of the version table.
  var strays: ArraySlice<AccountRow>

  init(
    snapshot: Int64, buckets: Set<Int>, _ scope: DigestScope, tables: [ReplicaTable],
    strays: [AccountRow]
  ) {
    self.snapshot = snapshot
    self.buckets = buckets
    // Of several shapes of a table's key one is compared, the same on both sides.
    self.tables = tables.filter { $0.counts(in: scope) }.map {
      (Array($0.name.foldedForNames.utf8), $0)
    }
    .sorted { $0.0.lexicographicallyPrecedes($1.0) }
    // They stand in tables: where another shape is compared they are of no concern.
    let others = Set(
      tables.filter { !$0.isHeld && !$0.counts(in: scope) }.map { folded($0.name) })
    self.strays =
      strays.filter { buckets.contains($0.bucket) && !others.contains(folded($0.table)) }[...]
  }

  /// Rows that were read and not given yet.
  var ready: ArraySlice<AccountRow> = []

  /// True once the last row was read.
  var isDone: Bool { table >= tables.count }

  /// Gives of the rows that were read as many as there is room for.
  func take(_ room: Int, isFirst: Bool) -> Store.WalkStep {
    var (rows, left): ([AccountRow], Int) = ([], room)
    while let row = ready.first, row.size <= left || isFirst && rows.isEmpty {
      rows.append(ready.removeFirst())
      left -= row.size
    }
    return rows.isEmpty ? .full : .rows(rows)
  }

  /// Puts strays among rows up to a place, each in the place of a row of the same key.
  func mixed(_ rows: [AccountRow], upTo limit: AccountRow.Place?) -> [AccountRow] {
    var mixed: [AccountRow] = []
    var rows = rows[...]
    while let stray = strays.first, limit.map({ stray.place <= $0 }) ?? true {
      strays.removeFirst()
      while let row = rows.first, row.place < stray.place { mixed.append(rows.removeFirst()) }
      if rows.first?.place == stray.place { rows.removeFirst() }
      mixed.append(stray)
    }
    return mixed + rows
  }
}

/// Two accounts side by side: that of this replica, and the one that a peer tells bit by bit.
final class AccountJoin {
  let walk: AccountWalk
  var comparison: RowComparison
  var ours: ArraySlice<AccountRow> = []
  var theirs: ArraySlice<AccountRow> = []
  /// Whether the peer has told all.
  var isLast = false

  init(_ walk: AccountWalk, here: Frontier, there: Frontier) {
    self.walk = walk
    self.comparison = RowComparison(here: here, there: there)
  }

  /// Compares what has come so far; false if more of ours has to be read before.
  func compare() -> Bool {
    while true {
      if ours.isEmpty, !walk.isDone || !walk.ready.isEmpty { return false }
      guard let there = theirs.first else {
        guard isLast else { return true }
        guard let row = ours.popFirst() else { return true }
        comparison.take(row, nil)
        continue
      }
      guard let here = ours.first, here.place <= there.place else {
        comparison.take(nil, there)
        theirs.removeFirst()
        continue
      }
      ours.removeFirst()
      if here.place < there.place {
        comparison.take(here, nil)
      } else {
        comparison.take(here, there)
        theirs.removeFirst()
      }
    }
  }
}
