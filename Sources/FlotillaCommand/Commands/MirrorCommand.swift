import Flotilla
import FoundationEssentials
import Glibc
import Mirror

/// `flotilla mirror`: tables kept equal with those of a server.
enum MirrorCommand {
  static let command = Command(
    name: "mirror",
    summary: "keeps tables equal with those of a MariaDB or MySQL database",
    discussion: """
      add looks at both schemas, says which tables would be mapped, created or
      refused, and why, and which rights the user lacks there. Then it asks before
      it touches anything; --yes answers. URL is mysql://USER@HOST:3306/DATABASE;
      the password is asked for, or is the first line of a file. Other hosts are
      spoken to through TLS alone: ?ca=FILE at the end of the URL says whose
      certificates count; ?socket=FILE is a server of this machine. Nodes of one
      cluster are named so: USER@HOST,HOST:PORT,HOST.

      The node that runs for DB does the work: `flotilla run DB`. status says how
      far it is, and which rows are held and why. pause and resume let it rest.
      verify compares all rows, as happens each hour. take moves the mirror of a
      site to this node. remove takes triggers and notes out of the server; rows
      stay on both sides.

      With a mirror that is set up, add --tables T,U without a URL has these tables
      mirrored as well, and remove --tables T,U takes them out. The others flow on
      meanwhile, and are not compared anew.
      """,
    parameters: [
      .database,
      Parameter(
        name: "ACTION",
        kind: .choice(["add", "status", "pause", "resume", "verify", "take", "remove"]),
        help: "what to do"),
      Parameter(
        name: "URL", count: .oneOrNone, kind: .text, help: "the server, for take and a first add"),
    ],
    options: [
      Option(
        name: "--password-file", value: Option.Value(name: "FILE", kind: .name),
        help: "the first line of it is the password; it is read at each connection"),
      Option(
        name: "--tables", value: Option.Value(name: "TABLE,…", kind: .list),
        help: "which tables; without it all of the site, or of the mirror"),
      Option(
        name: "--map", value: Option.Value(name: "TABLE=DATABASE.TABLE", kind: .text),
        repeats: true, help: "where a table is on the server, if its name is another one"),
      Option(name: "--create", help: "makes the tables that the server does not have"),
      Option(name: "--yes", help: "does not ask"),
      Option(name: "--force", help: "remove: also if the server is not in reach"),
      Option(name: "--site", help: "verify: however many rows differ, the site's stand"),
      Option(name: "--server", help: "verify: of rows that differ the server's stand"),
      .timeout, .json,
    ],
    statuses: [
      .notInSync: "status, and something waits or is held; verify, and rows differ or the time was "
        + "over first"
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let mirror = ServerMirror(call.replica)
    let action = call.arguments.text("ACTION") ?? ""
    let url = call.arguments.text("URL")
    guard action == "add" || action == "take" || url == nil else {
      throw FlotillaError(.usage, "\(action) takes no URL")
    }
    switch action {
    case "add" where url == nil && mirror.isSetUp: return try await addTables(mirror, call)
    case "add", "take":
      if action == "add" { try mirror.requireNone() }
      return try await add(mirror, call, takes: action == "take")
    case "pause": try await mirror.pause()
    case "resume": try await mirror.resume()
    case "verify": return try await verify(mirror, call)
    case "remove" where !call.arguments.list("--tables").isEmpty:
      return try await removeTables(mirror, call)
    case "remove":
      let other = try await mirror.remove(force: call.arguments.has("--force"))
      if call.json {
        call.output.data(JSON.object(["removed": .bool(true)]).description)
      } else {
        call.output.remark("the mirror is removed; the rows of both sides stay")
        if let other {
          call.output.remark("\(other) has taken it over: what it needs stays on the server, too")
        }
      }
      return .done
    default: break
    }
    let report = try await mirror.report()
    call.print(report, as: MirrorText.text(report, colour: call.output.colour))
    return action == "status" && !report.in_sync ? .notInSync : .done
  }

  private static func verify(
    _ mirror: ServerMirror, _ call: Call
  ) async throws(FlotillaError) -> ExitStatus {
    let (site, server) = (call.arguments.has("--site"), call.arguments.has("--server"))
    guard !site || !server else {
      throw FlotillaError(.usage, "--site and --server exclude each other")
    }
    let report = try await mirror.verify(
      within: call.arguments.duration("--timeout"), for: site ? .site : server ? .server : nil)
    guard let report else {
      throw FlotillaError(
        .timedOut, "the comparison has not ended",
        remedy: "It goes on; see: flotilla mirror \(call.shellPath) status")
    }
    call.print(report, as: MirrorText.verdict(report))
    return report.in_sync && report.differences == 0 ? .done : .notInSync
  }

  private static func add(
    _ mirror: ServerMirror, _ call: Call, takes: Bool
  ) async throws(FlotillaError) -> ExitStatus {
    let wish = try wish(call)
    let plan = try await mirror.plan(wish, takes: takes)
    try confirm(plan, call)
    let report = try await mirror.carryOut(plan, wish)
    show(
      plan, call,
      "\(report.server) is mirrored by the node of \(call.shellPath) as long as it runs")
    return .done
  }

  /// More tables for a mirror that is set up.
  private static func addTables(
    _ mirror: ServerMirror, _ call: Call
  ) async throws(FlotillaError) -> ExitStatus {
    guard call.arguments.text("--password-file") == nil else {
      throw FlotillaError(
        .usage, "--password-file goes with a URL",
        remedy: "The mirror is set up, and knows its server and where the password is.")
    }
    var addition = MirrorAddition()
    let tables = call.arguments.list("--tables")
    addition.tables = tables.isEmpty ? nil : tables
    addition.map = try map(call)
    addition.creates = call.arguments.has("--create")
    let plan = try await mirror.plan(addition)
    try confirm(plan, call)
    let report = try await mirror.carryOut(plan, addition)
    let words =
      switch report.state {
      case "paused": "the mirror is paused: they are filled after flotilla mirror DB resume"
      case "off": "no node runs: they are filled when flotilla run DB does"
      default: "they are filled and compared now; the other tables flow on"
      }
    show(plan, call, words.replacing("DB", with: call.shellPath))
    return .done
  }

  private static func removeTables(
    _ mirror: ServerMirror, _ call: Call
  ) async throws(FlotillaError) -> ExitStatus {
    let tables = try await mirror.remove(
      tables: call.arguments.list("--tables"), force: call.arguments.has("--force"))
    if call.json {
      let names = tables.map { JSON.text($0) }
      call.output.result(
        JSON.object(["removed": .bool(true), "tables": .array(names)]).description)
    } else {
      call.output.remark(
        "\(tables.map(printable).joined(separator: ", ")): mirrored no more; the rows of both "
          + "sides stay")
    }
    return .done
  }

  /// Shows what would be done, and asks.
  private static func confirm(_ plan: MirrorPlan, _ call: Call) throws(FlotillaError) {
    guard plan.isPossible else {
      call.print(plan, as: MirrorText.text(plan))
      throw impossible(plan)
    }
    guard !call.arguments.has("--yes") else { return }
    call.output.remark(MirrorText.text(plan))
    guard try isConfirmed() else {
      throw FlotillaError(.refused, "nothing was touched", remedy: "--yes answers the question.")
    }
  }

  private static func show(_ plan: MirrorPlan, _ call: Call, _ words: String) {
    if call.json {
      call.print(plan, as: "")
    } else {
      call.output.result(MirrorText.text(plan))
      call.output.remark(words)
    }
  }

  private static func impossible(_ plan: MirrorPlan) -> FlotillaError {
    guard plan.missing.isEmpty else {
      return FlotillaError(
        .peer, "the user may not do on the server what a mirror does, so nothing was touched",
        remedy: "Have it granted there, and add the mirror again.")
    }
    guard !plan.tables.isEmpty else {
      return FlotillaError(
        .table, "there is no table to mirror", remedy: "See which the site has: flotilla status DB")
    }
    let refused = plan.tables.filter { $0.action == "refuse" }
    return FlotillaError(
      .table, "not every table can be mirrored, so nothing was touched",
      remedy: refused.allSatisfy(\.isLackingAlone)
        ? "--create makes those that the server does not have."
        : refused.count < plan.tables.count
          ? "Name those that can: --tables TABLE,…" : "Each of them has a reason above.")
  }

  private static func wish(_ call: Call) throws(FlotillaError) -> MirrorWish {
    guard let url = call.arguments.text("URL") else {
      throw FlotillaError(
        .usage, "URL is missing", remedy: "Write it so: mysql://USER@HOST:3306/DATABASE")
    }
    _ = try ServerAddress(url)
    let map = try map(call)
    let password: MirrorPassword
    if let file = call.arguments.text("--password-file") {
      password = .file(file)
    } else {
      password = .typed(try Prompt.password("password of the server: "))
    }
    var wish = MirrorWish(url: url, password: password)
    let tables = call.arguments.list("--tables")
    wish.tables = tables.isEmpty ? nil : tables
    wish.map = map
    wish.creates = call.arguments.has("--create")
    return wish
  }

  private static func map(_ call: Call) throws(FlotillaError) -> [String: String] {
    var map: [String: String] = [:]
    for word in call.arguments.texts("--map") {
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, map.updateValue(parts[1], forKey: parts[0]) == nil else {
        throw FlotillaError(
          .usage, "\(word) does not say where a table is, or one is named twice",
          remedy: "Write TABLE=DATABASE.TABLE.")
      }
    }
    return map
  }

  private static func isConfirmed() throws(FlotillaError) -> Bool {
    guard isatty(STDIN_FILENO) != 0 else { return false }
    Prompt.ask("do this? (yes/no) ")
    return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
  }
}

/// What is asked of the person at the terminal.
enum Prompt {
  static func ask(_ words: String) { _ = writeAll(words, to: STDERR_FILENO) }

  /// A line that is not shown while it is typed.
  static func password(_ words: String) throws(FlotillaError) -> String {
    guard isatty(STDIN_FILENO) != 0 else {
      throw FlotillaError(
        .refused, "there is no terminal to ask for the password",
        remedy: "Give it in a file: --password-file FILE")
    }
    ask(words)
    var before = termios()
    tcgetattr(STDIN_FILENO, &before)
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
    defer {
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
      ask("\n")
    }
    guard let line = readLine() else { throw FlotillaError(.refused, "no password was given") }
    return line
  }
}
