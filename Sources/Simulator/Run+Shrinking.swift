extension Run.Plan {
  /// What a person types to run this again.
  package var command: String {
    var words = [".build/simulator/release/FlotillaSimulator", depth.rawValue, "--seed", "\(seed)"]
    if let steps { words += ["--steps", "\(steps)"] }
    if isDrawn { words.append("--drawn") }
    if !with.isEmpty { words += ["--with", with.map { "\($0)" }.joined(separator: ",")] }
    if !without.isEmpty { words += ["--without", without.map { "\($0)" }.joined(separator: ",")] }
    return words.joined(separator: " ")
  }

  /// The names of kinds of faults.
  package func kinds(_ kinds: [Faults.Kind]) -> String {
    kinds.isEmpty ? "no faults" : kinds.map { "\($0)" }.joined(separator: ", ")
  }
}

extension Run {
  /// A schedule of fewer kinds of faults and fewer steps that fails as well, with its story.
  ///
  /// Every change draws other numbers, so what is found is not always a part of this one; it is
  /// shorter, and it fails.
  package func shrunk(_ templates: Templates) -> Run {
    var best = plan
    best.steps = steps
    best.isDrawn = plan.steps == nil || plan.isDrawn
    for kind in kinds {
      var fewer = best
      fewer.without.append(kind)
      if !Run(fewer, templates).faults.isEmpty { best = fewer }
    }
    for steps in 1..<steps {
      var shorter = best
      shorter.steps = steps
      guard Run(shorter, templates).faults.isEmpty else {
        best = shorter
        break
      }
    }
    return Run(best, templates, isTold: true)
  }
}
