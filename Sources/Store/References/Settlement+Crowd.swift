import Replication
import SQLite

/// Rows that are parked before what they refer to goes.
extension Settlement {
  func crowded(_ targets: [Crowd.Target]) -> StoreError {
    parking.crowd.add(targets, by: references.signature)
    return StoreError(.crowded, "more rows refer to what goes than one commit may park")
  }

  /// Whether rows are to be parked before others go, which folds do.
  var isMakingWay: Bool { !parking.crowd.isResting && !parking.crowd.targets.isEmpty }

  /// Whether folds park rows for others, or look for those that may come back.
  var movesParked: Bool { isMakingWay || parking.recall != nil }

  /// Whether rows may wait for what is there.
  var isRecalling: Bool {
    get throws(SQLiteError) {
      let crowd = parking.crowd
      guard parking.recall != nil, !crowd.isUnderWay, !crowd.isResting, !references.isEmpty
      else { return false }
      return try shelf.hasWaiting
    }
  }

  /// Parks a slice of what refers to rows that are about to go, in the open transaction; what
  /// refers to these in turn goes with them.
  func makeWaySlice() throws -> [Crowd.Step] {
    parking.crowd.follow(references.signature)
    guard isMakingWay else { return [] }
    parking.crowd.limit = parking.limit
    var (room, steps, changed) = (parking.limit, [Crowd.Step](), Set<Int64>())
    let pass = try ReferenceSettlement(self, references)
    for target in parking.crowd.targets.reversed() where room > 0 {
      let reference = references.all[target.reference]
      let found = try connection.rows(
        reference.lookUp + " LIMIT ? OFFSET ?",
        target.values + [.integer(Int64(room)), .integer(Int64(target.passed))])
      var step = Crowd.Step(isLast: found.count < room)
      var isDeep = false
      room -= found.count
      for values in found {
        let child = reference.child
        guard let key = child.key(values.map(Replication.Value.init)),
          case let isParent = try isReferredTo(child, key), !target.takesLeavesOnly || !isParent
        else {
          step.passed += 1
          continue
        }
        isDeep = isDeep || isParent
        try noteReferred(child, key)
        guard try pass.park(Export.RowID(table: child.id, key: key), ahead: reference)
        else {
          step.passed += 1
          continue
        }
        step.parked += 1
        self.changed(child, key, isGone: true)
        changed.insert(child.id)
      }
      steps.append(step)
      // What refers to these goes with them in this commit, which has no room for more then.
      if isDeep { break }
    }
    parking.freed.subtract(changed)
    _ = try settleTables(changed)
    return steps
  }

  private func isReferredTo(_ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    for reference in references.to(table.id) {
      var values = reference.values(ofKey: key)
      if values == nil {
        values = try connection.row(reference.selectTargets, (key.values ?? []).map(\.sqlite))
      }
      guard let values, !values.contains(.null) else { continue }
      if try connection.row(reference.lookUp + " LIMIT 1", values) != nil { return true }
    }
    return false
  }
}
