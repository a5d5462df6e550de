import Flotilla
import FoundationEssentials
import Glibc
import SQLite

/// What the gateway has answered to a write under an `Idempotency-Key`, kept in the file itself:
/// the row and the answer are there both or not at all.
struct KeptAnswer {
  let token: String
  let key: String
  let request: [UInt8]

  static let longestKey = 255
  static let longestBody = 64 << 10
  static let most = 10_000
  /// A day, in ms, and one step of the clock.
  static let lifetime: Int64 = 86_400_000 + longestStep
  /// No more than this counts as passed since the last answer: clocks jump, and what was answered a
  /// moment ago is not to be old by that.
  static let longestStep: Int64 = 3_600_000
  /// From here on rows are others' than the gateway's (`SiteFile`).
  private static let others: Int64 = 1 << 60

  init(token: String, key: String, request: [UInt8]) {
    (self.token, self.key, self.request) = (token, key, request)
  }

  /// Nil if the header is not there.
  init?(_ request: HTTPRequest, token: String) throws(Problem) {
    guard let key = request.header("idempotency-key") else { return nil }
    guard !key.isEmpty, key.utf8.count <= Self.longestKey,
      key.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else {
      throw .badRequest(
        "idempotency-key", "an Idempotency-Key has 1 to \(Self.longestKey) letters of ASCII")
    }
    self.token = token
    self.key = key
    var content = Array("\(request.method) \(request.target)".utf8) + [0]
    for name in ["if-match", "if-none-match"] {
      content += Array((request.list(name) ?? "").utf8) + [0]
    }
    self.request = Array(Replica.fingerprint(content + request.body).utf8)
  }

  /// The answer of before; another request under this key is a problem.
  func find(on connection: Connection) throws(Problem) -> HTTPResponse? {
    let row = try reporting { () throws(SQLiteError) in
      try connection.row(
        "SELECT request, status, headers, body FROM main._flotilla_answer "
          + "WHERE token = ? AND key = ?", [.string(token), .string(key)])
    }
    guard let row else { return nil }
    guard row[0].blob == request else {
      throw Problem(422, "idempotency-key", "another request has this Idempotency-Key")
    }
    let pairs = try? JSONReader.read(Array((row[2].string ?? "[]").utf8))
    var headers: [(name: String, value: String)] = [("Idempotency-Replayed", "true")]
    if case .object(let members)? = pairs {
      for member in members {
        if case .text(let value) = member.value { headers.append((member.name, value)) }
      }
    }
    return HTTPResponse(
      Int(row[1].integer ?? 200), headers: headers, body: row[3].blob ?? [])
  }

  /// Keeps an answer, in the transaction of the write, and lets go of old ones. `now` is nil while
  /// nobody knows by what they grow old.
  func keep(_ response: HTTPResponse, at now: Int64?, on connection: Connection) throws(Problem) {
    let headers = JSON.object(
      Dictionary(response.headers.map { ($0.name, JSON.text($0.value)) }) { first, _ in first })
    let body = response.body.count <= Self.longestBody ? response.body : []
    try reporting { () throws(SQLiteError) in
      let place = try Self.place(at: now, on: connection)
      _ = try connection.run(
        "INSERT INTO main._flotilla_answer VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
          .string(token), .string(key), .blob(request), .integer(Int64(response.status)),
          .string(headers.description), .blob(body), .integer(place),
        ])
      _ = try connection.run(
        """
        DELETE FROM main._flotilla_answer WHERE at < ?1 OR token = ?3 AND at <
          (SELECT at FROM main._flotilla_answer WHERE token = ?3
           ORDER BY at DESC LIMIT 1 OFFSET ?2)
        """, [.integer(place - Self.lifetime), .integer(Int64(Self.most)), .string(token)])
    }
  }

  /// The place of the next answer in time as it passes here: it grows with each one, whatever
  /// becomes of the clock.
  private static func place(
    at now: Int64?, on connection: Connection
  ) throws(SQLiteError) -> Int64 {
    let row = try connection.row(
      """
      SELECT max(at), (SELECT status FROM main._flotilla_answer WHERE token = 'clock' AND key = '')
      FROM main._flotilla_answer WHERE at < ?
      """, [.integer(others)])
    let seen = row?[1].integer
    let passed = min(max(1, (now ?? 0) &- (seen ?? now ?? 0)), longestStep)
    let place = (row?[0].integer ?? 0) + passed
    _ = try connection.run(
      "INSERT OR REPLACE INTO main._flotilla_answer VALUES ('clock', '', x'', ?, '', x'', ?)",
      [.integer(now ?? seen ?? 0), .integer(place)])
    return place
  }
}
