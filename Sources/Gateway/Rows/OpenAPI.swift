import Flotilla
import SQLite

/// What a client may ask of a database, as OpenAPI 3.1 says it; made from the schema that the file
/// has now, and for one token: of tables that it may not read there is nothing.
struct OpenAPI {
  /// One table, and whether the client may write it.
  struct Table {
    var shape: TableShape
    var isWritable: Bool
  }

  let name: String
  let tables: [Table]
  /// Whether the token may read every table, and so know how the site is.
  let seesSite: Bool
  /// And write every one, and so settle conflicts.
  let settles: Bool

  static let longest = 16 << 20

  static func answer(
    _ database: GatewayDatabase, for token: AccessToken
  ) async throws(Problem) -> HTTPResponse {
    let tables = try await TableList.readable(database, for: token).map {
      Table(shape: $0.shape, isWritable: $0.right == .write)
    }
    let response = HTTPResponse.json(
      OpenAPI(
        name: database.name, tables: tables, seesSite: token.readsAll, settles: token.writesAll
      ).document)
    guard response.body.count <= longest else {
      throw Problem(
        422, "too-large", "the description of \(tables.count) tables has more than 16 MiB",
        remedy: "Ask with a token for fewer tables.")
    }
    return response
  }

  var document: JSON {
    [
      "openapi": "3.1.0",
      "info": [
        "title": .text(name), "version": "1",
        "summary": "Rows of a Flotilla database, and the state of its site.",
      ],
      "servers": [["url": .text("/v1/" + RequestTarget.encoded(name))]],
      "security": [["token": []]],
      "paths": .object(paths),
      "components": [
        "securitySchemes": ["token": ["type": "http", "scheme": "bearer"]],
        "schemas": .object(schemas), "parameters": Self.parameters,
        "responses": ["problem": Self.problem],
      ],
    ]
  }

  private var paths: [String: JSON] {
    var paths: [String: JSON] = [
      "/tables": ["get": Self.reading("The tables that the token may read.")],
      "/query": ["post": Self.query],
      "/changes": ["get": Self.changes],
      "/receipts/{id}": [
        "get": Self.receipt, "parameters": [Self.inPath("id")],
      ],
    ]
    paths.merge(ofTheGateway) { own, _ in own }
    if seesSite { paths.merge(ofTheSite) { own, _ in own } }
    if settles { paths.merge(thatSettle) { own, _ in own } }
    for (index, table) in tables.enumerated() {
      let path = "/rows/" + RequestTarget.encoded(table.shape.name)
      let part = TablePart(table: table, schema: Self.reference(to: table.shape, index))
      paths[path] = part.collection
      paths[path + "/{key}"] = part.single
    }
    return paths
  }

  static func inPath(_ name: String, _ type: String = "string") -> JSON {
    ["name": .text(name), "in": "path", "required": true, "schema": ["type": .text(type)]]
  }

  private static let changes: JSON = [
    "summary": "Which rows have changed after a cursor, or from now on.",
    "parameters": [
      ["name": "since", "in": "query", "schema": ["type": "string"]],
      ["name": "tables", "in": "query", "schema": ["type": "string"]],
      ["name": "wait", "in": "query", "schema": ["type": "integer", "maximum": 60]],
      ["name": "Last-Event-ID", "in": "header", "schema": ["type": "string"]],
    ],
    "responses": [
      "200": [
        "description": "Some of them; or, by Accept, all that come, without end.",
        "content": [
          "application/json": [
            "schema": [
              "type": "object", "required": ["changes", "cursor"],
              "properties": [
                "changes": ["type": "array", "items": ["$ref": "#/components/schemas/change"]],
                "cursor": ["type": "string"],
              ],
            ]
          ],
          "text/event-stream": ["schema": ["type": "string"]],
          "application/x-ndjson": ["schema": ["type": "string"]],
        ],
      ],
      "410": ["$ref": "#/components/responses/problem"],
      "default": ["$ref": "#/components/responses/problem"],
    ],
  ]

  private static let receipt: JSON = [
    "summary": "What has become of a write.",
    "parameters": [["$ref": "#/components/parameters/prefer"]],
    "responses": [
      "200": [
        "description": "What the anchor says of it by now.",
        "content": ["application/json": ["schema": ["$ref": "#/components/schemas/verdict"]]],
      ],
      "default": ["$ref": "#/components/responses/problem"],
    ],
  ]

  private var schemas: [String: JSON] {
    var schemas = Self.usual
    for (index, table) in tables.enumerated() {
      schemas[Self.schemaName(of: table.shape, index)] = TablePart.row(of: table.shape)
    }
    return schemas
  }

  /// A name that a description may have: "objects that MUST use keys that match the regular
  /// expression: ^[a-zA-Z0-9\.\-_]+$" (OpenAPI 3.1.0, Components Object).
  private static func schemaName(of shape: TableShape, _ index: Int) -> String {
    let isPlain =
      !shape.name.isEmpty
      && shape.name.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x5F
      }
    return isPlain ? "row." + shape.name : "table.\(index + 1)"
  }

  private static func reference(to shape: TableShape, _ index: Int) -> JSON {
    ["$ref": .text("#/components/schemas/" + schemaName(of: shape, index))]
  }

  private static var query: JSON {
    [
      "summary": "Runs one SQL statement that reads.",
      "requestBody": [
        "required": true,
        "content": ["application/json": ["schema": ["$ref": "#/components/schemas/query"]]],
      ],
      "responses": [
        "200": [
          "description": "The rows; more is true if there are others.",
          "content": ["application/json": ["schema": ["$ref": "#/components/schemas/result"]]],
        ],
        "default": ["$ref": "#/components/responses/problem"],
      ],
    ]
  }
}

extension JSON: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral,
  ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral
{
  package init(dictionaryLiteral pairs: (String, JSON)...) {
    self = .object(Dictionary(pairs) { first, _ in first })
  }
  package init(arrayLiteral elements: JSON...) { self = .array(elements) }
  package init(stringLiteral text: String) { self = .text(text) }
  package init(booleanLiteral isTrue: Bool) { self = .bool(isTrue) }
  package init(integerLiteral number: Int) { self = .number(String(number)) }
}
