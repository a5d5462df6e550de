import Flotilla

extension OpenAPI {
  /// What a description says of one table.
  struct TablePart {
    let table: Table
    /// A reference to the schema of its rows.
    let schema: JSON

    private var shape: TableShape { table.shape }
    private var problem: JSON { ["$ref": "#/components/responses/problem"] }

    private static func parameters(_ names: String...) -> JSON {
      .array(names.map { ["$ref": .text("#/components/parameters/" + $0)] })
    }

    private static func json(_ schema: JSON) -> JSON { ["application/json": ["schema": schema]] }

    /// `/rows/TABLE`
    var collection: JSON {
      var methods: [String: JSON] = [
        "get": [
          "summary": .text("Rows of \(shape.name)."),
          "parameters": Self.parameters("filter", "select", "order", "limit", "next"),
          "responses": [
            "200": [
              "description": "One page.",
              "headers": [
                "Link": [
                  "description": "The next page, if there is one: rel=\"next\".",
                  "schema": ["type": "string"],
                ]
              ],
              "content": Self.json(["type": "array", "items": schema]),
            ],
            "default": problem,
          ],
        ]
      ]
      guard table.isWritable else { return .object(methods) }
      let new = Self.new(schema, shape)
      methods["post"] = [
        "summary": .text("Adds one row or several to \(shape.name)."),
        "parameters": Self.parameters("prefer", "idempotency-key"),
        "requestBody": [
          "required": true,
          "content": Self.json(["oneOf": [new, ["type": "array", "items": new]]]),
        ],
        "responses": written("201", "It was added."),
      ]
      methods["patch"] = [
        "summary": .text("Changes the rows of \(shape.name) that a filter finds."),
        "parameters": Self.parameters("filter", "prefer", "idempotency-key"),
        "requestBody": ["required": true, "content": Self.json(schema)],
        "responses": written("200", "So many rows were changed."),
      ]
      methods["delete"] = [
        "summary": .text("Removes the rows of \(shape.name) that a filter finds."),
        "parameters": Self.parameters("filter", "prefer", "idempotency-key"),
        "responses": written("200", "So many rows were removed."),
      ]
      return .object(methods)
    }

    /// `/rows/TABLE/KEY`
    var single: JSON {
      let names = shape.keyColumns.map(\.name).joined(separator: ",")
      var methods: [String: JSON] = [
        "parameters": [
          [
            "name": "key", "in": "path", "required": true, "schema": ["type": "string"],
            "description": .text("\(names); each part is encoded, a comma within one is %2C."),
          ]
        ],
        "get": [
          "summary": .text("The row of \(shape.name) with this key."),
          "parameters": Self.parameters("if-none-match", "prefer-edit"),
          "responses": [
            "200": [
              "description": "The row.", "headers": ["ETag": ["schema": ["type": "string"]]],
              "content": Self.json(schema),
            ],
            "304": ["description": "The row is still the one that If-None-Match names."],
            "default": problem,
          ],
        ],
      ]
      guard table.isWritable else { return .object(methods) }
      let conditions = Self.parameters("if-match", "if-none-match", "prefer", "idempotency-key")
      let body: JSON = ["required": true, "content": Self.json(schema)]
      methods["put"] = [
        "summary": "Puts a whole row in this place.", "parameters": conditions,
        "requestBody": body, "responses": written("201", "It was made."),
      ]
      methods["patch"] = [
        "summary": "Changes the columns that are named.", "parameters": conditions,
        "requestBody": body, "responses": written("200", "It was changed."),
      ]
      methods["delete"] = [
        "summary": "Removes the row.", "parameters": conditions,
        "responses": written(nil, ""),
      ]
      return .object(methods)
    }

    private func written(_ status: String?, _ what: String) -> JSON {
      let headers: JSON = .object(
        Dictionary(
          ["ETag", "Flotilla-Verdict", "Flotilla-Receipt", "Idempotency-Replayed"].map {
            ($0, ["schema": ["type": "string"]])
          }
        ) { first, _ in first })
      let verdict: JSON = ["$ref": "#/components/schemas/verdict"]
      var answers: [String: JSON] = [
        "202": [
          "description": "It was done; the anchor has not judged it yet.", "headers": headers,
          "content": Self.json(verdict),
        ],
        "204": ["description": "It was done; there is nothing more to say.", "headers": headers],
        "409": [
          "description": "A constraint forbids it, or the anchor has rejected it.",
          "content": [
            "application/problem+json": [
              "schema": ["anyOf": [["$ref": "#/components/schemas/problem"], verdict]]
            ]
          ],
        ],
        "default": problem,
      ]
      if let status {
        answers[status] = [
          "description": .text(what), "headers": headers,
          "content": Self.json(["type": ["object", "array"]]),
        ]
      }
      return .object(answers)
    }

    private static func new(_ schema: JSON, _ shape: TableShape) -> JSON {
      let required = shape.columns.filter(\.isRequired).map { JSON.text($0.name) }
      return required.isEmpty ? schema : ["allOf": [schema, ["required": .array(required)]]]
    }

    /// The columns. SQLite keeps any value in any column of most tables: what was declared comes
    /// first, and whatever else there may be behind it.
    static func row(of shape: TableShape) -> JSON {
      var properties: [String: JSON] = [:]
      for column in shape.columns {
        var form: [String: JSON] = [
          "anyOf": .array(hints(column) + [["$ref": "#/components/schemas/value"]])
        ]
        if !column.type.isEmpty { form["description"] = .text(column.type) }
        if column.isGenerated { form["readOnly"] = true }
        properties[column.name] = .object(form)
      }
      let key = shape.keyColumns.map(\.name).joined(separator: ", ")
      return [
        "type": "object", "properties": .object(properties), "additionalProperties": false,
        "description": .text("A row of \(shape.name); its key is \(key)."),
      ]
    }

    private static func hints(_ column: TableShape.Column) -> [JSON] {
      let type = column.type.uppercased()
      if type.contains("INT") { return [["type": "integer"]] }
      if ["CHAR", "CLOB", "TEXT"].contains(where: type.contains) { return [["type": "string"]] }
      if ["REAL", "FLOA", "DOUB"].contains(where: type.contains) { return [["type": "number"]] }
      if type.contains("BLOB") { return [["$ref": "#/components/schemas/form"]] }
      return []
    }
  }
}

/// What is the same for every database.
extension OpenAPI {
  static var usual: [String: JSON] {
    [
      "value": [
        "description": "A value of SQLite; what a JSON number cannot say has a form.",
        "anyOf": [
          ["type": ["null", "number", "string", "boolean"]],
          ["$ref": "#/components/schemas/form"],
        ],
      ],
      "form": [
        "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
        "properties": [
          "base64": ["type": "string", "contentEncoding": "base64", "description": "A blob."],
          "base64_text": [
            "type": "string", "contentEncoding": "base64",
            "description": "A text that is not UTF-8.",
          ],
          "integer": ["type": "string", "pattern": "^-?[0-9]+$"], "real": ["type": "string"],
          "text": ["type": "string"],
        ],
      ],
      "problem": [
        "type": "object", "required": ["type", "title", "status", "detail"],
        "properties": [
          "type": ["type": "string", "description": "urn:flotilla:problem:KIND"],
          "title": ["type": "string"], "status": ["type": "integer"],
          "detail": ["type": "string"], "remedy": ["type": "string"],
        ],
      ],
      "verdict": [
        "type": "object", "required": ["verdict", "rows", "others"],
        "properties": [
          "verdict": [
            "type": "string",
            "enum": ["accepted", "superseded", "pending", "rejected", "unknown"],
          ],
          "rows": ["type": "array", "items": ["type": "object"]],
          "others": ["type": "integer"], "receipt": ["type": "string"],
        ],
      ],
      "session": [
        "type": "object", "required": ["database"],
        "properties": [
          "database": ["type": ["string", "null"]], "file": ["type": "string"],
          "token": ["type": "string"],
          "tables": ["type": "object", "additionalProperties": ["type": "string"]],
          "sees_site": ["type": "boolean"], "settles": ["type": "boolean"],
        ],
      ],
      "change": [
        "type": "object", "required": ["cursor", "table", "key", "deleted"],
        "properties": [
          "cursor": ["type": "string"], "table": ["type": "string"],
          "key": ["type": "object"], "deleted": ["type": "boolean"],
          "row": ["type": ["object", "null"]], "author": ["type": ["string", "null"]],
          "stamp": ["type": ["string", "null"]], "certified": ["type": "boolean"],
        ],
      ],
      "query": [
        "type": "object", "required": ["sql"], "additionalProperties": false,
        "properties": [
          "sql": ["type": "string", "maxLength": .number(String(QueryBounds.longestStatement))],
          "values": [
            "type": "array", "items": ["$ref": "#/components/schemas/value"],
            "maxItems": .number(String(QueryBounds.mostValues)),
          ],
        ],
      ],
      "result": [
        "type": "object", "required": ["columns", "rows", "more"],
        "properties": [
          "columns": ["type": "array", "items": ["type": "string"]],
          "rows": [
            "type": "array",
            "items": ["type": "array", "items": ["$ref": "#/components/schemas/value"]],
          ],
          "more": ["type": "boolean"],
        ],
      ],
    ]
  }

  static var problem: JSON {
    [
      "description": "What went wrong (RFC 9457).",
      "content": [
        "application/problem+json": ["schema": ["$ref": "#/components/schemas/problem"]]
      ],
    ]
  }

  static var parameters: JSON {
    func query(_ name: String, _ schema: JSON, _ text: String) -> JSON {
      ["name": .text(name), "in": "query", "schema": schema, "description": .text(text)]
    }
    func header(_ name: String, _ text: String) -> JSON {
      [
        "name": .text(name), "in": "header", "schema": ["type": "string"],
        "description": .text(text),
      ]
    }
    return [
      "filter": [
        "name": "filter", "in": "query", "style": "form", "explode": true,
        "description": "COLUMN=OPERATOR.VALUE, as in ward=eq.B; or=(…) and and=(…) are groups.",
        "schema": ["type": "object", "additionalProperties": ["type": "string"]],
      ],
      "select": query("select", ["type": "string"], "The columns to show: a,b"),
      "order": query("order", ["type": "string"], "The columns to sort by: a,b.desc"),
      "limit": query(
        "limit",
        [
          "type": "integer", "minimum": 1, "default": .number(String(RowQuery.usualLimit)),
          "maximum": .number(String(RowQuery.highestLimit)),
        ], "So many rows at most."),
      "next": query("next", ["type": "string"], "The page behind another one, as Link names it."),
      "all": query("all", ["type": "boolean"], "Also what is away or settled."),
      "if-match": header("If-Match", "The ETag of the row that is to be written over."),
      "if-none-match": header("If-None-Match", "An ETag; or * to make a row that is not there."),
      "prefer": header("Prefer", "return=representation, wait=SECONDS, max-affected=ROWS"),
      "prefer-edit": header("Prefer", "last-edit, to be told who has edited the row last."),
      "idempotency-key": header("Idempotency-Key", "Makes a write that is sent again happen once."),
    ]
  }
}
