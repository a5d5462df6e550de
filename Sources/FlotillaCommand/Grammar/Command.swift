import Flotilla

/// One command of the program as data: parser, usage line and help all come from this.
struct Command: Sendable {
  /// What a command does with its arguments.
  typealias Body = @Sendable (Call) async throws(FlotillaError) -> ExitStatus

  let name: String
  /// One line for the list of commands.
  let summary: String
  /// Paragraphs for the command's own help, wrapped by hand.
  let discussion: String
  var parameters: [Parameter] = []
  var options: [Option] = []
  var choices: [Choice] = []
  /// What an exit status means of this command. Those that are not named here are 0, 1 and 2, with
  /// the meaning that they have of all commands.
  var statuses: [ExitStatus: String] = [:]
  let body: Body
}

/// An argument that is known by its place.
struct Parameter: Sendable {
  /// How many arguments it takes; a repeating one comes last.
  enum Count: Sendable {
    case one
    case oneOrNone
    case oneOrMore
    case any
  }

  let name: String
  var count = Count.one
  var kind = ValueKind.name
  let help: String

  var repeats: Bool { count == .oneOrMore || count == .any }

  /// The database, the first parameter of every command.
  static let database = Parameter(name: "DB", help: "the SQLite database file")
}

/// An argument that is known by its name, with or without a value.
struct Option: Sendable {
  /// The value that follows an option.
  struct Value: Sendable {
    let name: String
    let kind: ValueKind
    /// The text that stands for an option that was not given.
    var standard: String?
    /// Whether the option may stand alone: then a word behind it that is no such value is none.
    var isOptional = false
  }

  /// The name with its dashes.
  let name: String
  var value: Value?
  var repeats = false
  let help: String

  static let json = Option(name: "--json", help: "prints one JSON object instead of text")
  static let rule = Option(
    name: "--rule", value: Value(name: "RULE", kind: .rule),
    help: "the merge rule: \(enumerated(mergeRules))")
  static let onCollision = Option(
    name: "--on-collision",
    value: Value(name: "WHAT", kind: .choice(Replica.collisionChoices)),
    help: "of two rows under one integer key: \(enumerated(Replica.collisionChoices))")
  static let timeout = Option(
    name: "--timeout",
    value: Value(name: "TIME", kind: .duration(atLeast: .zero), standard: "30s"),
    help: "how long to try")
}

/// Options and parameters of which at most one, or exactly one, may be given.
struct Choice: Sendable {
  let names: [String]
  var required = false
}

extension ValueKind {
  static let rule = ValueKind.choice(mergeRules)
}

/// The merge rules that can be named.
let mergeRules = Replica.mergeRules
