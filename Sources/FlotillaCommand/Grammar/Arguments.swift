/// The checked arguments of one call, by the names under which the command declares them.
struct Arguments: Sendable, Equatable {
  private var values: [String: [String]] = [:]
  private let declared: Set<String>

  /// Nothing was given yet; only names that `command` declares can be given or asked for.
  init(of command: Command) {
    declared = Set(command.parameters.map(\.name) + command.options.map(\.name))
  }

  /// Notes one more value; a flag's value is the empty text.
  mutating func add(_ value: String, to name: String) {
    precondition(declared.contains(name), "\(name) is not declared")
    values[name, default: []].append(value)
  }

  /// Whether the option or parameter was given, or has a standard value.
  func has(_ name: String) -> Bool { !texts(name).isEmpty }

  /// The value of an option or parameter that takes one.
  func text(_ name: String) -> String? { texts(name).first }

  /// The values of a repeating option or parameter.
  func texts(_ name: String) -> [String] {
    precondition(declared.contains(name), "\(name) is not declared")
    return values[name] ?? []
  }

  /// The names in a comma-separated value.
  func list(_ name: String) -> [String] {
    texts(name).flatMap { $0.split(separator: ",").map(String.init) }
  }

  /// The value of an option that is declared with a standard duration.
  func duration(_ name: String) -> Duration {
    guard let written = text(name), let duration = Duration(written: written) else {
      preconditionFailure("\(name) has no checked duration")
    }
    return duration
  }
}
