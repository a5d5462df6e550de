/// Real processes at many points, several trials at a time.
struct CommandCrew {
  let folder: Folder
  let jobs: Int

  /// The calls of each scenario, undisturbed.
  func names() throws -> [[String]] {
    let bench = try Bench("\(folder.path)/r0")
    return try Scenario.all.indices.map { index in
      do {
        return try bench.names(index)
      } catch {
        throw CrashFailure("\(Scenario.all[index].name): \(error)")
      }
    }
  }

  static func points(_ names: [[String]]) -> [CommandPoint] {
    names.enumerated().flatMap { scenario, calls in
      calls.enumerated().flatMap { call, name in
        Deed.allCases.filter { $0 != .twice && $0.applies(to: name) }
          .map { CommandPoint($0, scenario: scenario, call: call + 1) }
      }
    }
  }

  func run(
    _ points: [CommandPoint], _ report: (CommandPoint, String) -> Void
  ) throws -> Crew.Outcome {
    try Crew.share(points.map(\.deed), jobs) { job in
      let bench = try Bench("\(folder.path)/r\(job + 1)")
      return { index in try bench.run(points[index]) }
    } report: { index, what in
      report(points[index], what)
    }
  }
}
