import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// What `doctor` says of the machine, and what it writes for somebody who helps.
  @Suite struct DoctorTests {
    @Test func `writes a file for helpers that has no rows and no keys in it`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.sql("a.db", "INSERT INTO t VALUES ('secret key', 'secret text')")
        try await desk.succeed("init", "a.db", "--all")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let port = try #require(node.address.split(separator: ":").last)
        // What a command of the operator has printed.
        let log = try #require(FileHandle(forWritingAtPath: node.log))
        try log.seekToEnd()
        try log.write(contentsOf: Data("{\"row\":\"secret\"}\nsecret\n".utf8))
        let said = try await desk.flotilla("doctor", "a.db", "--bundle", "help.json")
        #expect(said.status == 0 && said.error.contains("wrote help.json"), "\(said)")
        #expect(said.output.contains("a node runs on port \(port);"), "\(said)")
        #expect(said.output.contains("ok       disk"), "\(said)")
        let path = desk.path("help.json")
        let data = try Data(contentsOf: URL(filePath: path))
        let parts = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(
          Set(parts.keys) == [
            "made", "version", "machine", "doctor", "status", "members", "tables", "anchor",
            "schema", "log", "log_before", "journal",
          ])
        let text = String(decoding: data, as: UTF8.self)
        #expect(text.contains("CREATE TABLE t") && !text.contains("secret"))
        for key in try keys(desk) { #expect(!text.contains(key)) }
        #expect(!text.contains(#"{"error""#), "\(text)")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let again = try await desk.flotilla("doctor", "a.db", "--bundle", "help.json")
        #expect(again.status == 1 && again.error.contains("File exists"), "\(again)")
        #expect(try Data(contentsOf: URL(filePath: path)) == data)
        try await desk.succeed("stop", "a.db")
        try desk.write("a.db", Data(repeating: 7, count: 4_096))
        let broken = try await desk.flotilla("doctor", "a.db", "--bundle", "broken.json")
        #expect(broken.status == 1, "\(broken)")
        let rest = try String(contentsOfFile: desk.path("broken.json"), encoding: .utf8)
        #expect(rest.contains(#""doctor":{"findings""#) && rest.contains(#""status":{"error""#))
        let nowhere = try await desk.flotilla("doctor", "a.db", "--bundle", "no/help.json")
        #expect(nowhere.status == 1 && nowhere.error.contains("No such file"), "\(nowhere)")
      }
    }

    /// What is in the files of the folder beside the database that hold secrets.
    private func keys(_ desk: Desk) throws -> [String] {
      let folder = desk.path("a.db-flotilla/keys")
      let files = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(!files.isEmpty)
      return try files.map { file in
        let lines = try String(contentsOfFile: folder + "/" + file, encoding: .utf8)
          .split(separator: "\n")
        try #require(lines.count == 3)
        return String(lines[1])
      }
    }

    @Test func `tells of a disk with no room`() async throws {
      try await Desk.with { desk in
        let small = desk.path("small")
        try FileManager.default.createDirectory(atPath: small, withIntermediateDirectories: true)
        // Only root may; where nobody may, this cannot be tried.
        let mount = ["mount", "-t", "tmpfs", "-o", "size=20m", "none", small]
        guard try await desk.run(mount).status == 0 else { return }
        defer { umount2(small, Int32(MNT_DETACH)) }
        try await desk.make("small/a.db")
        try await desk.succeed("init", "small/a.db", "--all")
        let said = try await desk.flotilla("doctor", "small/a.db")
        #expect(said.status == 0 && said.output.contains("warning  disk"), "\(said)")
        #expect(said.output.contains(" MB free"), "\(said)")
      }
    }
  }
}
