import Flotilla
import Foundation
import SQLite

/// A write whose verdict had not come: its client asks again later, also after the node was
/// started anew.
///
/// It lies beside the answers that are kept, as long and as many as these, under a key that no
/// client can give.
struct Receipt {
  let token: String
  let id: String

  private static func key(_ id: String) -> String { "\u{1}receipt \(id)" }

  /// Nil if the edit is too large to be kept.
  static func keep(
    _ edit: Replica.Edit, token: String, at now: Int64, on connection: Connection
  ) throws(Problem) -> Receipt? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard let content = try? encoder.encode(edit), content.count <= KeptAnswer.longestBody else {
      return nil
    }
    let receipt = Receipt(token: token, id: UUID().uuidString.lowercased())
    try reporting { () throws(SQLiteError) in _ = try connection.run("BEGIN IMMEDIATE") }
    try KeptAnswer(token: token, key: key(receipt.id), request: [])
      .keep(HTTPResponse(202, body: [UInt8](content)), at: now, on: connection)
    try reporting { () throws(SQLiteError) in _ = try connection.run("COMMIT") }
    return receipt
  }

  /// What was written; nil if the token was given no such receipt, or it is kept no longer.
  func edit(on connection: Connection) throws(Problem) -> Replica.Edit? {
    let kept = KeptAnswer(token: token, key: Self.key(id), request: [])
    guard let answer = try kept.find(on: connection) else { return nil }
    return try? JSONDecoder().decode(Replica.Edit.self, from: Data(answer.body))
  }
}

/// `GET /v1/DB/receipts/ID`: what has become of a write.
struct ReceiptCall {
  let database: GatewayDatabase
  let token: AccessToken
  let request: HTTPRequest
  let id: String

  func answer() async throws(Problem) -> HTTPResponse {
    let receipt = Receipt(token: token.hash, id: id)
    let edit = try await database.reader.run { connection throws(Problem) in
      try receipt.edit(on: connection)
    }
    guard let edit else {
      throw Problem(
        404, "resource", "there is no such receipt, or it is kept no longer",
        remedy: "Read the row: what stands there is what counts.")
    }
    let wait = try Preferences(request.list("prefer")).wait ?? 0
    guard database.waits.enter() else {
      throw .later("busy", "too many clients wait for verdicts")
    }
    defer { database.waits.leave() }
    do throws(FlotillaError) {
      let outcome = try await database.replica.outcome(of: edit, within: .seconds(wait))
      let own = try? await database.standing()
      return VerdictAnswer(edit: edit, outcome: outcome) { table in
        min(own?.right(to: table) ?? .none, token.right(to: table)) >= .read
      }.report
    } catch {
      throw Problem(error)
    }
  }
}
