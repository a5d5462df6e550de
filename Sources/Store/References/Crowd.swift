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
  /// How often way was made for each: what comes back into the way each time goes in one commit.
  private var rounds: [Name: Int] = [:]
  private static let mostRounds = 8
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
    if merges == 0 { (targets, givenUp, failures, rounds) = ([], [], 0, [:]) }
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
    guard failures <= Self.mostFailures else {
      targets = []
      return
    }
    let known = givenUp.union(targets.map(\.name))
    let unknown = new.filter {
      !known.contains($0.name) && rounds[$0.name, default: 0] < Self.mostRounds
    }
    guard unknown.isEmpty else {
      targets += unknown
      return
    }
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
    (targets, givenUp, rounds, self.signature) = ([], [], [:], signature)
  }

  /// Notes what a commit has done about the last targets, the last one first.
  mutating func note(_ steps: [Step]) {
    if !isUnderWay { rounds = [:] }
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
      } else {
        rounds[target.name, default: 0] += 1
      }
    }
  }
}

extension StoreError.Code {
  /// More rows would have to be parked than one commit may.
  static let crowded = StoreError.Code("crowded")
}
