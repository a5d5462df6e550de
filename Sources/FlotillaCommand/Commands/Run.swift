import Flotilla
import Dispatch
import FoundationEssentials
import Glibc
import Gateway

/// `flotilla run`: the node itself.
enum Run {
  static let command = Command(
    name: "run",
    summary: "runs the node that keeps databases in sync",
    discussion: """
      In the foreground the log goes to standard error, and SIGTERM, SIGINT (Ctrl-C)
      and `flotilla stop` end the node. With --background it returns when the node is
      ready; the log is then node.log in the folder beside the first database.

      Of several databases one that cannot be served leaves the others at work; it
      is told, and tried again every minute.
      """,
    parameters: [
      Parameter(name: "DB", count: .oneOrMore, help: "the SQLite database files")
    ],
    options: [
      Option(
        name: "--listen", value: Option.Value(name: "HOST:PORT", kind: .address(listening: true)),
        help: "where to listen; without it on every address"),
      Option(
        name: "--peer", value: Option.Value(name: "HOST:PORT", kind: .address(listening: false)),
        repeats: true, help: "a node to connect to"),
      Option(name: "--no-discovery", help: "does not look for nodes with Avahi"),
      Option(
        name: "--http",
        value: Option.Value(
          name: "HOST:PORT", kind: .address(listening: true), isOptional: true),
        help: "serves rows over HTTP, and a page: to this machine, or with an address of it to "
          + "others through TLS; see docs/http.md"),
      Option(
        name: "--on-conflict", value: Option.Value(name: "CMD", kind: .text),
        help: "runs a shell command for new conflicts, with one JSON line for each as its input"),
      Option(
        name: "--on-state", value: Option.Value(name: "CMD", kind: .text),
        help: "runs a shell command when a node comes, goes or fails, or this one is in sync or "
          + "no more, with what status --json says as its input"),
      Option(
        name: "--log",
        value: Option.Value(name: "FORM", kind: .choice(LogForm.allCases.map(\.rawValue))),
        help: "how the log is written: text, or one JSON object a line"),
      Option(name: "--background", help: "detaches from the terminal and returns when ready"),
    ],
    statuses: [
      .done: "stopped, or --background and the node is ready",
      .notInSync: "--background, and the node is not ready after 60 s; it goes on starting",
    ],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let readiness = Readiness()
    let notice = ServiceNotice.taken()
    do throws(FlotillaError) {
      let replicas = call.arguments.texts("DB").map { Replica(path: $0) }
      try await check(replicas)
      try await refuseSecondNode(replicas, call)
      if call.arguments.has("--background") { return try await detach(call) }
      signal(SIGHUP, SIG_IGN)
      let options = options(from: call.arguments)
      let form = call.arguments.text("--log").flatMap { LogForm(rawValue: $0) } ?? .text
      let entries = NodeLog(form, call.output)
      let only = replicas.count == 1 ? replicas[0].database : nil
      let log: @Sendable (String) -> Void = { entries.write(LogEntry($0, database: only)) }
      let gateway = try gateway(for: replicas, call.arguments, log: log)
      let mirrors = MirrorWatch()
      let ready: @Sendable ([FlotillaError]) -> Void = { broken in
        mirrors.begin(replicas, log: log)
        gateway?.nodesAreReady()
        readiness.ready(broken, also: gateway.map(served(by:)))
        let amount = counted(replicas.count - broken.count, "database")
        let rest = broken.isEmpty ? "" : ", and \(broken.count) that cannot be served"
        notice.ready(amount + rest)
      }
      let heartbeat = Task { await Heartbeat.beat(notice, for: replicas) }
      let watched = await OperatorAlarm.of(replicas, alarmCommands(call.arguments), log: log)
      let alarms = Task { await OperatorAlarm.watch(watched) }
      let result = await outcome { () async throws(FlotillaError) in
        try await stoppingOnSignal { () async throws(FlotillaError) in
          try await Replica.run(replicas, options: options, log: entries.write, ready: ready)
        }
      }
      notice.stopping()
      for task in [heartbeat, alarms] { task.cancel() }
      await mirrors.end()
      await gateway?.stop()
      try result.get()
      return .done
    } catch {
      readiness.failed(error)
      throw error
    }
  }

  /// The gateway, if one is wanted: it listens at once, so that a port that is taken is an error of
  /// the start.
  private static func gateway(
    for replicas: [Replica], _ arguments: Arguments, log: @escaping @Sendable (String) -> Void
  ) throws(FlotillaError) -> Gateway? {
    guard let address = arguments.text("--http") else { return nil }
    let gateway = try Gateway(replicas, address: address, figures: MirrorFigures.of, log: log)
    log(served(by: gateway))
    for remark in gateway.remarks { log(remark) }
    return gateway
  }

  private static func served(by gateway: Gateway) -> String {
    "the gateway serves \(gateway.url)/v1/, and a page for people: \(gateway.url)/"
  }

  private static func outcome(
    _ body: () async throws(FlotillaError) -> Void
  ) async -> Result<Void, FlotillaError> {
    do throws(FlotillaError) {
      try await body()
      return .success(())
    } catch {
      return .failure(error)
    }
  }

  private static func alarmCommands(_ arguments: Arguments) -> AlarmCommands {
    AlarmCommands(
      conflict: arguments.text("--on-conflict"), state: arguments.text("--on-state"))
  }

  static func options(from arguments: Arguments) -> RunOptions {
    var options = RunOptions()
    options.listen = arguments.text("--listen")
    options.peers = arguments.texts("--peer")
    options.discovery = !arguments.has("--no-discovery")
    return options
  }

  /// Fails early and in plain words if the database is missing or is no replica; of several, if all
  /// are.
  private static func check(_ replicas: [Replica]) async throws(FlotillaError) {
    var failures: [FlotillaError] = []
    for replica in replicas where access(folder(of: replica), R_OK | W_OK | X_OK) != 0 {
      do throws(FlotillaError) {
        // The library knows whether the file or its folder was lost, never was or is another's.
        _ = try await replica.status(all: false)
      } catch {
        failures.append(error)
      }
    }
    if failures.count == replicas.count, let failure = failures.first { throw failure }
  }

  /// A node that runs already is told before anything is opened: its log and its gateway are its
  /// own. Of several databases without a gateway the rest is served beside it.
  private static func refuseSecondNode(
    _ replicas: [Replica], _ call: Call
  ) async throws(FlotillaError) {
    guard replicas.count == 1 || call.arguments.has("--http") else { return }
    for replica in replicas { try await replica.refuseSecondNode() }
  }

  private static func folder(of replica: Replica) -> String { replica.database + "-flotilla" }

  private static func detach(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let folders = call.arguments.texts("DB").map { folder(of: Replica(path: $0)) }
    let log = (folders.first { access($0, F_OK) == 0 } ?? folders[0]) + "/node.log"
    let node = try BackgroundNode(words: words(from: call.arguments), log: log)
    let outcome = await withCheckedContinuation { continuation in
      // Waiting for the child blocks, which a thread of the cooperative pool must not.
      DispatchQueue.global().async {
        continuation.resume(returning: node.outcome(within: .seconds(60)))
      }
    }
    switch outcome {
    case .ready(let broken):
      call.output.relay(broken)
      call.output.remark("the node runs in the background (process \(node.process)); log: \(log)")
      return .done
    case .ended(let text, let status?) where !text.isEmpty:
      call.output.relay(text)
      return status
    case .ended:
      throw FlotillaError(.node, "the node ended before it was ready", remedy: "see \(log)")
    case .silent:
      throw FlotillaError(
        .timedOut, "the node (process \(node.process)) is not ready after 60 s",
        remedy: "it goes on starting; see \(log) and `flotilla status \(call.shellPath)`")
    }
  }

  /// The same call in the foreground, written anew so that no spelling of an option is missed.
  static func words(from arguments: Arguments) -> [String] {
    var words = ["run"]
    if let listen = arguments.text("--listen") { words.append("--listen=\(listen)") }
    words += arguments.texts("--peer").map { "--peer=\($0)" }
    if arguments.has("--no-discovery") { words.append("--no-discovery") }
    if let address = arguments.text("--http") {
      words.append(address.isEmpty ? "--http" : "--http=\(address)")
    }
    for option in ["--on-conflict", "--on-state", "--log"] {
      if let command = arguments.text(option) { words.append("\(option)=\(command)") }
    }
    return words + ["--"] + arguments.texts("DB")
  }
}
