import Testing

@testable import FlotillaCommand

/// A command with every kind of argument, so that the grammar is tested apart from the commands.
private let sample = Command(
  name: "load",
  summary: "loads goods",
  discussion: "Goods go to the hold.",
  parameters: [
    Parameter(name: "SHIP", help: "the ship"),
    Parameter(name: "GOODS", count: .any, help: "what to load"),
  ],
  options: [
    Option(name: "--all", help: "loads everything"),
    Option(
      name: "--wait", value: Option.Value(name: "TIME", kind: .duration(atLeast: .zero)),
      help: "how long to wait"),
    Option(
      name: "--crane", value: Option.Value(name: "NAME", kind: .name, standard: "north"),
      repeats: true, help: "a crane"),
  ],
  choices: [Choice(names: ["GOODS", "--all"], required: true)],
  body: { _ in .done })

private let program = Program(
  name: "harbour", version: "1", day: "2026-03-01", discussion: "Runs a harbour.",
  commands: [sample],
  laterCommands: ["dredge"])

private func arguments(_ words: String...) throws -> Arguments {
  guard case .call(_, let arguments) = try program.request(from: ["load"] + words) else {
    throw UsageError("no call")
  }
  return arguments
}

private func message(_ words: [String]) -> String? {
  do throws(UsageError) {
    _ = try program.request(from: words)
    return nil
  } catch {
    return error.message
  }
}

@Suite struct `The grammar` {
  @Test func `gives words to parameters in turn and the rest to a repeating one`() throws {
    let read = try arguments("Argo", "rope", "tar")
    #expect(read.text("SHIP") == "Argo")
    #expect(read.texts("GOODS") == ["rope", "tar"])
    #expect(!read.has("--all"))
    #expect(read.texts("--crane") == ["north"])
  }

  @Test(arguments: [
    (["a.db", "--http", "b.db"], "", ["a.db", "b.db"]), (["--http", "a.db"], "", ["a.db"]),
    (["a.db", "--http"], "", ["a.db"]), (["a.db", "--http", ":0"], ":0", ["a.db"]),
    (["--http", "127.0.0.1:80", "a.db"], "127.0.0.1:80", ["a.db"]),
    (["a.db", "--http=[::1]:80"], "[::1]:80", ["a.db"]),
    (["a.db", "--http", "--no-discovery"], "", ["a.db"]),
    (["--http", "--", "a.db"], "", ["a.db"]),
  ])
  func `gives an option that may stand alone what looks like its value`(
    words: [String], address: String, databases: [String]
  ) throws {
    let request = try Program.flotilla.request(from: ["run"] + words)
    guard case .call(_, let read) = request else { throw UsageError("no call") }
    #expect(read.text("--http") == address)
    #expect(read.texts("DB") == databases)
    let again = try Program.flotilla.request(from: Run.words(from: read))
    guard case .call(_, let same) = again else { throw UsageError("no call") }
    #expect(same == read)
  }

  @Test(arguments: [
    "127.0.0.1:99999", "127.0.0.1:x", "127.0.0.1:", "127.0.0.1", "8080", "localhost", "::1",
    "[::1]", "a:b:c",
  ])
  func `does not take an address with something wrong in it for a file`(address: String) {
    #expect(throws: UsageError.self) {
      try Program.flotilla.request(from: ["run", "--http", address, "a.db"])
    }
    #expect(throws: UsageError.self) {
      try Program.flotilla.request(from: ["run", "a.db", "--http", address])
    }
  }

  @Test(arguments: ["./127.0.0.1:80", "a.db", "v1.2"])
  func `takes for a file what is none`(file: String) throws {
    let request = try Program.flotilla.request(from: ["run", "--http", file])
    guard case .call(_, let read) = request else { throw UsageError("no call") }
    #expect(read.text("--http") == "" && read.texts("DB") == [file])
  }

  @Test func `takes options anywhere and values after a blank or an equals sign`() throws {
    let read = try arguments("--wait", "2s", "Argo", "--crane=a=b", "--all", "--crane", "-c")
    #expect(read.duration("--wait") == .seconds(2))
    #expect(read.texts("--crane") == ["a=b", "-c"])
    #expect(read.has("--all"))
  }

  @Test func `takes every word after two dashes as it is`() throws {
    let read = try arguments("--", "Argo", "--all", "--help", "--")
    #expect(read.texts("GOODS") == ["--all", "--help", "--"])
    #expect(!read.has("--all"))
  }

  @Test(arguments: [
    ([], "no command was given"),
    (["laod"], #"there is no command "laod"; did you mean load?"#),
    (["sail"], #"there is no command "sail""#),
    (["dredge", "x"], "`flotilla dredge` is not part of this version"),
    (["help", "dredge"], "`flotilla dredge` is not part of this version"),
    (["help", "load", "x"], "`flotilla help` takes the name of one command or topic"),
    (["Argo", "load"], #"the command comes first, not "Argo""#),
    (["--versoin"], #"the command comes first, not "--versoin"; did you mean --version?"#),
    (["load"], "SHIP is missing: the ship"),
    (["load", "Argo"], "GOODS or --all is missing"),
    (["load", "Argo", "tar", "--all"], "GOODS and --all exclude each other; give only one"),
    (["load", "Argo", "tar", "tar"], #"GOODS: "tar" is named twice"#),
    (["load", ""], "SHIP: the name is empty"),
    (["load", "Argo", " "], "GOODS: the name is empty"),
    (["load", "Argo", "--all", "--all"], "--all is given twice"),
    (["load", "Argo", "--all=yes"], "--all takes no value"),
    (["load", "Argo", "--wait"], "--wait needs a value: --wait TIME"),
    (["load", "Argo", "--wait", "--all"], "--wait needs a value: --wait TIME"),
    (
      ["load", "Argo", "--wiat", "2s"],
      #"`flotilla load` has no option "--wiat"; did you mean --wait?"#
    ),
    (
      ["load", "Argo", "-x"],
      #"`flotilla load` has no option "-x"; an argument that begins with a dash comes after --"#
    ),
  ])
  func `says what is wrong`(words: [String], expected: String) {
    #expect(message(words) == expected)
  }

  @Test func `names one argument too many`() {
    let words = ["status", "clinic.db", "ward"]
    #expect(throws: UsageError.self) { try Program.flotilla.request(from: words) }
  }

  @Test(arguments: [
    ["-h"], ["--help"], ["help"], ["help", "--help"], ["load", "-h"],
    ["load", "--wrong", "--help"],
    ["help", "load"],
  ])
  func `gives help wherever it is asked for`(words: [String]) throws {
    guard case .help = try program.request(from: words) else {
      Issue.record("no help for \(words)")
      return
    }
  }

  @Test func `tells how to get help about the command`() {
    let remedy = UsageError("x", in: sample).remedy
    #expect(
      remedy == """
        usage: flotilla load SHIP (GOODS… | --all) [--wait TIME] [--crane NAME]…
        `flotilla load --help` explains it
        """)
  }

  @Test(arguments: Program.flotilla.commands.map(\.name))
  func `declares nothing twice`(name: String) throws {
    let command = try #require(Program.flotilla.commands.first { $0.name == name })
    let names = command.parameters.map(\.name) + command.options.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(command.choices.allSatisfy { $0.names.allSatisfy(names.contains) })
    #expect(command.parameters.dropLast().allSatisfy { !$0.repeats })
    #expect(!Program.flotilla.laterCommands.contains(name))
  }
}
