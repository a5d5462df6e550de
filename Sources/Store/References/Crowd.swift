import Replication
import SQLite

/// What refers to rows that are about to go, where that is more than one commit may park.
///
/// A member deletes a customer with 30,000 orders. To park all of them in the commit in which the
/// customer goes would hold the write lock for seconds. So they are parked before, some at a time.
struct Crowd {
  /// What rows refer to.
  struct Target {
    /// The number of the reference.
    let reference: Int
    let values: [SQLite.Value]
    /// So many rows that refer to it were found, and not parked.
    var passed = 0
    var parked = 0
    /// Rows to which others refer are passed over: to park them takes too much along.
    var takesLeavesOnly = false

    init(_ reference: Reference, _ values: [SQLite.Value]) {
      (self.reference, self.values) = (reference.number, values)
    }

    var name: Name { Name(reference: reference, values: values.map(Replication.Value.init)) }
  }

  struct Name: Hashable {
    let reference: Int
    let values: [Replication.Value]
  }

  /// What was done about one target in a commit.
  struct Step {
    var parked = 0
    var passed = 0
    /// Nothing more was found.
    var isLast = false
  }

  /// What is about to go; that to which rows of the others refer comes before these.
  private(set) var targets: [Target] = []
  /// Those of which no more can be parked.
  private var givenUp: Set<Name> = []
  /// How many commits were given up since one has parked anything. A ring of rows goes in one
  /// commit or not at all; so does a chain that is longer than this many commits.
  private var failures = 0
  private static let mostFailures = 100
  /// How many merges are to be tried again.
  private var merges = 0
  /// The foreign keys by which the targets were found.
  private var signature: Int64 = 0
  /// How many rows were parked since a merge was tried last.
  private var parked = 0
  /// So many rows may be parked in the open transaction because others go; nil if all.
  var limit: Int?

  /// How many ask that what is parked and what comes back be left for later.
  private var resting = 0

  /// Rows wait for what is there: it is about to go.
  var isUnderWay: Bool { merges > 0 || !targets.isEmpty }

  var isResting: Bool { resting > 0 }

  mutating func rest() { resting += 1 }

  mutating func goOn() { resting -= 1 }

  mutating func begin() { merges += 1 }

  mutating func end() {
    merges -= 1
    if merges == 0 { (targets, givenUp, failures) = ([], [], 0) }
  }

  /// Whether anything was parked since this was asked last.
  mutating func takeProgress() -> Bool {
    defer { parked = 0 }
    return parked > 0
  }

  /// A commit was given up, for these go with much that refers to them.
  mutating func add(_ new: [Target], by signature: Int64) {
    follow(signature)
    failures += 1
    guard failures <= Self.mostFailures else { return targets = [] }
    let known = givenUp.union(targets.map(\.name))
    let unknown = new.filter { !known.contains($0.name) }
    guard unknown.isEmpty else { return targets += unknown }
    // Rings of rows, or rows that are not for this node to park: the rest is parked all the same.
    guard let last = targets.popLast() else { return }
    if last.takesLeavesOnly {
      givenUp.insert(last.name)
    } else {
      targets.append(last)
      targets[targets.count - 1].takesLeavesOnly = true
    }
  }

  /// Nothing more is to be done if the foreign keys have changed.
  mutating func follow(_ signature: Int64) {
    guard signature != self.signature else { return }
    (targets, givenUp, self.signature) = ([], [], signature)
  }

  /// Notes what a commit has done about the last targets, the last one first.
  mutating func note(_ steps: [Step]) {
    for step in steps {
      guard var target = targets.popLast() else { return }
      if step.parked > 0 { failures = 0 }
      parked += step.parked
      target.parked += step.parked
      target.passed += step.passed
      if !step.isLast {
        targets.append(target)
      } else if target.parked == 0 {
        givenUp.insert(target.name)
      }
    }
  }
}

extension StoreError.Code {
  /// More rows would have to be parked than one commit may.
  static let crowded = StoreError.Code("crowded")
}

extension Store {
  func crowded(_ targets: [Crowd.Target]) -> StoreError {
    parking.crowd.add(targets, by: references.signature)
    return StoreError(.crowded, "more rows refer to what goes than one commit may park")
  }

  /// Whether rows are to be parked before others go, which folds do.
  package var isMakingWay: Bool { !parking.crowd.isResting && !parking.crowd.targets.isEmpty }

  /// Whether folds park rows for others, or look for those that may come back.
  package var movesParked: Bool { isMakingWay || parking.recall != nil }

  /// Whether rows may wait for what is there.
  var isRecalling: Bool {
    get throws(SQLiteError) {
      let crowd = parking.crowd
      guard parking.recall != nil, !crowd.isUnderWay, !crowd.isResting, !references.isEmpty
      else { return false }
      return try shelf.hasWaiting
    }
  }

  /// Folds all that programs have written, in commits that follow one another. Rows that are parked
  /// for others, and those that come back, are left to folds that leave the write lock free between
  /// them.
  func foldWritten(at now: Instant) throws(StoreError) -> FoldResult {
    parking.crowd.rest()
    defer { parking.crowd.goOn() }
    var last = try fold(at: now)
    while last.hasMore { last = try fold(at: now) }
    return last
  }

  /// Parks a slice of what refers to rows that are about to go, in the open transaction; what
  /// refers to these in turn goes with them.
  func makeWaySlice() throws -> [Crowd.Step] {
    parking.crowd.follow(references.signature)
    guard isMakingWay else { return [] }
    parking.crowd.limit = pace.parkedRows
    var (room, steps, changed) = (pace.parkedRows, [Crowd.Step](), Set<Int64>())
    let settlement = try ReferenceSettlement(self, references)
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
        guard try settlement.park(Export.RowID(table: child.id, key: key), ahead: reference)
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
