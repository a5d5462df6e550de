import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// What other users of the same machine may see and do.
  @Suite struct OwnerTests {
    static let secrets = [
      ("a.db-flotilla/keys/node.key", "640", "600"), ("a.db-flotilla/keys/site.key", "604", "600"),
      ("a.db-flotilla/keys/invitations.json", "644", "600"),
      ("a.db-flotilla/keys", "750", "700"), ("a.db-flotilla", "701", "700"),
    ]

    @Test func `of a file that is too long for a key no more is read`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        try await desk.succeed("export-site-key", "a.db", "key.txt")
        let key = try String(contentsOfFile: desk.folder + "/key.txt", encoding: .utf8)
        try await desk.succeed("import-site-key", "a.db", "key.txt")
        let remarks = String(repeating: "# a remark\n", count: 6_000)
        try (key + remarks).write(
          toFile: desk.folder + "/long.txt", atomically: true, encoding: .utf8)
        let outcome = try await desk.flotilla("import-site-key", "a.db", "long.txt")
        #expect(outcome.status == 1 && outcome.error.contains("File too large"), "\(outcome)")
      }
    }

    @Test(arguments: secrets)
    func `no command works with a key that others may read`(
      _ file: String, _ mode: String, _ right: String
    ) async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        _ = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        try await desk.succeed("invite", "a.db")
        try await desk.succeed("stop", "a.db")
        #expect(try await desk.run("chmod", mode, file).status == 0)
        for words in [
          ["run"], ["run", "--background"], ["status"], ["invite"], ["peers"], ["members"],
          ["sync"], ["wait"], ["track", "t"], ["rule"], ["revoke", "x"], ["leave"],
          ["export-site-key", "out"], ["sql", "SELECT 1"],
        ] {
          let outcome = try await desk.run(
            ["flotilla", words[0], "a.db"] + words.dropFirst(), within: 20)
          #expect(outcome.status == 1, "\(words): \(outcome)")
          #expect(
            outcome.error.contains("chmod \(right) \(desk.folder)/\(file)"), "\(words): \(outcome)")
        }
        #expect(try desk.names("out").isEmpty)
        let doctor = try await desk.flotilla("doctor", "a.db")
        #expect(doctor.status == 1)
        #expect(doctor.output.contains("chmod \(right) \(desk.folder)/\(file)"))
        try await desk.succeed("doctor", "a.db", "--repair")
        let now = try await desk.run("stat", "-c", "%a", file)
        #expect(now.output == right)
        #expect(try await desk.flotilla("status", "a.db").status == 0)
      }
    }

    @Test func `an init that fails takes no folder away that it has not made`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        // Where the lock should be there is a folder.
        let script = """
          mkdir -m 700 a.db-flotilla a.db-flotilla/keys a.db-flotilla/lock
          echo precious > a.db-flotilla/keys/site.key; chmod 600 a.db-flotilla/keys/site.key
          flotilla init a.db --all; echo status $?
          cat a.db-flotilla/keys.old/site.key; rmdir a.db-flotilla/lock
          flotilla init a.db --all >&2; echo status $?
          cat a.db-flotilla/keys.old/site.key
          """
        let outcome = try await desk.run("sh", "-c", script)
        let lines = outcome.output.split(separator: "\n")
        #expect(lines == ["status 1", "precious", "status 0", "precious"], "\(outcome)")
        // What it has made it takes away.
        try await desk.make("b.db")
        let other = try await desk.run(
          "sh", "-c", "chmod 400 b.db; flotilla init b.db --track nothing; ls -d b.db-*")
        #expect(!other.output.contains("b.db-flotilla"), "\(other)")
      }
    }

    @Test func `keys are put into no folder to which a link leads, or that is open`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        let script = """
          mkdir trap; ln -s trap a.db-flotilla; flotilla init a.db --all; echo status $?; ls -A trap
          rm a.db-flotilla; mkdir -m 755 a.db-flotilla; flotilla init a.db --all; echo status $?
          ls -A a.db-flotilla
          """
        let outcome = try await desk.run("sh", "-c", script)
        #expect(outcome.output.split(separator: "\n") == ["status 1", "status 1"], "\(outcome)")
        #expect(outcome.error.contains("symbolic link"), "\(outcome)")
        #expect(outcome.error.contains("chmod 700"), "\(outcome)")
      }
    }

    /// The owner of the folder waits for root to say a command.
    @Test func `nothing is written where a link beside the database leads`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        let background = "run a.db --background --no-discovery --listen 127.0.0.1:0"
        for (name, words) in [
          ("ledger", "sync a.db"), ("lock", "sync a.db"), ("node.log", background),
          ("tokens.json.lock", "token a.db add desk"),
        ] {
          let place = "a.db-flotilla/\(name)"
          let script = """
            rm -f \(place); echo root:x:0:0 >passwd; ln -s ../passwd \(place)
            flotilla \(words); echo status $?; cat passwd
            rm \(place); ln -s ../none \(place); flotilla \(words); echo status $?; ls none
            rm \(place); mkfifo \(place); flotilla \(words); echo status $?; rm \(place)
            """
          let outcome = try await desk.run("sh", "-c", script, within: 60)
          #expect(
            outcome.output.split(separator: "\n")
              == ["status 1", "root:x:0:0", "status 1", "status 1"], "\(name): \(outcome)")
          #expect(
            outcome.error.contains("\(place)")
              && outcome.error.contains("it is a link, or no file"),
            "\(name): \(outcome)")
        }
        try await desk.succeed("token", "a.db", "add", "desk")
        #expect(try await desk.flotilla("status", "a.db").status == 0)
      }
    }

    @Test func `nothing is written where the folder beside the database is a link`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        let script = """
          mv a.db-flotilla trap; ln -s trap a.db-flotilla; ls -A --full-time trap >before
          flotilla sync a.db; echo status $?; flotilla token a.db add desk; echo status $?
          ls -A --full-time trap | diff before - && echo same
          rm a.db-flotilla; mv trap a.db-flotilla; flotilla token a.db add desk >/dev/null
          echo status $?
          """
        let outcome = try await desk.run("sh", "-c", script, within: 60)
        #expect(
          outcome.output.split(separator: "\n")
            == ["status 1", "status 1", "same", "status 0"], "\(outcome)")
        #expect(outcome.error.contains("its folder is a link"), "\(outcome)")
      }
    }

    @Test func `a command that was killed leaves one copy of a key at most`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        // What one that was killed before it had renamed its file has left.
        let script = """
          echo left >.out.flotilla-new; echo mine >out.new
          flotilla export-site-key a.db out; flotilla export-site-key a.db "$PWD/out"
          ls -A | grep out; cat out.new
          """
        let outcome = try await desk.run("sh", "-c", script)
        #expect(
          outcome.output.split(separator: "\n").suffix(3) == ["out", "out.new", "mine"],
          "\(outcome)")
      }
    }

    @Test func `a node answers though others have made the folder for its socket`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        let script = """
          mkdir -p run/flotilla; chmod 755 run/flotilla; export XDG_RUNTIME_DIR=$PWD/run
          flotilla init a.db --all && flotilla run a.db --background --listen 127.0.0.1:0
          ls a.db-flotilla | grep sock; flotilla stop a.db; echo stopped $?
          """
        let outcome = try await desk.run("sh", "-c", script)
        #expect(outcome.output.contains("control.sock"), "\(outcome)")
        #expect(outcome.output.contains("stopped 0"), "\(outcome)")
      }
    }

    @Test func `a database that is made is for its owner alone, one that is there keeps its mode`()
      async throws
    {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let codes = [
          try await desk.succeed("invite", "a.db"), try await desk.succeed("invite", "a.db"),
        ]
        let script = """
          umask 000; sqlite3 kept.db 'CREATE TABLE mine(x)'; chmod 640 kept.db; touch empty.db
          flotilla init new.db --all; flotilla init kept.db
          ln -s target.db link.db; flotilla init link.db --all
          flotilla join joined.db \(codes[0]) --at \(node.address) --name third
          flotilla join empty.db \(codes[1]) --at \(node.address) --name fourth
          for name in new joined kept; do
            flotilla run $name.db --background --no-discovery --listen 127.0.0.1:0
            sqlite3 $name.db 'CREATE TABLE more(id INTEGER PRIMARY KEY)'
            stat -c '%a %n' $name.db $name.db-shm $name.db-wal; flotilla stop $name.db
          done
          stat -c '%a %n' empty.db target.db
          """
        let outcome = try await desk.run("sh", "-c", script, within: 120)
        let modes = outcome.output.split(separator: "\n").filter { $0.contains(#/^6\d\d /#) }
        #expect(
          modes == [
            "600 new.db", "600 new.db-shm", "600 new.db-wal",
            "600 joined.db", "600 joined.db-shm", "600 joined.db-wal",
            "640 kept.db", "640 kept.db-shm", "640 kept.db-wal",
            "666 empty.db", "600 target.db",
          ], "\(outcome)")
      }
    }

    @Test func `keys are made for their owner alone, whatever the umask`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        let script = """
          umask 000; touch out.new; chmod 666 out.new
          flotilla init a.db --all && timeout 5 flotilla invite a.db --ttl 1s
          flotilla export-site-key a.db out; stat -c '%a %n' a.db-flotilla a.db-flotilla/keys \
            a.db-flotilla/keys/* out
          """
        let outcome = try await desk.run("sh", "-c", script)
        let modes = outcome.output.split(separator: "\n").suffix(6)
        #expect(
          modes == [
            "700 a.db-flotilla", "700 a.db-flotilla/keys",
            "600 a.db-flotilla/keys/invitations.json", "600 a.db-flotilla/keys/node.key",
            "600 a.db-flotilla/keys/site.key", "600 out",
          ], "\(outcome)")
        // A file of the user's that has nearly the same name.
        #expect(try desk.names("out").sorted() == ["out", "out.new"])
      }
    }

    @Test func `all that a node makes is for its owner alone, whatever the umask`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        let script = """
          umask 000; flotilla init a.db --all --name first
          timeout 5 flotilla invite a.db --ttl 1s >/dev/null
          flotilla run a.db --background --no-discovery --listen 127.0.0.1:0
          port=$(sed -n 's/.*listens on port \\([0-9]*\\).*/\\1/p' a.db-flotilla/node.log | tail -1)
          flotilla join b.db $(flotilla invite a.db) --at 127.0.0.1:$port --name second
          flotilla run b.db --background --no-discovery --peer 127.0.0.1:$port; flotilla sync a.db
          find a.db-flotilla b.db-flotilla run/flotilla -printf '%y %m %p\n' | sort
          flotilla stop a.db; flotilla stop b.db
          find a.db-flotilla b.db-flotilla run/flotilla -printf '%y %m %p\n' | sort
          """
        let outcome = try await desk.run("sh", "-c", script, within: 60)
        let made = outcome.output.split(separator: "\n").filter { $0.contains(#/^[dfs] \d+ /#) }
        for name in ["socket", "lock", "node.log", "node.json", "keys/invitations.json"] {
          #expect(made.contains("f 600 a.db-flotilla/\(name)"), "\(name): \(outcome)")
        }
        #expect(made.count { $0.hasPrefix("s 600 run/flotilla/") } == 2, "\(outcome)")
        let open = made.filter { !$0.contains(#/^(d 700|[fs] 600) /#) }
        #expect(open.isEmpty, "\(open)")
      }
    }

    /// A user of the machine who owns a database, and no other file here.
    private static let clinic = "65534"
    /// What he says in the folder, which is his, too.
    private func say(_ words: String..., in desk: Desk) async throws -> Outcome {
      try await desk.run(
        [
          "setpriv", "--reuid=\(Self.clinic)", "--regid=\(Self.clinic)", "--clear-groups", "env",
          "XDG_RUNTIME_DIR=\(desk.folder)", "flotilla",
        ] + words)
    }

    @Test(.enabled(if: getuid() == 0, "only root can become another user"))
    func `what root makes beside a database belongs to the owner of the database`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.make("b.db")
        #expect(chown(desk.folder, 65_534, 65_534) == 0)
        let script = """
          chown \(Self.clinic):\(Self.clinic) a.db b.db
          set -e
          flotilla init a.db --all --name first
          flotilla run a.db --background --no-discovery --listen 127.0.0.1:0
          port=$(sed -n 's/.*listens on port \\([0-9]*\\).*/\\1/p' a.db-flotilla/node.log | tail -1)
          code=$(flotilla invite a.db)
          flotilla join b.db $code --at 127.0.0.1:$port --name second
          flotilla export-site-key a.db key.txt
          flotilla token a.db add desk
          flotilla sync b.db 127.0.0.1:$port
          find a.db* b.db* ! \\( -user \(Self.clinic) -group \(Self.clinic) \\)
          flotilla stop a.db
          rm a.db-flotilla/ledger b.db-flotilla/ledger
          flotilla sync a.db || true; flotilla sync b.db || true
          find a.db* b.db* ! \\( -user \(Self.clinic) -group \(Self.clinic) \\)
          stat -c '%u %n' key.txt a.db-flotilla/ledger
          """
        let outcome = try await desk.run("sh", "-c", script, within: 120)
        let found = outcome.output.split(separator: "\n")
        #expect(!found.contains { $0.hasPrefix("a.db") || $0.hasPrefix("b.db") }, "\(outcome)")
        #expect(found.suffix(2) == ["0 key.txt", "65534 a.db-flotilla/ledger"], "\(outcome)")
        for name in ["a.db", "b.db"] {
          let status = try await say("status", name, "--json", in: desk)
          #expect(status.output.contains(#""running":false"#), "\(status)")
        }
      }
    }

    @Test(.enabled(if: getuid() == 0, "only root can become another user"))
    func `a note that its owner cannot read is not damaged, and nothing is taken out for it`()
      async throws
    {
      try await Desk.with { desk in
        try await desk.make("a.db")
        let script = """
          flotilla init a.db --all && chown -R \(Self.clinic) a.db* .
          chown 0 a.db-flotilla/node.json
          """
        #expect(try await desk.run("sh", "-c", script).status == 0)
        let note = desk.path("a.db-flotilla/node.json")
        for outcome in [
          try await say("status", "a.db", in: desk),
          try await say("leave", "a.db", "--force", in: desk),
        ] {
          #expect(outcome.status == 1)
          #expect(outcome.error.contains("cannot read \(note): Permission denied"), "\(outcome)")
          #expect(
            outcome.error.contains("sudo chown --reference=\(desk.path("a.db")) \(note)"),
            "\(outcome)")
        }
        #expect(access(desk.path("a.db-flotilla/keys/site.key"), F_OK) == 0)
        #expect(chown(note, 65_534, 65_534) == 0)
        let status = try await say("status", "a.db", "--json", in: desk)
        #expect(status.output.contains(#""running":false"#), "\(status)")
      }
    }

    @Test(.enabled(if: access("/usr/bin/strace", X_OK) == 0, "there is no strace here"))
    func `a new name is on disk before a command tells that it is done`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        for (words, renamed) in [
          (["init", "a.db", "--all"], "a.db-flotilla/keys/site.key"),
          (["export-site-key", "a.db", "out"], "out"),
          (["token", "a.db", "add", "desk"], "a.db-flotilla/tokens.json"),
        ] {
          let outcome = try await desk.run(
            ["strace", "-f", "-y", "-o", "calls", "-e", "trace=rename,renameat,renameat2,fsync"]
              + ["flotilla"] + words)
          #expect(outcome.status == 0, "\(outcome)")
          // renameat(7</folder>, "new", 7</folder>, "name")
          let calls = try String(contentsOfFile: desk.path("calls"), encoding: .utf8)
            .replacing(">, \"", with: "/").split(separator: "\n")
          let place = try #require(
            calls.firstIndex { $0.contains("rename") && $0.contains("\(renamed)\")") }, "\(calls)")
          let folder = URL(filePath: desk.path(renamed)).deletingLastPathComponent().path
          #expect(
            calls[place...].contains { $0.contains("fsync(") && $0.contains("<\(folder)>") },
            "\(calls)")
          if renamed == "out" {
            // That it was exported is noted after that.
            let noted = calls.lastIndex { $0.contains("rename") && $0.contains("node.json\")") }
            let synced = calls.firstIndex { $0.contains("fsync(") && $0.contains("<\(folder)>") }
            #expect(try #require(noted) > #require(synced), "\(calls)")
          }
        }
      }
    }

    @Test(.enabled(if: getuid() == 0, "only root can become another user"))
    func `another user is not answered on the control socket`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let socket = try String(contentsOfFile: desk.path("a.db-flotilla/socket"), encoding: .utf8)
        let talk = """
          import socket, sys
          stream = socket.socket(socket.AF_UNIX)
          try:
              stream.connect(sys.argv[1])
              stream.sendall(b'{"command":"stop"}\\n')
              print(stream.recv(100))
          except OSError as error:
              print(type(error).__name__)
          """
        let become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        let ask = become + ["python3", "-c", talk, socket]
        #expect(try await desk.run(ask).output == "PermissionError")
        // And if somebody had opened the folders and the socket, the kernel tells who asks.
        for (place, mode) in [
          (desk.folder, "755"), ("run", "755"), ("run/flotilla", "755"), (socket, "666"),
        ] { #expect(try await desk.run("chmod", mode, place).status == 0) }
        let answer = try await desk.run(ask).output
        #expect(["b''", "ConnectionResetError", "BrokenPipeError"].contains(answer), "\(answer)")
        #expect(node.isRunning)
        chmod(desk.path("run/flotilla"), 0o700)
        #expect(try await desk.flotilla("status", "a.db").status != 1)
      }
    }
  }
}
