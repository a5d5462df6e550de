import Replication

/// Once everything has healed, all replicas show the same rows and know the same versions.
enum EventuallyEqual {
  static func check(_ all: [(name: String, shown: Observation)], _ history: inout History) {
    guard let first = all.first else { return }
    let gone = history.gone(all.map(\.shown))
    // What a liar says of columns and tables that nobody has is kept on the shelf for good.
    for (name, shown) in all
    where history.distrusted.isEmpty && !shown.shelved.isSubset(of: shown.parked.keys) {
      history.blame("\(name) still has \(shown.shelved.sorted()) on its shelf")
    }
    for (name, shown) in all.dropFirst() {
      if shown.parked != first.shown.parked {
        history.blame("\(name) has parked \(shown.parked), \(first.name) \(first.shown.parked)")
      }
      if shown.rows == first.shown.rows, shown.versions == first.shown.versions,
        shown.frontier == first.shown.frontier
      {
        continue
      }
      for row in Set(shown.rows.keys).union(first.shown.rows.keys).subtracting(gone)
        .sorted()
      where shown.rows[row] != first.shown.rows[row] {
        history.blame("row \(row) at \(name) is not as at \(first.name)")
      }
      for row in Set(shown.versions.keys).union(first.shown.versions.keys)
        .subtracting(gone).sorted()
      where shown.versions[row] != first.shown.versions[row] {
        let both = [shown, first.shown].compactMap { $0.versions[row] }
        // One of them has forgotten what was deleted.
        if history.mayForgetDelete(of: row), both.allSatisfy(\.isDeleted) { continue }
        // What its author took back one of them may have got, and the other one what was before.
        // Where both are deletes, no digest tells, and nothing shows it.
        if both.allSatisfy(\.isDeleted),
          both.contains(where: { history.isWithdrawn($0.dot, row) })
        {
          continue
        }
        // A copy may have taken along what a power cut took from the original, which gave the
        // number again: to the same content, at another time. So may a machine that was put back.
        if history.hasCopies || history.hasForks, both.count == 2, both[0].dot == both[1].dot,
          both[0].hash == both[1].hash
        {
          continue
        }
        history.blame(
          "row \(row) at \(name) is \(dot(shown, row)), at \(first.name) \(dot(first.shown, row))")
      }
      // Who has lost what nobody else has cannot make the others' frontiers whole.
      if gone.isEmpty, shown.frontier != first.shown.frontier {
        history.blame("\(name)'s frontier is not \(first.name)'s")
      }
    }
  }

  /// Those that hold the same say the same of it.
  static func check(
    digests: [Digest], _ all: [(name: String, shown: Observation)], _ history: inout History
  ) {
    for (digest, (name, shown)) in zip(digests, all).dropFirst()
    where digest != digests[0] && shown.versions == all[0].shown.versions {
      history.blame("\(name) holds what \(all[0].name) holds, and its digest is another one")
    }
  }

  private static func dot(_ shown: Observation, _ row: RowNumber) -> String {
    shown.versions[row].map { "\($0.dot)" } ?? "nothing"
  }
}
