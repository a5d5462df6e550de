import Flotilla
import FoundationEssentials
import Glibc

/// What can be typed next, by the same declarations that the parser reads.
///
/// The scripts of the shells only ask: `flotilla complete-words track clinic.db pa` prints the
/// tables that begin with `pa`, one a line, with a tab before what explains them.
struct Completion {
  /// The word by which a shell asks; it stands in no list of commands.
  static let request = "complete-words"
  /// The line that stands for the names of files, which the shell completes itself.
  static let files = ":files"
  /// A shell that waits for an answer can take no other word, so it waits no longer, in seconds.
  private static let patience: UInt32 = 2

  /// One word that may be meant, and what it does.
  struct Candidate: Equatable {
    var word: String
    var help = ""
  }

  /// What a place on the command line takes.
  enum Place: Equatable {
    case words([Candidate])
    case files
    /// Tables of the database, after a part of the word that stays as it is.
    case tables(database: String, before: String)
    /// Nodes of its site, with or without this one, and other words.
    case nodes(database: String, or: [Candidate], itself: Bool = true)
    case nothing
  }

  private let program: Program

  init(of program: Program) { self.program = program }

  /// Prints what can stand in the place of the last word.
  func answer(to words: [String], _ output: Output) async {
    signal(SIGALRM) { _ in _exit(0) }
    alarm(Self.patience)
    let typed = words.last ?? ""
    switch place(of: words) {
    case .files: output.data(Self.files)
    case .words(let candidates): show(candidates, for: typed, output)
    case .tables(let database, let before):
      await show(tables(of: database, before), for: typed, output)
    case .nodes(let database, let others, let itself):
      let report = try? await Replica(path: database).members()
      show(
        (report?.members ?? []).filter { itself || !$0.is_this_node }
          .map { Candidate(word: $0.node, help: $0.role) } + others,
        for: typed, output)
    case .nothing: break
    }
    alarm(0)
  }

  /// A file that is no replica yet has tables as well.
  private func tables(of database: String, _ before: String) async -> [Candidate] {
    let replica = Replica(path: database)
    if let report = try? await replica.tables() {
      return report.tables.filter { $0.kind == nil }
        .map { Candidate(word: before + $0.table, help: $0.state) }
    }
    return ((try? await replica.tablesOfFile()) ?? []).map { Candidate(word: before + $0) }
  }

  /// Words with control characters cannot be written on a line, and are left out.
  private func show(_ candidates: [Candidate], for typed: String, _ output: Output) {
    for candidate in candidates
    where candidate.word.hasPrefix(typed) && candidate.word == printable(candidate.word) {
      output.data(candidate.word + "\t" + printable(candidate.help))
    }
  }

  /// What the place of the last word takes, by the words before it.
  func place(of words: [String]) -> Place {
    guard let first = words.first, words.count > 1 else {
      return .words(commands + (words.first?.hasPrefix("-") == true ? outer : [help]))
    }
    if first == "help", words.count == 2 { return .words(commands + topics) }
    guard let command = program.commands.first(where: { $0.name == first }) else {
      return .nothing
    }
    return Line(command, words.dropFirst().dropLast()).place(of: words[words.count - 1])
  }

  /// Those that are not commands, too.
  private var topics: [Candidate] {
    Topic.allCases.filter { topic in !program.commands.contains { $0.name == topic.rawValue } }
      .map { Candidate(word: $0.rawValue, help: $0.summary) }
  }

  private var commands: [Candidate] {
    program.commands.map { Candidate(word: $0.name, help: $0.summary) }
  }

  private var help: Candidate { Candidate(word: "help", help: "explains a command") }

  /// Shown, as the options of commands are, to who has typed a dash.
  private var outer: [Candidate] {
    [
      Candidate(word: "--help", help: "shows the list of commands"),
      Candidate(word: "--version", help: "prints the version"),
    ]
  }
}

/// The words of one command that stand before the one that is being typed.
private struct Line {
  /// Commands in which this node itself makes no sense.
  private static let aboutOthers = ["sync", "verify", "schema", "revoke", "forget"]

  let command: Command
  private var plain: [String] = []
  private var given: [String] = []
  /// The option whose value comes next.
  private var open: Option?
  private var optionsEnded = false

  init(_ command: Command, _ words: ArraySlice<String>) {
    self.command = command
    for word in words { receive(word) }
  }

  private mutating func receive(_ word: String) {
    if let option = open {
      open = nil
      if option.value?.isOptional != true || !word.hasPrefix("-") { return }
    }
    if optionsEnded || !word.hasPrefix("-") {
      plain.append(word)
    } else if word == "--" {
      optionsEnded = true
    } else if let option = command.options.first(where: { $0.name == word }) {
      given.append(word)
      if option.value != nil { open = option }
    } else {
      given.append(String(word.prefix { $0 != "=" }))
    }
  }

  func place(of typed: String) -> Completion.Place {
    if let option = open, let value = option.value, !value.isOptional {
      return option.name == "--name" ? .nothing : place(value.name, value.kind, typed)
    }
    if typed.hasPrefix("-"), !optionsEnded { return .words(options) }
    let parameter =
      plain.count < command.parameters.count
      ? command.parameters[plain.count] : command.parameters.last { $0.repeats }
    return parameter.map { place($0.name, $0.kind, typed) } ?? .nothing
  }

  /// Options that can still be given: none twice, and none that excludes one that was given.
  private var options: [Completion.Candidate] {
    let names = Set(given)
    let excluded = Set(
      command.choices.filter { !names.isDisjoint(with: $0.names) }.flatMap(\.names))
    return
      (command.options.filter {
        $0.repeats || !names.contains($0.name) && !excluded.contains($0.name)
      }.map { Completion.Candidate(word: $0.name, help: $0.help) })
      + (names.contains("--help")
        ? [] : [Completion.Candidate(word: "--help", help: "explains the command")])
  }

  /// What is meant by the name under which a value is declared, such as `NODE|anchor|all`.
  private func place(_ name: String, _ kind: ValueKind, _ typed: String) -> Completion.Place {
    if case .choice(let words) = kind {
      return .words(words.map { Completion.Candidate(word: $0) })
    }
    let database = plain.first ?? ""
    let names = name.split(separator: "|")
    if names.contains("NODE") {
      let others = names.filter { $0.lowercased() == $0 }
      return .nodes(
        database: database, or: others.map { Completion.Candidate(word: String($0)) },
        itself: !Self.aboutOthers.contains(command.name))
    }
    if ["DB", "FILE", "FOLDER"].contains(name) { return .files }
    guard name.hasPrefix("TABLE") else { return .nothing }
    let comma = kind == .list ? typed.lastIndex(of: ",") : nil
    return .tables(database: database, before: comma.map { String(typed[...$0]) } ?? "")
  }
}
