import Simulator

/// What the command line asks for.
struct Request {
  struct Complaint: Error, CustomStringConvertible {
    let description: String
  }

  static let usage = """
    usage: FlotillaSimulator pure|full [--seeds N] [--first N] [--jobs N] [--stop]
           FlotillaSimulator pure|full --seed N [--steps N [--drawn]] [--with KIND,…]
             [--without KIND,…] [--tell] [--shrink]
           FlotillaSimulator laws [--seeds N] [--first N] [--jobs N]
           FlotillaSimulator schemas [--seeds N] [--first N] [--jobs N]
                   [WHAT…]
           FlotillaSimulator schemas --seed N [--tell] [--shrink] [WHAT…]

    WHAT happens to random schemas:
      --numbers  rows have whole numbers as keys, which they may lose
      --tables   tables get other names
      --split    migrations commit their statements one by one
      --twins    a table is made and renamed, and some machines see the second name alone
      --chains   a column gets the name that its neighbour gives up
      --empties  a program drops a table and makes it again
      --anchor   one machine is the anchor; --anchors: others follow it in office
      --mishaps  disks fail, and processes are killed

    For the laws of merging a seed is \(Laws.casesPerSeed) random cases.
    """

  /// What is to be run.
  enum Task: Equatable {
    case schedules(Run.Depth)
    case laws
    case schemas
  }

  var task = Task.laws
  var first: UInt64 = 1
  var count: UInt64 = 1_000
  var jobs = 1
  var steps: Int?
  /// As many steps as that, but else what the seed says.
  var isDrawn = false
  var with: [Faults.Kind] = []
  var without: [Faults.Kind] = []
  var isTold = false
  var shrinks = false
  /// End at the first schedule that fails.
  var stops = false
  /// Schemas have whole numbers as keys that rows may lose.
  var hasNumbers = false
  /// Tables get other names.
  var renamesTables = false
  /// Migrations commit their statements one by one.
  var splitsMigrations = false
  /// A table is made and renamed, and some see the second name alone.
  var makesTwins = false
  /// A column gets the name that its neighbour gives up.
  var passesNames = false
  /// A program drops a table and makes it again.
  var emptiesTables = false
  /// One node is the anchor.
  var hasAnchor = false
  /// Anchors also resign, and are replaced before they have heard of it.
  var changesAnchors = false
  /// Disks fail, and processes are killed.
  var hasMishaps = false

  init(_ arguments: [String]) throws(Complaint) {
    var rest = arguments[...]
    switch rest.popFirst() {
    case "laws": task = .laws
    case "schemas": task = .schemas
    case let name:
      guard let depth = name.flatMap(Run.Depth.init) else {
        throw Complaint(description: "say pure, full, laws or schemas first")
      }
      task = .schedules(depth)
    }
    while let option = rest.popFirst() {
      switch option {
      case "--drawn": isDrawn = true
      case "--tell": isTold = true
      case "--shrink": shrinks = true
      case "--stop": stops = true
      case "--numbers": hasNumbers = true
      case "--tables": renamesTables = true
      case "--split": splitsMigrations = true
      case "--twins": makesTwins = true
      case "--chains": passesNames = true
      case "--empties": emptiesTables = true
      case "--anchor": hasAnchor = true
      case "--anchors": (hasAnchor, changesAnchors) = (true, true)
      case "--mishaps": hasMishaps = true
      case "--with": with = try Self.kinds(rest.popFirst() ?? "")
      case "--without": without = try Self.kinds(rest.popFirst() ?? "")
      default: try take(option, rest.popFirst())
      }
    }
  }

  private mutating func take(_ option: String, _ value: String?) throws(Complaint) {
    guard let number = value.flatMap({ UInt64($0) }) else {
      throw Complaint(description: "\(option) needs a number")
    }
    switch option {
    case "--seed": (first, count) = (number, 1)
    case "--first": first = number
    case "--seeds": count = number
    case "--steps": steps = Int(clamping: number)
    case "--jobs": jobs = max(1, Int(clamping: number))
    default: throw Complaint(description: "there is no option \(option)")
    }
  }

  private static func kinds(_ text: String) throws(Complaint) -> [Faults.Kind] {
    var kinds: [Faults.Kind] = []
    for name in text.split(separator: ",") {
      guard let kind = Faults.Kind.allCases.first(where: { "\($0)" == name }) else {
        let known = Faults.Kind.allCases.map { "\($0)" }.joined(separator: ", ")
        throw Complaint(description: "no fault is called \(name); there are \(known)")
      }
      kinds.append(kind)
    }
    return kinds
  }

  /// The first word of the command line.
  var name: String {
    switch task {
    case .schedules(let depth): depth.rawValue
    case .laws: "laws"
    case .schemas: "schemas"
    }
  }

  /// What holds for every seed, as it was said.
  var options: [String] {
    var options: [String] = []
    if let steps { options += ["--steps", "\(steps)"] }
    if isDrawn { options.append("--drawn") }
    if !with.isEmpty {
      options += ["--with", with.map { "\($0)" }.joined(separator: ",")]
    }
    if !without.isEmpty {
      options += ["--without", without.map { "\($0)" }.joined(separator: ",")]
    }
    if isTold { options.append("--tell") }
    if shrinks { options.append("--shrink") }
    if stops { options.append("--stop") }
    return options + schemaOptions
  }

  /// Those that make the schemas of a seed what they are.
  var schemaOptions: [String] {
    [
      (hasNumbers, "--numbers"), (renamesTables, "--tables"), (splitsMigrations, "--split"),
      (makesTwins, "--twins"), (passesNames, "--chains"), (emptiesTables, "--empties"),
      (hasAnchor, changesAnchors ? "--anchors" : "--anchor"),
      (hasMishaps, "--mishaps"),
    ].compactMap { $0 ? $1 : nil }
  }

  /// The schemas of one seed.
  func schemaPlan(_ seed: UInt64) -> SchemaRun.Plan {
    var plan = SchemaRun.Plan(seed: seed, numbers: hasNumbers)
    plan.renamesTables = renamesTables
    plan.splitsMigrations = splitsMigrations
    plan.makesTwins = makesTwins
    plan.passesNames = passesNames
    plan.emptiesTables = emptiesTables
    plan.hasAnchor = hasAnchor
    plan.changesAnchors = changesAnchors
    plan.hasMishaps = hasMishaps
    return plan
  }

  /// The plan of one seed.
  func plan(_ depth: Run.Depth, _ seed: UInt64) -> Run.Plan {
    var plan = Run.Plan(depth, seed: seed)
    plan.steps = steps
    plan.isDrawn = isDrawn
    plan.with = with
    plan.without = without
    return plan
  }
}
