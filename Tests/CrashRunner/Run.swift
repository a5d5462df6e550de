import Glibc

/// Prints a line at once, so that no child inherits it unprinted.
func say(_ text: String) {
  print(text)
  fflush(nil)
}

/// One call of the runner: which points, how many processes.
struct Run {
  static let usage = """
    usage: CrashRunner [--sample N] [--commands N] [--seed S] [--jobs N] [--list]
           CrashRunner --point DEED:LIFE:CALL | --point DEED:SCENARIO:CALL
    A sample of N is N kills and half as many calls that fail.
    """

  private var sample: Int?
  private var commands = 0
  private var seed: UInt64
  private var jobs = 2
  private var point: Point?
  private var commandPoint: CommandPoint?
  private var isListing = false

  init(_ arguments: ArraySlice<String>) throws {
    // Another sample every day.
    seed = Clock.day
    var words = arguments
    func number(_ word: String?) throws -> Int {
      guard let number = word.flatMap({ Int($0) }), number >= 0 else {
        throw CrashFailure(Self.usage)
      }
      return number
    }
    while let word = words.popFirst() {
      switch word {
      case "--list": isListing = true
      case "--sample": sample = try number(words.popFirst())
      case "--commands": commands = try number(words.popFirst())
      case "--seed": seed = UInt64(try number(words.popFirst()))
      case "--jobs": jobs = max(1, try number(words.popFirst()))
      case "--point":
        let text = words.popFirst() ?? ""
        point = Point(text)
        commandPoint = CommandPoint(text)
        if point == nil, commandPoint == nil { throw CrashFailure(Self.usage) }
      default: throw CrashFailure(Self.usage)
      }
    }
  }

  func run() throws -> Int32 {
    let folder = try Folder()
    defer { folder.remove() }
    var faults = 0
    if commandPoint == nil, sample != 0 { faults += try runScript(folder) }
    if commandPoint != nil || commands > 0 || isListing { faults += try runCommands(folder) }
    return faults == 0 ? 0 : 1
  }

  /// The script, by forked processes.
  private func runScript(_ folder: Folder) throws -> Int {
    let start = Clock.uptime
    let reference = try Reference(folder, script: Script.lives)
    let points = Point.all(reference)
    say(
      "\(reference.steps.count) steps in \(reference.lives.count) processes, "
        + "\(reference.lives.reduce(0) { $0 + $1.names.count }) calls, \(points.count) points")
    if isListing {
      list(reference)
      return 0
    }
    let chosen = point.map { [$0] } ?? choose(sample, from: points, \.deed)
    let outcome = try Crew(reference: reference, jobs: jobs).run(chosen) { point, what in
      say(Self.text(point, what, reference))
    }
    close(outcome, since: start)
    return outcome.faults
  }

  /// Real processes of the built program.
  private func runCommands(_ folder: Folder) throws -> Int {
    let start = Clock.uptime
    let crew = CommandCrew(folder: folder, jobs: jobs * 2)
    var chosen = commandPoint.map { [$0] } ?? []
    var names: [[String]] = []
    if chosen.isEmpty {
      names = try crew.names()
      let points = CommandCrew.points(names)
      say("\(names.count) scenarios, \(names.joined().count) calls, \(points.count) points")
      chosen = choose(commands, from: points, \.deed)
    }
    if isListing {
      for (scenario, calls) in zip(Scenario.all, names) {
        for (call, name) in calls.enumerated() { say("  \(scenario.name):\(call + 1) \(name)") }
      }
      return 0
    }
    let outcome = try crew.run(chosen) { point, what in
      let calls = names.isEmpty ? [] : names[point.scenario]
      let name = point.call <= calls.count ? calls[point.call - 1] : ""
      say("FAULT \(point) \(name)\n  \(what)\n  again: make crash POINT=\(point)")
    }
    close(outcome, since: start)
    return outcome.faults
  }

  private func close(_ outcome: Crew.Outcome, since start: Int64) {
    let seconds = Double(Clock.uptime - start) / 1_000
    say(
      "\(outcome.count) points in \(seconds) s: \(outcome.killed) kills and "
        + "\(outcome.failed) failing calls survived, \(outcome.missed) not reached, "
        + "\(outcome.faults) faults (seed \(seed))")
  }

  /// So many kills, and half as many calls that fail; all, if no number is given.
  private func choose<Point>(
    _ sample: Int?, from points: [Point], _ deed: KeyPath<Point, Deed>
  ) -> [Point] {
    guard let sample else { return points }
    let kills = points.filter { $0[keyPath: deed].isKill }
    let errors = points.filter { !$0[keyPath: deed].isKill }
    return spread(sample, over: kills) + spread(sample / 2, over: errors)
  }

  /// A sample spread over all, shifted by the seed.
  private func spread<Point>(_ sample: Int, over points: [Point]) -> [Point] {
    guard sample < points.count else { return points }
    let offset = Int(seed % UInt64(max(1, points.count / max(1, sample))))
    return (0..<sample).map { points[($0 * points.count / sample + offset) % points.count] }
  }

  private func list(_ reference: Reference) {
    for (index, life) in reference.lives.enumerated() {
      var from = 0
      for (step, calls) in zip(life.steps, life.calls) {
        say("\(index): \(step.text)")
        for call in from..<calls { say("  \(index):\(call + 1) \(life.names[call])") }
        from = calls
      }
    }
  }

  private static func text(_ point: Point, _ what: String, _ reference: Reference) -> String {
    let life = reference.lives[point.life]
    let call = point.call <= life.names.count ? life.names[point.call - 1] : "?"
    let step = zip(life.steps, life.calls).first { $1 >= point.call }?.0.text ?? "at the end"
    return """
      FAULT \(point): \(call) in "\(step)"
        \(what)
        again: make crash POINT=\(point)
      """
  }
}
