import Flotilla

/// What is told of the site and of the gateway.
extension OpenAPI {
  var ofTheSite: [String: JSON] {
    let all: JSON = [["$ref": "#/components/parameters/all"]]
    return [
      "/status": ["get": Self.reading("How this node and its peers are.", ["parameters": all])],
      "/members": ["get": Self.reading("Who belongs to the site.")],
      "/conflicts": [
        "get": Self.reading("Edits that lost, and parked rows.", ["parameters": all])
      ],
      "/conflicts/{id}": [
        "get": Self.reading("One edit that lost, with what stood then."),
        "parameters": [Self.inPath("id", "integer")],
      ],
      "/verify": ["get": Self.reading("Whether all nodes hold the same rows.")],
      "/clock": [
        "get": Self.reading("The time of the site, and whose clock is off."),
        "post": settles
          ? Self.reading(
            "Says whether the clock of this machine is right.",
            Self.body(["good": ["type": "boolean"]], required: ["good"])) : nil,
      ],
      "/doctor": ["get": Self.reading("What is wrong with this node.")],
    ].mapValues { .object($0.compactMapValues { $0 }) }
  }

  var thatSettle: [String: JSON] {
    let text: JSON = ["type": "string"]
    let id = Self.inPath("id", "integer")
    let node = Self.inPath("node")
    return [
      "/conflicts/{id}/restore": [
        "post": Self.reading("Brings back the edit that lost."), "parameters": [id],
      ],
      "/conflicts/{id}/dismiss": [
        "post": Self.reading("Has seen the conflict."), "parameters": [id],
      ],
      "/members/{node}/grant": [
        "post": Self.reading(
          "Gives or takes a right.",
          Self.body(["table": text, "right": text], required: ["table", "right"])),
        "parameters": [node],
      ],
      "/members/{node}/revoke": [
        "post": Self.reading("Shuts a machine out."), "parameters": [node],
      ],
      "/members/{node}/forget": [
        "post": Self.reading("Waits no longer for a machine."), "parameters": [node],
      ],
      "/invitations": [
        "post": Self.reading(
          "Makes a code for a new machine.",
          Self.body(["role": text, "seconds": ["type": "integer"]], required: []),
          status: "201")
      ],
    ]
  }

  /// What is of the gateway and of no database, so its path begins elsewhere.
  var ofTheGateway: [String: JSON] {
    let root: JSON = [["url": "/"]]
    let account: JSON = ["$ref": "#/components/schemas/session"]
    let open: [String: JSON] = ["security": []]
    let token = Self.body(["token": ["type": "string"]], required: ["token"])
    let signOut: JSON = [
      "summary": "Signs out.", "security": [],
      "responses": [
        "204": ["description": "Done."], "default": ["$ref": "#/components/responses/problem"],
      ],
    ]
    var paths: [String: JSON] = [
      "/health": ["get": Self.reading("Whether the process answers.", open), "servers": root],
      "/ready": [
        "get": Self.reading("Whether its nodes can work; else 503.", open), "servers": root,
      ],
      "/v1/session": [
        "get": Self.reading("Who has signed in.", open, account),
        "post": Self.reading(
          "Trades a token for a cookie.", open.merging(token) { own, _ in own }, account),
        "delete": signOut, "servers": root,
      ],
    ]
    if seesSite {
      paths["/metrics"] = [
        "get": [
          "summary": "Figures in the form of OpenMetrics.",
          "responses": [
            "200": [
              "description": "As they are now.",
              "content": ["application/openmetrics-text": ["schema": ["type": "string"]]],
            ],
            "default": ["$ref": "#/components/responses/problem"],
          ],
        ],
        "servers": root,
      ]
    }
    return paths
  }

  /// A request that gives JSON, an object unless its form is told.
  static func reading(
    _ summary: String, _ more: [String: JSON] = [:], _ schema: JSON = ["type": "object"],
    status: String = "200"
  ) -> JSON {
    .object(
      [
        "summary": .text(summary),
        "responses": .object([
          status: [
            "description": "As it is now.",
            "content": ["application/json": ["schema": schema]],
          ],
          "default": ["$ref": "#/components/responses/problem"],
        ]),
      ].merging(more) { _, new in new })
  }

  /// An object that is sent along.
  private static func body(_ members: [String: JSON], required: [JSON]) -> [String: JSON] {
    [
      "requestBody": [
        "required": true,
        "content": [
          "application/json": [
            "schema": [
              "type": "object", "properties": .object(members), "required": .array(required),
            ]
          ]
        ],
      ]
    ]
  }
}
