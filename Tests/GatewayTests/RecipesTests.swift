import Foundation
import Testing

/// The programs on the page of recipes, as they stand there.
@Suite(.serialized) struct `Recipes` {
  private static let page = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/recipes.md")

  /// Puts each block that begins with a name into a file of that name; gives the names.
  private static func unpack(into place: Workplace) throws -> Set<String> {
    let text = try String(contentsOf: page, encoding: .utf8)
    var names: Set<String> = []
    for block in text.matches(of: /(?s)```[a-z]+\n(?:<\?php )?(?:#|\/\/|--) ([a-z.]+)\n.*?```/) {
      let code = block.0.drop { $0 != "\n" }.dropFirst().dropLast(3)
      try String(code).write(
        toFile: place.path(String(block.1)), atomically: true, encoding: .utf8)
      names.insert(String(block.1))
    }
    return names
  }

  private static func isThere(_ program: String) -> Bool {
    FileManager.default.isExecutableFile(atPath: "/usr/bin/\(program)")
  }

  @Test func `can be copied and run`() async throws {
    try await Workplace.with { place in
      let names = try Self.unpack(into: place)
      #expect(
        names == [
          "schema.sql", "till.py", "stock.sql", "page.php", "settings.py", "board.mjs",
          "kitchen.sh", "configuration.yaml",
        ])
      try await place.found("till.db", ".read schema.sql")
      let served = try await place.serve("till.db", "--http", "127.0.0.1:0")
      let address = "http://127.0.0.1:\(served.port)"
      let token = try await place.token("till.db")
      let environment = ["env", "URL=\(address)", "TOKEN=\(token)"]
      let board = Self.isThere("node") ? try place.begin(environment + ["node", "board.mjs"]) : nil
      let kitchen = try place.begin(["sh", "kitchen.sh"])
      let isFollowing = try await eventually {
        FileManager.default.fileExists(atPath: place.path("kitchen.place"))
      }
      #expect(isFollowing)

      let (status, sale) = try await place.run("python3", "till.py")
      #expect(status == 0 && sale.count == 36, "\(sale)")
      try await place.sql("till.db", ".read stock.sql")
      #expect(try await place.sql("till.db", "SELECT * FROM stock") == "rope|8\nsail|2")
      let isPrinted = try await eventually {
        let lines = try? String(contentsOfFile: place.path("kitchen.txt"), encoding: .utf8)
        return Set(lines?.split(separator: "\n") ?? []) == ["2 rope", "1 sail"]
      }
      #expect(isPrinted, "\(kitchen.text)")
      if let board {
        var sold = 0
        let isShown = try await eventually {
          // It follows from some moment on: what is sold after that it shows.
          if sold < 20 { _ = try await place.run("python3", "till.py", "rope") }
          sold += 1
          return board.text.contains("first rope 1")
        }
        #expect(isShown, "\(board.text)")
      }
      if Self.isThere("php") {
        let left = try await place.sql(
          "till.db", "SELECT remaining FROM stock WHERE article = 'rope'")
        let (status, said) = try await place.run("php", "page.php", "500")
        let rope = try #require(Int(left)) + 500
        #expect(status == 0 && said == "rope: \(rope)\nsail: 2", "\(said)")
      }
      let yaml = try String(contentsOfFile: place.path("configuration.yaml"), encoding: .utf8)
      let resource = try #require(yaml.firstMatch(of: /resource: http:\/\/[^\/]*(\/\S+)/)).1
      let answer = try await place.run(
        "curl", "-sS", "-H", "Authorization: Bearer \(token)", address + resource)
      #expect(answer.status == 0 && answer.text.contains(#""bought":1"#), "\(answer.text)")
    }
  }

  @Test func `of Django are settings that it takes`() async throws {
    let place = "/usr/lib/python3/dist-packages/django"
    guard FileManager.default.fileExists(atPath: place) else { return }
    try await Workplace.with { place in
      _ = try Self.unpack(into: place)
      try await place.found("till.db", ".read schema.sql")
      let script = """
        import django, os
        os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
        django.setup()
        from django.db import connection
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM article")
            print(cursor.fetchone()[0])
        """
      let (status, said) = try await place.run(
        "env", "PYTHONPATH=\(place.folder)", "python3", "-B", "-c", script)
      #expect(status == 0 && said == "2", "\(said)")
    }
  }
}
