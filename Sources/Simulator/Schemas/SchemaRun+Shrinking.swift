extension SchemaRun {
  /// What a fault is about, the gravest first.
  private static let words = [
    "is nowhere", "replaced", "leads nowhere", "lacks", "hangs under", "wrote", "constraint",
    "migration", "would fit", "changed", "digests", "frontiers", "columns", "pending", "verdict",
  ]

  private var gravest: String? {
    Self.words.first { word in faults.contains { $0.contains(word) } }
  }

  private func failsAlike(_ other: SchemaRun) -> Bool {
    !faults.isEmpty && gravest == other.gravest
  }

  /// The same with fewer steps, as long as it fails, with its story.
  package func shrunk() -> SchemaRun {
    var best = plan
    // Half of what is left, then a quarter, down to one step at a time, until nothing can go.
    var size = max(1, steps / 2)
    while true {
      var hasShrunk = false
      let left = (0..<steps).filter { !best.without.contains($0) }
      for start in stride(from: 0, to: left.count, by: size) {
        var fewer = best
        fewer.without.formUnion(left[start..<min(start + size, left.count)])
        guard SchemaRun(fewer).failsAlike(self) else { continue }
        best = fewer
        hasShrunk = true
      }
      if size == 1, !hasShrunk { break }
      size = max(1, size / 2)
    }
    for migrations in 0..<best.migrations {
      var fewer = best
      fewer.migrations = migrations
      if SchemaRun(fewer).failsAlike(self) {
        best = fewer
        break
      }
    }
    return SchemaRun(best, isTold: true)
  }
}
