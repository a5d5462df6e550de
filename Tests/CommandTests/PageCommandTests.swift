import Foundation
import Testing

@testable import FlotillaCommand

/// Commands that stand in a page to be typed: a block of shell between two fences.
///
/// A comment before the fence says what no test can type: `<!-- not typed: needs root -->` of the
/// block, `<!-- sudo not typed: needs systemd -->` of those lines in it that begin with `sudo`.
struct ShellBlock: CustomStringConvertible {
  let page: String
  let heading: String
  var lines: [String] = []
  /// What the comment says.
  var reason: String?
  /// Whether the comment is about the block, and not about `sudo` alone.
  var isLeftOut = false

  var section: String { "\(page): \(heading)" }
  var description: String { "\(section): \(lines.first ?? "")" }

  /// What a test types of it.
  var typed: [String] {
    isLeftOut ? [] : lines.filter { reason == nil || !$0.hasPrefix("sudo ") }
  }

  static func all(of page: String) throws -> [ShellBlock] {
    let text = try String(
      contentsOfFile: `The unit of a database`.top + "/docs/" + page, encoding: .utf8)
    var (blocks, heading, remark) = ([ShellBlock](), "", "")
    var open: ShellBlock?
    for line in text.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
      if let block = open {
        if line == "```" {
          blocks.append(block)
          open = nil
        } else {
          open?.lines.append(line)
        }
      } else if line == "```sh" {
        var block = ShellBlock(page: page, heading: heading)
        if let match = remark.wholeMatch(of: #/<!-- (sudo )?not typed: (.+) -->/#) {
          (block.reason, block.isLeftOut) = (String(match.2), match.1 == nil)
        }
        open = block
      } else if line.hasPrefix("## ") {
        heading = String(line.dropFirst(3))
      }
      remark = line
    }
    return blocks
  }
}

/// A section of a page whose blocks one shell types, and what is done around them.
struct TypedSection: Sendable, CustomTestStringConvertible {
  let name: String
  /// What is done before each of its blocks that are typed.
  let before: [String]
  /// What must hold in the end.
  let after: String

  var testDescription: String { name }

  static let all = [
    TypedSection(
      name: "operations.md: Be told of it",
      before: [
        """
        found; flotilla stop clinic.db
        printf '#!/bin/sh\\ncat >told\\n' >tell.sh; chmod +x tell.sh
        """
      ],
      after: "add field-bag; at ward-1; soon test -s told"),
    TypedSection(
      name: "operations.md: Back up", before: ["found"],
      after: "[ $(sqlite3 $top/stick/clinic-friday.db 'SELECT count(*) FROM patient') = 1 ]"),
    TypedSection(
      name: "operations.md: Restore",
      before: [
        """
        found; add field-bag; at ward-1; sqlite3 clinic.db ".backup $top/stick/clinic-friday.db"
        write 'p-2'; flotilla wait clinic.db
        """
      ],
      after: "soon has 2"),
    TypedSection(
      name: "operations.md: Copy to another machine",
      before: [
        """
        found; add field-bag; mkdir $top/third; sqlite3 clinic.db ".backup $top/third/clinic.db"
        CODE=$(invite ward-1); at third
        """
      ],
      after: "has 1; flotilla status clinic.db --json | grep -q North"),
    TypedSection(
      name: "operations.md: A table or column that one machine lacks",
      before: [
        """
        found; sqlite3 -cmd '.timeout 5000' clinic.db 'CREATE TABLE visit (id TEXT PRIMARY KEY)'
        flotilla track clinic.db visit; add field-bag; flotilla stop clinic.db
        sqlite3 clinic.db 'DROP TABLE visit'; flotilla run clinic.db --background
        soon flotilla sync clinic.db ward-1
        """
      ],
      after: "sqlite3 clinic.db 'SELECT count(*) FROM visit'"),
    TypedSection(
      name: "operations.md: A device that does not come back",
      before: ["found; add field-bag; write 'p-2'; flotilla stop clinic.db; at ward-1"],
      after: "flotilla members clinic.db --all --json | grep -q revoked"),
    TypedSection(
      name: "operations.md: Lose the site key",
      before: [
        """
        found; add field-bag; add third; write 'p-2'; flotilla wait clinic.db
        at ward-1; flotilla stop clinic.db; at field-bag
        """,
        "CODE=$(invite field-bag); at third field-bag",
      ],
      after: "has 2; soon flotilla wait clinic.db; flotilla verify clinic.db"),
    TypedSection(
      name: "operations.md: Take it off a machine",
      before: ["found; add field-bag; write 'p-2'"],
      after: """
        [ "$(ls)" = clinic.db ]; has 2
        if flotilla list | grep "$PWD/clinic.db"; then exit 1; fi
        [ -z "$(sqlite3 clinic.db "SELECT * FROM sqlite_schema WHERE name LIKE '%flotilla%'")" ]
        [ $(sqlite3 clinic.db 'PRAGMA journal_mode') = delete ]
        at ward-1; has 2; flotilla status clinic.db
        """),
    TypedSection(
      name: "network.md: Where machines do not find each other",
      before: ["found; CODE=$(invite ward-1); at third"],
      after: "has 1; soon flotilla sync clinic.db ward-1"),
    TypedSection(
      name: "upgrading.md: One machine", before: ["found"],
      after: "flotilla status clinic.db"),
    TypedSection(
      name: "upgrading.md: The file", before: ["found"],
      after: "[ $(sqlite3 $top/stick/clinic-before.db 'SELECT count(*) FROM patient') = 1 ]"),
  ]

  /// Three machines, each a folder, and what is typed at one of them. A node is kept off the LAN.
  static func opening(_ ports: [String], _ products: String) -> String {
    """
    set -eu
    exec 2>&1
    top=$PWD
    export PATH=$top/bin:\(products):$PATH XDG_RUNTIME_DIR=$top/run
    export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nowhere
    mkdir bin stick ward-1 field-bag; mkdir -m 700 run
    declare -A ports=([ward-1]=\(ports[0]) [field-bag]=\(ports[1]) [third]=\(ports[2]))
    at() { mkdir -p $top/$1; cd $top/$1; export port=${ports[$1]} other=${ports[${2-ward-1}]}; }
    end() { for one in ward-1 field-bag third; do (at $one; flotilla stop clinic.db || :); done; }
    trap 'end >/dev/null 2>&1' EXIT
    soon() { for _ in $(seq 150); do if "$@" >/dev/null; then return; fi; sleep 0.2; done; "$@"; }
    invite() { (at $1; flotilla invite clinic.db 2>/dev/null); }
    write() { sqlite3 -cmd '.timeout 5000' clinic.db "INSERT INTO patient VALUES ('$1', 'B')"; }
    has() { [ $(sqlite3 -cmd '.timeout 5000' clinic.db 'SELECT count(*) FROM patient') = $1 ]; }
    found() {
      at ward-1
      sqlite3 clinic.db "CREATE TABLE patient (id TEXT PRIMARY KEY, ward TEXT)"
      write p-1
      flotilla init clinic.db --site "North clinic" --name ward-1 --all
      flotilla run clinic.db --background
    }
    add() {
      CODE=$(invite ward-1)
      at $1
      flotilla join clinic.db "$CODE" --name $1
      flotilla run clinic.db --background
    }
    cat >bin/flotilla <<'END'
    #!/bin/bash
    case $1 in
    run)
      [[ " $* " == *" --background "* ]] || set -- "$@" --background
      set -- "$@" --listen "127.0.0.1:$port" --no-discovery ;;
    join) [[ " $* " == *" --at "* ]] || set -- "$@" --at "127.0.0.1:$other" ;;
    esac
    exec \(products)/flotilla "$@"
    END
    chmod +x bin/flotilla

    """
  }

  /// What the page has a person type, with this folder for the stick and the LAN of this machine.
  static func adapted(_ line: String) -> String {
    line.replacingOccurrences(of: "/media/stick", with: "$top/stick")
      .replacingOccurrences(of: "192.168.4.17:7391", with: "127.0.0.1:$other")
      .replacing(#/\bCODE\b/#, with: "$CODE")
  }
}

@Suite struct `The commands of the pages` {
  static let pages = ["operations.md", "network.md", "upgrading.md"]

  @Test(arguments: pages)
  func `are typed by a test, or the page says why not`(page: String) throws {
    let blocks = try ShellBlock.all(of: page)
    let known = Set(TypedSection.all.map(\.name))
    for block in blocks {
      if let reason = block.reason { #expect(reason.split(separator: " ").count > 1, "\(block)") }
      #expect(block.isLeftOut || known.contains(block.section), "\(block)")
      #expect(block.typed.allSatisfy { !$0.hasPrefix("sudo ") }, "\(block)")
    }
    for section in TypedSection.all where section.name.hasPrefix(page) {
      let typed = blocks.filter { $0.section == section.name && !$0.typed.isEmpty }
      #expect(typed.count == section.before.count, "\(section.name)")
    }
  }

  @Test(arguments: pages)
  func `are understood, whoever types them`(page: String) throws {
    for block in try ShellBlock.all(of: page) {
      for line in block.lines {
        for part in line.split(separator: " #")[0].split(separator: " && ") {
          let words = part.matches(of: #/'([^']*)'|"([^"]*)"|([^ '"]+)/#)
            .map { String($0.1 ?? $0.2 ?? $0.3 ?? "") }
          let own = Array(words.drop { $0 == "sudo" })
          guard own.first == "flotilla" else { continue }
          #expect(throws: Never.self, "\(block): \(line)") {
            _ = try Program.flotilla.request(from: Array(own.dropFirst()))
          }
        }
      }
    }
  }

  @Test(arguments: TypedSection.all)
  func `do what the page says`(section: TypedSection) throws {
    let page = String(section.name.prefix { $0 != ":" })
    let blocks = try ShellBlock.all(of: page)
      .filter { $0.section == section.name && !$0.typed.isEmpty }
    let folder = try Folder()
    defer { folder.remove() }
    var script = TypedSection.opening(
      [try freePort(), try freePort(), try freePort()], folder.products)
    for (before, block) in zip(section.before, blocks) {
      script += before + "\n" + block.typed.map(TypedSection.adapted).joined(separator: "\n") + "\n"
    }
    try folder.run("/bin/bash", ["-c", script + section.after + "\n"])
  }
}
