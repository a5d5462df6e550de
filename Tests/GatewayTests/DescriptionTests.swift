import Foundation
import Testing

@testable import Gateway

/// The OpenAPI description of a database.
@Suite(.timeLimit(.minutes(5))) struct `The description` {
  private static let schema = """
    CREATE TABLE patient(id TEXT PRIMARY KEY NOT NULL, ward TEXT NOT NULL, age INTEGER, photo BLOB,
      old INTEGER AS (age > 65));
    CREATE TABLE "odd {name}/%"(a INTEGER, "b,{c}" REAL, PRIMARY KEY (a, "b,{c}"));
    CREATE TABLE hidden(id INTEGER PRIMARY KEY, secret_column TEXT);
    """

  private func described(
    tables: String? = nil, _ body: ([String: Any], String) throws -> Void
  ) async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: node.port, token: try await place.token("a.db", tables: tables))
      let answer = try await client.ask("GET", "/v1/a/openapi.json")
      #expect(answer.status == 200 && answer.header("content-type") == "application/json")
      try body(answer.object, answer.body)
      #expect(try await client.ask("GET", "/v1/a/openapi.json?x").status == 400)
      #expect(try await client.ask("POST", "/v1/a/openapi.json", body: "{}").status == 405)
      #expect(try await RawClient(port: node.port).ask("GET", "/v1/a/openapi.json").status == 401)
      try await node.stop()
    }
  }

  private func part(_ object: Any?, _ path: String...) -> Any? {
    path.reduce(object) { ($0 as? [String: Any])?[$1] }
  }

  /// Everything in it that is called so.
  private func all(_ name: String, in value: Any) -> [Any] {
    switch value {
    case let object as [String: Any]:
      object.flatMap { ($0.key == name ? [$0.value] : []) + all(name, in: $0.value) }
    case let list as [Any]: list.flatMap { all(name, in: $0) }
    default: []
    }
  }

  @Test func `is whole: each reference leads somewhere, each part of a path is named`()
    async throws
  {
    try await described { object, _ in
      #expect(object["openapi"] as? String == "3.1.0")
      #expect(part(object, "info", "version") as? String == "1")
      let references = all("$ref", in: object).compactMap { $0 as? String }
      #expect(references.count > 20)
      for reference in Set(references) {
        let steps = reference.split(separator: "/").map(String.init)
        #expect(steps.first == "#")
        let target = steps.dropFirst().reduce(object as Any?) { ($0 as? [String: Any])?[$1] }
        #expect(target != nil, "\(reference)")
      }
      let paths = try #require(object["paths"] as? [String: [String: Any]])
      for (path, item) in paths {
        let names = Set(path.matches(of: /\{([^}]*)\}/).map { String($0.1) })
        let own = (item["parameters"] as? [[String: Any]] ?? []).compactMap {
          $0["name"] as? String
        }
        #expect(names == Set(own), "\(path)")
        for (method, operation) in item where !["parameters", "servers"].contains(method) {
          #expect(["get", "post", "put", "patch", "delete"].contains(method))
          let responses = part(operation, "responses") as? [String: [String: Any]] ?? [:]
          #expect(!responses.isEmpty)
          for response in responses.values {
            #expect(response["description"] != nil || response["$ref"] != nil, "\(path)")
          }
        }
      }
      for schemas in ["schemas", "parameters", "responses"] {
        let names = part(object, "components", schemas) as? [String: Any] ?? [:]
        #expect(names.keys.allSatisfy { $0.wholeMatch(of: /[A-Za-z0-9._-]+/) != nil })
      }
    }
  }

  @Test func `says of each table what its rows are made of`() async throws {
    try await described { object, _ in
      let paths = try #require(object["paths"] as? [String: [String: Any]])
      #expect(
        Set(paths["/rows/patient"]?.keys.map { $0 } ?? []) == ["get", "post", "patch", "delete"])
      #expect(
        Set(paths["/rows/patient/{key}"]?.keys.map { $0 } ?? [])
          == ["get", "put", "patch", "delete", "parameters"])
      #expect(paths["/rows/odd%20%7Bname%7D%2F%25/{key}"] != nil)
      #expect(paths["/status"] != nil && paths["/conflicts/{id}/restore"] != nil)
      // What does not begin with the database says so.
      for path in ["/health", "/ready", "/metrics", "/v1/session"] {
        let servers = paths[path]?["servers"] as? [[String: String]]
        #expect(servers == [["url": "/"]], "\(path)")
      }
      #expect(part(paths["/clock"], "post", "requestBody") != nil)
      let row = part(object, "components", "schemas", "row.patient", "properties")
      let columns = try #require(row as? [String: [String: Any]])
      #expect(Set(columns.keys) == ["id", "ward", "age", "photo", "old"])
      #expect(columns["old"]?["readOnly"] as? Bool == true && columns["age"]?["readOnly"] == nil)
      #expect(columns["age"]?["description"] as? String == "INTEGER")
      let new = try #require(part(paths["/rows/patient"], "post"))
      let required = all("required", in: new).compactMap { $0 as? [String] }
      #expect(required.first == ["id", "ward"])
    }
  }

  @Test func `names nothing that the token may not read`() async throws {
    try await described(tables: "patient=read") { object, text in
      let paths = try #require(object["paths"] as? [String: [String: Any]])
      #expect(
        Set(paths.keys) == [
          "/rows/patient", "/rows/patient/{key}", "/tables", "/query", "/changes",
          "/receipts/{id}", "/health", "/ready", "/v1/session",
        ])
      #expect(Set(paths["/rows/patient"]?.keys.map { $0 } ?? []) == ["get"])
      #expect(Set(paths["/rows/patient/{key}"]?.keys.map { $0 } ?? []) == ["get", "parameters"])
      for word in ["hidden", "secret", "odd"] { #expect(!text.contains(word)) }
    }
  }
}
