import Flotilla
import FoundationEssentials
import SQLite

/// A write about which its client asks later what the anchor says, also after the node was started
/// anew.
///
/// It lies beside the answers that are kept, as long and as many as these, as if another client had
/// written it.
struct Receipt {
  let id: String
  private let token: String

  init(token: String, id: String = UUID().uuidString.lowercased()) {
    (self.token, self.id) = (token, id)
  }

  private var kept: KeptAnswer { KeptAnswer(token: "receipts of \(token)", key: id, request: []) }

  /// Keeps an edit in the transaction that makes it; false if it is too large for that.
  func keep(
    _ edit: Replica.Edit, at now: Int64?, on connection: Connection
  ) throws(Problem) -> Bool {
    guard edit.isWhole, !edit.rows.isEmpty, let content = try? JSONEncoder().encode(edit),
      content.count <= KeptAnswer.longestBody
    else { return false }
    try kept.keep(HTTPResponse(202, body: [UInt8](content)), at: now, on: connection)
    return true
  }

  /// What was written; nil if the token was given no such receipt, or it is kept no longer.
  func edit(on connection: Connection) throws(Problem) -> Replica.Edit? {
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
    let edit = try await database.reader.run { file throws(Problem) in
      try receipt.edit(on: file.connection)
    }
    guard let edit else {
      throw Problem(
        404, "resource", "there is no such receipt, or it is kept no longer",
        remedy: "Read the row: what stands there is what counts.")
    }
    let wait = try Preferences(request.list("prefer")).wait ?? 0
    let waits = wait > 0
    guard !waits || database.waits.enter(for: token) else {
      throw .later("busy", "too many clients wait for verdicts")
    }
    defer { if waits { database.waits.leave(for: token) } }
    do throws(FlotillaError) {
      let outcome = try await database.replica.outcome(of: edit, within: .seconds(wait))
      let own = try? await database.standing()
      return VerdictAnswer(edit: edit, outcome: outcome) { table in
        (own?.right(of: token, to: table) ?? .none) >= .read
      }.report
    } catch {
      throw Problem(error)
    }
  }
}
