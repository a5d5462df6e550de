/// What a command line asks for.
enum Request: Sendable {
  case help(Command?)
  /// What a word means, and the help of the command that is called like it.
  case topic(Topic, Command?)
  case version
  case call(Command, Arguments)
  /// What can stand in the place of the last of these words; a shell asks for it.
  case completion([String])
  /// The pages of the manual, as files in a folder; who packs the program asks for it.
  case manual(folder: String)
}

extension Program {
  /// Reads the words after the program's name.
  func request(from words: [String]) throws(UsageError) -> Request {
    guard let first = words.first else { throw UsageError("no command was given") }
    switch first {
    case "-h", "--help": return .help(nil)
    case "--version": return .version
    case "help" where words.count == 1: return .help(nil)
    case "help" where words.count == 2 && Self.isHelp(words[1]): return .help(nil)
    case "help" where words.count == 2:
      if let topic = Topic(rawValue: words[1]) {
        return .topic(topic, commands.first { $0.name == words[1] })
      }
      let names = commands.map(\.name) + laterCommands
      guard words[1].hasPrefix("-") || names.contains(words[1]) else {
        let near = suggestion(for: words[1], among: names + Topic.allCases.map(\.rawValue))
        throw UsageError(
          "there is no command and no topic \(quoted(words[1]))\(near)",
          remedy: "`flotilla --help` lists both")
      }
      return .help(try command(named: words[1], words: words))
    case "help": throw UsageError("`flotilla help` takes the name of one command or topic")
    case Completion.request: return .completion(Array(words.dropFirst()))
    case Manual.request where words.count == 2: return .manual(folder: words[1])
    case Manual.request: throw UsageError("`flotilla \(Manual.request)` takes a folder")
    default: break
    }
    let command = try command(named: first, words: words)
    let rest = words.dropFirst()
    if rest.prefix(while: { $0 != "--" }).contains(where: Self.isHelp) { return .help(command) }
    var reading = Reading(command)
    for word in rest { try reading.receive(word) }
    return .call(command, try reading.finish())
  }

  private static func isHelp(_ word: String) -> Bool { word == "--help" || word == "-h" }

  private func command(named name: String, words: [String]) throws(UsageError) -> Command {
    if let command = commands.first(where: { $0.name == name }) { return command }
    if laterCommands.contains(name) {
      throw UsageError("`flotilla \(name)` is not part of this version")
    }
    let names = commands.map(\.name)
    if name.hasPrefix("-") {
      let near = suggestion(for: name, among: ["--help", "--version"])
      throw UsageError("the command comes first, not \(quoted(name))\(near)")
    }
    if words.count > 1, names.contains(words[1]) {
      let remedy = "write `flotilla \(words[1]) \(shellWord(name))`"
      throw UsageError("the command comes first, not \(quoted(name))", remedy: remedy)
    }
    throw UsageError(
      "there is no command \(quoted(name))\(suggestion(for: name, among: names))")
  }
}

/// Sorts the words of one command into its options and parameters, word by word.
private struct Reading {
  let command: Command
  var arguments: Arguments
  var plain: [String] = []
  /// The option that still waits for its value.
  var open: (option: Option, value: Option.Value)?
  var optionsEnded = false

  init(_ command: Command) {
    self.command = command
    arguments = Arguments(of: command)
  }

  mutating func receive(_ word: String) throws(UsageError) {
    if let (option, value) = open, value.isOptional,
      word.hasPrefix("-") || !value.kind.isMeant(by: word)
    {
      open = nil
      arguments.add("", to: option.name)
      try receive(word)
    } else if let (option, value) = open {
      if word.hasPrefix("--") { throw missingValue(option, value) }
      open = nil
      try add(word, to: option.name, kind: value.kind)
    } else if optionsEnded || word == "-" || !word.hasPrefix("-") {
      plain.append(word)
    } else if word == "--" {
      optionsEnded = true
    } else {
      try receiveOption(word)
    }
  }

  private mutating func receiveOption(_ word: String) throws(UsageError) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = command.options.first(where: { $0.name == name }) else {
      let near = suggestion(for: name, among: command.options.map(\.name) + ["--help"])
      let plain = near.isEmpty ? "; an argument that begins with a dash comes after --" : near
      throw UsageError(
        "`flotilla \(command.name)` has no option \(quoted(name))\(plain)", in: command)
    }
    if arguments.has(name), !option.repeats {
      throw UsageError("\(name) is given twice", in: command)
    }
    switch (option.value, parts.count) {
    case (nil, 1): arguments.add("", to: name)
    case (nil, _): throw UsageError("\(name) takes no value", in: command)
    case (let value?, 1): open = (option, value)
    case (let value?, _): try add(String(parts[1]), to: name, kind: value.kind)
    }
  }

  private mutating func add(_ text: String, to name: String, kind: ValueKind) throws(UsageError) {
    if let objection = kind.objection(to: text) {
      throw UsageError("\(name): \(objection)", in: command)
    }
    arguments.add(text, to: name)
  }

  private func missingValue(_ option: Option, _ value: Option.Value) -> UsageError {
    UsageError("\(option.name) needs a value: \(option.name) \(value.name)", in: command)
  }

  /// Gives the plain words to the parameters in turn, then checks what must or must not be there.
  mutating func finish() throws(UsageError) -> Arguments {
    if let (option, value) = open {
      guard value.isOptional else { throw missingValue(option, value) }
      arguments.add("", to: option.name)
    }
    var left = plain[...]
    for parameter in command.parameters {
      if left.isEmpty, parameter.count == .one || parameter.count == .oneOrMore {
        throw UsageError("\(parameter.name) is missing: \(parameter.help)", in: command)
      }
      let taken = parameter.repeats ? Array(left) : Array(left.prefix(1))
      left = left.dropFirst(taken.count)
      for word in taken { try add(word, to: parameter.name, kind: parameter.kind) }
      if let twice = firstRepeated(taken) {
        throw UsageError("\(parameter.name): \(quoted(twice)) is named twice", in: command)
      }
    }
    if let extra = left.first {
      throw UsageError("\(quoted(extra)) is one argument too many", in: command)
    }
    try checkChoices()
    for option in command.options where !arguments.has(option.name) {
      if let standard = option.value?.standard { arguments.add(standard, to: option.name) }
    }
    return arguments
  }

  private func checkChoices() throws(UsageError) {
    for choice in command.choices {
      let given = choice.names.filter { arguments.has($0) }
      if given.count > 1 {
        let both = given.joined(separator: " and ")
        throw UsageError("\(both) exclude each other; give only one", in: command)
      }
      if given.isEmpty, choice.required {
        throw UsageError("\(enumerated(choice.names)) is missing", in: command)
      }
    }
  }
}
