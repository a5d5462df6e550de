import Flotilla

/// `flotilla list`: which replicas there are on this machine.
enum Replicas {
  static let command = Command(
    name: "list",
    summary: "shows the replicas on this machine, and which have a node",
    discussion: """
      It finds databases that a node of this user works on, wherever they are (as
      root, those of every user), and those below the folders that are named: without
      any, below this folder.
      """,
    parameters: [Parameter(name: "FOLDER", count: .any, help: "a folder to look through")],
    options: [.json],
    body: run)

  /// One replica. What only its node or its file can tell is null where `error` says why.
  struct Entry: Encodable, Sendable, Equatable {
    var database: String
    var running: Bool
    var site: String?
    var node: String?
    var in_sync: Bool?
    var error: String?
  }

  struct Report: Encodable, Sendable, Equatable {
    var replicas: [Entry]
  }

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let named = call.arguments.texts("FOLDER")
    var paths = Set(LocalReplicas.held())
    for folder in named.isEmpty ? ["."] : named {
      paths.formUnion(try LocalReplicas.below(folder))
    }
    var entries: [Entry] = []
    for path in paths.sorted() { entries.append(await entry(path)) }
    let report = Report(replicas: entries)
    call.print(report, as: text(report, colour: call.output.colour))
    return .done
  }

  private static func entry(_ path: String) async -> Entry {
    do throws(FlotillaError) {
      let status = try await Replica(path: path).status(all: false)
      return Entry(
        database: path, running: status.running, site: status.site, node: status.node,
        in_sync: status.in_sync)
    } catch {
      return Entry(
        database: path, running: false,
        error: LocalReplicas.isClosed(path)
          ? "this user may not look: it belongs to another one" : error.message)
    }
  }

  static func text(_ report: Report, colour: Bool) -> String {
    if report.replicas.isEmpty { return "there is no replica here, and no node runs" }
    var table = Table(
      columns: ["DATABASE", "SITE", "NODE", "STATE"].map { Table.Column(heading: $0) })
    table.rows = report.replicas.map { entry in
      let state: Table.Cell =
        if let error = entry.error {
          Table.Cell(error, .red)
        } else if !entry.running {
          Table.Cell("no node runs", .grey)
        } else {
          entry.in_sync == true
            ? Table.Cell("in sync", .green) : Table.Cell("not in sync", .yellow)
        }
      return [
        Table.Cell(entry.database), Table.Cell(shortened(entry.site ?? "", to: 32)),
        Table.Cell(shortened(entry.node ?? "", to: 32)), state,
      ]
    }
    return table.text(colour: colour)
  }
}
