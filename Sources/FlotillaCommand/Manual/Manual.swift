import Flotilla
import FoundationEssentials
import Glibc

/// The pages of the manual, made of the declarations that the parser and the help are made of.
///
/// They are in the language of man(7): `.SH` begins a section, `.TP` a word that is explained.
struct Manual {
  /// The word by which the packaging asks for them; it stands in no list of commands.
  static let request = "write-manual"

  /// A page as a file: `flotilla-track.1`.
  struct Page: Equatable {
    let file: String
    let text: String
  }

  private let program: Program

  init(of program: Program) { self.program = program }

  /// Writes all pages into a folder that is there.
  func write(into folder: String, _ output: Output) -> ExitStatus {
    for page in pages {
      let path = folder + "/" + page.file
      do {
        try page.text.write(toFile: path, atomically: true, encoding: .utf8)
      } catch {
        output.failure(
          "cannot write \(path): \(reason(of: error))",
          remedy: "Make the folder first, and name one in which you may write.")
        return .failed
      }
    }
    return .done
  }

  /// The page of the program, then one for each command.
  var pages: [Page] { [overview] + program.commands.map(page) }

  private var overview: Page {
    var text = Roff(title: program.name, day: program.day, source: source)
    text.section("Name", [.plain("\(program.name) - \(Self.purpose)")])
    text.section(
      "Synopsis",
      [.usage([program.name, "COMMAND", "DB", "[arguments]"]), .usage([program.name, "--help"])])
    text.section("Description", Roff.parts(program.discussion))
    text.section(
      "Commands",
      program.commands.map { .term("\(program.name)-\($0.name)(1)", $0.summary) })
    text.section(
      "Options",
      [
        .term("-h, --help", "shows the commands, or the help of one"),
        .term("--version", "prints the version"),
      ])
    text.section("Exit status", statuses)
    text.section("Files", Self.files.map { .term($0.0, $0.1) })
    text.section("Environment", Self.environment.map { .term($0.0, $0.1) })
    text.section("See also", [.plain("\(topics); sqlite3(1), systemd.service(5), avahi-daemon(8)")])
    return Page(file: "\(program.name).1", text: text.text)
  }

  private func page(_ command: Command) -> Page {
    let name = "\(program.name)-\(command.name)"
    var text = Roff(title: name, day: program.day, source: source)
    text.section("Name", [.plain("\(name) - \(command.summary)")])
    text.section("Synopsis", [.usage(command.usageWords)])
    text.section("Description", Roff.parts(command.discussion))
    text.section("Arguments", command.parameters.map { .term($0.synopsis, $0.help) })
    text.section("Options", command.options.map { .term($0.synopsis, $0.explanation) })
    text.section(
      "Exit status", command.exits.map { .term(String($0.status.rawValue), $0.meaning) })
    text.section("Files", Self.files.prefix(1).map { .term($0.0, $0.1) })
    text.section("See also", [.plain("\(program.name)(1), \(topics)")])
    return Page(file: "\(name).1", text: text.text)
  }

  private var source: String { "\(program.name) \(program.version)" }

  private var topics: String {
    "`\(program.name) help TOPIC` (\(enumerated(Topic.allCases.map(\.rawValue))))"
  }

  private var statuses: [Roff.Part] {
    ExitStatus.allCases.map { .term(String($0.rawValue), $0.meaning) }
  }

  private static let purpose = "keeps SQLite databases equal on the machines of a LAN"

  private static let files = [
    (
      "/usr/share/doc/flotilla/docs/",
      "the pages about everything, tour.md and faq.md first, as the Debian package has them; where "
        + "`make install PREFIX=…` was used PREFIX/share/doc/flotilla/docs/. `flotilla help docs` "
        + "names the folder"
    ),
    (
      "DB-flotilla/",
      "beside each database: the keys of the node, and node.log where it runs in the background"
    ),
    (
      "/etc/systemd/system/flotilla@NAME.service.d/",
      "what `flotilla service DB enable` wrote of one database"
    ),
  ]

  private static let environment = [
    ("NO_COLOR", "if it is set and not empty, nothing is coloured"),
    (
      "XDG_RUNTIME_DIR",
      "where commands and the running node meet; without it /run/user, or else /tmp"
    ),
  ]
}
