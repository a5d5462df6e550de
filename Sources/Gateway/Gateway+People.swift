import Flotilla

/// Who belongs to the site, what time it is there, and what is wrong with this node: what the page
/// needs beside rows. It is done by the node, as its commands do it.
extension Gateway {
  /// Nil if the path is of something else.
  func people(
    _ path: [String], _ request: HTTPRequest, _ database: GatewayDatabase, _ token: AccessToken
  ) async throws(Problem) -> HTTPResponse? {
    let replica = database.replica
    switch (path.first, path.count) {
    case ("doctor", 1):
      try allow(request, ["GET"])
      try requireAll(token, writes: false, "doctor")
      return try await proofs.pass("doctor") { () throws(Problem) in
        try await Self.told { () throws(FlotillaError) in
          JSON(reflecting: try await replica.doctor(repair: false))
        }
      }
    case ("clock", 1):
      try allow(request, ["GET", "POST"])
      try requireAll(token, writes: !request.isSafe, "clock")
      return try await clock(request, replica, token)
    case ("invitations", 1):
      try allow(request, ["POST"])
      try requireAll(token, writes: true, "inviting")
      return try await invite(request, replica, token)
    case ("members", 3):
      try allow(request, ["POST"])
      try requireAll(token, writes: true, "changing members")
      return try await change(
        try RequestTarget.decoded(path[1]), path[2], request, replica, token)
    default: return nil
    }
  }

  private func requireAll(
    _ token: AccessToken, writes: Bool, _ what: String
  ) throws(Problem) {
    guard writes ? token.writesAll : token.readsAll else {
      throw Problem(
        403, "not-allowed",
        "\(what) is for tokens that may \(writes ? "write" : "read") every table")
    }
  }

  private static func told(
    _ work: () async throws(FlotillaError) -> JSON
  ) async throws(Problem) -> HTTPResponse {
    do throws(FlotillaError) {
      return .json(try await work())
    } catch {
      throw Problem(error)
    }
  }

  /// `{"good": true}` says that the clock of this machine is right.
  private func clock(
    _ request: HTTPRequest, _ replica: Replica, _ token: AccessToken
  ) async throws(Problem) -> HTTPResponse {
    var isGood: Bool?
    if !request.isSafe {
      guard case .object(let members) = try request.json(), members.count == 1,
        members[0].name == "good", case .bool(let value) = members[0].value
      else { throw .badRequest("body", "to say that this clock is right send {\"good\": true}") }
      isGood = value
      log("the token \(token.name) says that this clock is \(value ? "right" : "like others")")
    }
    return try await reports.pass("clock") { () throws(Problem) in
      try await Self.told { () throws(FlotillaError) in
        JSON(reflecting: try await replica.clock(isGood: isGood))
      }
    }
  }

  /// How long a code is good, in seconds.
  private static let inviteTimes = 60...86_400

  /// `{"role": "writer", "seconds": 900}`, both of which may be left out.
  private func invite(
    _ request: HTTPRequest, _ replica: Replica, _ token: AccessToken
  ) async throws(Problem) -> HTTPResponse {
    let wish = try Self.texts(in: request, among: ["role", "seconds"])
    let role = wish["role"] ?? "writer"
    guard let seconds = Int(wish["seconds"] ?? "900"), Self.inviteTimes.contains(seconds) else {
      throw .badRequest(
        "body",
        "seconds is a number from \(Self.inviteTimes.lowerBound) to "
          + "\(Self.inviteTimes.upperBound)")
    }
    var response = try await reports.pass("invitations") { () throws(Problem) in
      try await Self.told { () throws(FlotillaError) in
        let report = try await replica.invite(timeToLive: .seconds(seconds), role: role)
        guard report.served else {
          throw FlotillaError(.node, "no node runs that could let a machine in")
        }
        return JSON(reflecting: report)
      }
    }
    log("the token \(token.name) has invited a machine, as \(role)")
    response.status = 201
    return response
  }

  /// `grant` with `{"table": "patient", "right": "read"}`, `revoke` and `forget`.
  private func change(
    _ node: String, _ what: String, _ request: HTTPRequest, _ replica: Replica,
    _ token: AccessToken
  ) async throws(Problem) -> HTTPResponse {
    var table = ""
    var right = TableRight.none
    switch what {
    case "grant":
      let wish = try Self.texts(in: request, among: ["table", "right"])
      guard let name = wish["table"], let word = wish["right"].flatMap(TableRight.init(rawValue:))
      else {
        throw .badRequest("body", "a right is {\"table\": NAME, \"right\": read, write or none}")
      }
      (table, right) = (name, word)
    case "revoke", "forget": break
    default: throw Problem(404, "resource", "there is no such resource")
    }
    let (wanted, word) = (table, right.rawValue)
    let response = try await reports.pass("members") { () throws(Problem) in
      try await Self.told { () throws(FlotillaError) in
        switch what {
        case "grant":
          JSON(reflecting: try await replica.grant(node, table: wanted, right: word))
        case "revoke": JSON(reflecting: try await replica.revoke(node))
        default: JSON(reflecting: try await replica.forget(node))
        }
      }
    }
    log("the token \(token.name) has changed a member: \(what) \(node) \(wanted)")
    return response
  }

  /// The members of an object, as texts; others than those that are named are refused.
  private static func texts(
    in request: HTTPRequest, among names: Set<String>
  ) throws(Problem) -> [String: String] {
    if request.body.isEmpty { return [:] }
    guard case .object(let members) = try request.json() else {
      throw .badRequest("body", "the body is an object")
    }
    var texts: [String: String] = [:]
    for member in members {
      guard names.contains(member.name) else {
        throw .badRequest("body", "\(member.name) is unknown here")
      }
      switch member.value {
      case .text(let text), .number(let text): texts[member.name] = text
      default: throw .badRequest("body", "\(member.name) is a text or a number")
      }
    }
    return texts
  }
}
