extension Program {
  /// The help of the program: what it is for, its commands and its exit statuses.
  var help: String {
    let rows = commands.map { ($0.name, $0.summary) }
    let options = [("-h, --help", "shows this, or the help of a command"), versionRow]
    return """
      usage: \(name) COMMAND DB [arguments]

      \(discussion)

      Commands:
      \(definitions(rows))

      Options:
      \(definitions(options))

      Exit status:
      \(definitions(ExitStatus.allCases.map { (String($0.rawValue), $0.meaning) }))

      Topics (`\(name) help TOPIC`):
      \(definitions(Topic.allCases.map { ($0.rawValue, $0.summary) }))

      `\(name) COMMAND --help` explains a command.

      """
  }

  private var versionRow: (String, String) { ("--version", "prints the version") }
}

extension Command {
  /// How the command is called, on one line.
  var usage: String { usageWords.joined(separator: " ") }

  /// The same in lines of a terminal, also where a failure indents them.
  var usageLines: String { wrapped(["usage:"] + usageWords, width: 77, indent: 9) }

  /// The help of the command: how it is called, what it does, each argument, and the exit statuses
  /// if any has a meaning of its own.
  var help: String {
    let optionRows = options.map { ($0.synopsis, $0.explanation) }
    let parts = [
      usageLines,
      summary.prefix(1).uppercased() + summary.dropFirst() + ".",
      discussion,
      "Arguments:\n" + definitions(parameters.map { ($0.name, $0.help) }),
      "Options:\n" + definitions(optionRows + [("-h, --help", "shows this")]),
      statuses.isEmpty
        ? ""
        : "Exit status:\n" + definitions(exits.map { (String($0.status.rawValue), $0.meaning) }),
    ]
    return parts.filter { !$0.isEmpty }.joined(separator: "\n\n") + "\n"
  }

  var usageWords: [String] {
    let optional = parameters.filter { $0.count == .oneOrNone }
    // In the order in which they are written.
    let before = parameters.prefix { $0.count != .oneOrNone }.last?.name
    let items =
      parameters.filter { $0.count != .oneOrNone }.map { ($0.name, $0.synopsis, $0.bracketed) }
      + options.map { ($0.name, $0.synopsis, "[\($0.synopsis)]" + ($0.repeats ? "…" : "")) }
    let synopses = Dictionary(uniqueKeysWithValues: items.map { ($0.0, $0.1) })
    var shown: Set<String> = []
    var words = ["flotilla", name]
    for (name, _, alone) in items where !shown.contains(name) {
      guard let choice = choices.first(where: { $0.names.contains(name) }) else {
        words.append(alone)
        if name == before { words += nested(optional) }
        continue
      }
      shown.formUnion(choice.names)
      let either = choice.names.compactMap { synopses[$0] }.joined(separator: " | ")
      words.append(choice.required ? "(\(either))" : "[\(either)]")
    }
    return words
  }

  /// Parameters each of which needs the one before it: `[TABLE [RULE]]`.
  private func nested(_ optional: [Parameter]) -> [String] {
    if optional.isEmpty { return [] }
    let names = optional.map { "[" + $0.name }.joined(separator: " ")
    return [names + String(repeating: "]", count: optional.count)]
  }
}

extension Parameter {
  var synopsis: String { repeats ? name + "…" : name }

  fileprivate var bracketed: String {
    count == .any ? "[\(synopsis)]" : synopsis
  }
}

extension Option {
  var synopsis: String {
    value.map { $0.isOptional ? "\(name) [\($0.name)]" : "\(name) \($0.name)" } ?? name
  }

  var explanation: String {
    let more = repeats ? "; may be repeated" : ""
    return help + more + (value?.standard.map { " (default \($0))" } ?? "")
  }
}

/// Writes terms and their explanations in two columns; long explanations are wrapped.
private func definitions(_ rows: [(String, String)]) -> String {
  let width = (rows.map { displayWidth($0.0) }.max() ?? 0) + 2
  return rows.map { term, text in
    let words = text.split(separator: " ").map(String.init)
    let body = wrapped(words, width: 79 - width - 2, indent: 0)
      .split(separator: "\n").joined(separator: "\n" + String(repeating: " ", count: width + 2))
    return "  " + padded(term, to: width) + body
  }.joined(separator: "\n")
}

/// Sets words in lines of at most `width` columns; lines after the first are indented.
func wrapped(_ words: [String], width: Int, indent: Int) -> String {
  var lines = [""]
  for word in words {
    let line = lines[lines.count - 1]
    if line.isEmpty {
      lines[lines.count - 1] = word
    } else if displayWidth(line) + 1 + displayWidth(word) <= width {
      lines[lines.count - 1] += " " + word
    } else {
      lines.append(String(repeating: " ", count: indent) + word)
    }
  }
  return lines.joined(separator: "\n")
}
