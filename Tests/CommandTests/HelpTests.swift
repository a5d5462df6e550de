import Foundation
import Testing

@testable import FlotillaCommand

@Suite struct `Help` {
  private func help(_ name: String) throws -> String {
    try #require(Program.flotilla.commands.first { $0.name == name }).help
  }

  @Test func `names parameters in the order in which they are written`() {
    #expect(Token.command.usage.hasPrefix("flotilla token DB ACTION [NAME] "))
  }

  @Test func `of the program lists the commands and the exit statuses`() {
    #expect(
      Program.flotilla.help == """
        usage: flotilla COMMAND DB [arguments]

        Keeps SQLite databases equal on every machine of a LAN, without a server and
        without the internet. Programs go on using the file as they always did.

        Commands:
          init             makes this file the first replica of a new site
          join             joins a site with a code and makes the first copy
          invite           prints a code with which one more machine can join
          run              runs the node that keeps databases in sync
          stop             stops the running node
          status           shows whether this node and the others are in sync
          peers            shows the other nodes and their addresses
          sync             exchanges changes now, both ways
          wait             waits until what was committed here has arrived
          sql              runs a statement here and prints the rows it gave or touched
          track            replicates tables, on every node of the site
          untrack          stops replicating tables, on every node of the site
          rule             shows or sets the merge rule of a table
          anchor           shows or appoints the anchor, the node that decides
          conflicts        shows what lost against another edit, and brings it back
          changes          prints rows that change, as JSON lines
          members          shows who belongs to the site, since when, and with which
                           role
          grant            says what a node may do with a table
          revoke           shuts a node out of the site, for good
          forget           drops a node that will not return
          token            lets programs read and write rows over HTTP
          mirror           keeps tables equal with those of a MariaDB or MySQL database
          export-site-key  writes the site key into a file, to be printed or locked
                           away
          import-site-key  takes the site key over: this node becomes an admin
          clock            shows the time of the site, and sets it
          schema           shows renamed columns, and how another schema differs
          verify           proves that the rows here are those of the other nodes
          doctor           checks file, rows, discovery and node, each finding with a
                           remedy
          service          lets systemd run the node, from now on and at each start
          list             shows the replicas on this machine, and which have a node
          completions      prints what lets a shell complete commands and tables
          leave            takes Flotilla out of this file; the data stays

        Options:
          -h, --help  shows this, or the help of a command
          --version   prints the version

        Exit status:
          0  done, or in sync
          1  failed, or it cannot be done
          2  wrong usage: the words make no sense
          3  not (yet) in sync, or timed out waiting
          4  the anchor rejected the edit

        Topics (`flotilla help TOPIC`):
          rules      which of two edits of one row stands
          clocks     what time edits have, whatever the clocks say
          conflicts  where the edits are that do not stand
          copies     backups, and moving a node to another machine
          keys       two rows that got the same number
          docs       where the pages are, and where the log is

        `flotilla COMMAND --help` explains a command.

        """)
  }

  @Test(arguments: Topic.allCases)
  func `of a topic fits a terminal, and names commands that there are`(topic: Topic) throws {
    let lines = topic.help.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.allSatisfy { $0.count <= 80 && !$0.hasSuffix(" ") })
    let words = topic.help.split { " \n`".contains($0) }
    for (word, next) in zip(words, words.dropFirst()) where word == "flotilla" {
      #expect(Program.flotilla.commands.contains { $0.name == next }, "\(next)")
    }
    let page = try #require(words.last { $0.hasPrefix("docs/") })
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    #expect(FileManager.default.fileExists(atPath: root.appending(path: page).path))
    let request = try Program.flotilla.request(from: ["help", topic.rawValue])
    guard case .topic(topic, let command) = request else {
      Issue.record("no help about \(topic)")
      return
    }
    #expect((command != nil) == (topic == .conflicts))
  }

  @Test func `of a command explains each argument`() throws {
    #expect(
      try help("init") == """
        usage: flotilla init DB [--site NAME] [--name NODE] [--all | --track TABLE,…]
                 [--rule RULE] [--json]

        Makes this file the first replica of a new site.

        The file is created if it is absent. The site gets a name for people; without
        --site it is called after the file. Without --all or --track no table is
        replicated yet; `flotilla track` chooses them later. --all leaves out the books
        of migration tools, and new tables are replicated by themselves from then on.

        Arguments:
          DB  the SQLite database file

        Options:
          --site NAME      the name of the site
          --name NODE      the name of this node; without it the machine's name
          --all            replicates every table, and new ones from now on
          --track TABLE,…  replicates these tables
          --rule RULE      the merge rule: newest-wins, server-wins,
                           server-wins-on-conflict or client-wins
          --json           prints one JSON object instead of text
          -h, --help       shows this

        """)
  }

  @Test(arguments: [
    (
      "init", "init DB [--site NAME] [--name NODE] [--all | --track TABLE,…] [--rule RULE] [--json]"
    ),
    ("join", "join DB CODE [--name NODE] [--at HOST:PORT] [--json]"),
    ("invite", "invite DB [--ttl TIME] [--role ROLE] [--json]"),
    (
      "run",
      "run DB… [--listen HOST:PORT] [--peer HOST:PORT]… [--no-discovery] [--http [HOST:PORT]] "
        + "[--on-conflict CMD] [--on-state CMD] [--log FORM] [--background]"
    ),
    ("stop", "stop DB"), ("status", "status DB [--all] [--watch] [--json]"),
    ("peers", "peers DB [--json]"),
    ("sync", "sync DB [NODE|HOST:PORT] [--timeout TIME] [--json]"),
    ("wait", "wait DB [--for NODE|anchor|all] [--timeout TIME] [--json]"),
    ("sql", "sql DB STATEMENT [--online] [--timeout TIME] [--json]"),
    (
      "track",
      "track DB [TABLE… | --all | --new] [--rule RULE] [--on-collision WHAT] [--json]"
    ),
    ("untrack", "untrack DB (TABLE… | --new) [--here] [--json]"),
    ("rule", "rule DB [TABLE [RULE]] [--json]"),
    ("verify", "verify DB [NODE] [--repair] [--timeout TIME] [--json]"),
    ("doctor", "doctor DB [--repair] [--bundle FILE] [--json]"),
    ("list", "list [FOLDER…] [--json]"),
    ("service", "service DB ACTION [--root FOLDER] [--json]"),
    ("completions", "completions SHELL"), ("leave", "leave DB [--force] [--json]"),
  ])
  func `says how each command is called`(name: String, usage: String) throws {
    let command = try #require(Program.flotilla.commands.first { $0.name == name })
    #expect(command.usage == "flotilla " + usage)
  }

  @Test(arguments: Program.flotilla.commands.map(\.name))
  func `fits on a terminal of 80 columns`(name: String) throws {
    let wide = try help(name).split(separator: "\n").filter { displayWidth(String($0)) > 79 }
    #expect(wide.isEmpty)
  }
}
