import Foundation

/// One case of the conformance table: what the anchor holds, what a node does, and what comes of
/// it.
struct MergeCase: Decodable, Sendable {
  struct Server: Decodable, Sendable {
    var row: [Field]?
    var updated: String?
    var deleted: String?
    var unseen: Bool?
    var client_never_had_the_row: Bool?
  }

  struct Client: Decodable, Sendable {
    var at: String
    var save: [Field]?
    var edit: [String: Int]?
    var remove: Bool?
    var offline: Bool?
  }

  var id: Int
  var rules: [String]
  var server: Server?
  var client: Client
  var local: [Field]?
  var final: [Field]?
  var verdict: String
  var reason: String?
  var reason_by_rule: [String: String]?
  var conflicts: Int?

  /// A value of a row.
  enum Field: Decodable, Sendable, Equatable {
    case integer(Int)
    case text(String)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let integer = try? container.decode(Int.self) {
        self = .integer(integer)
      } else {
        self = .text(try container.decode(String.self))
      }
    }

    /// As SQL writes it.
    var literal: String {
      switch self {
      case .integer(let integer): "\(integer)"
      case .text(let text): "'\(text)'"
      }
    }

    /// As `sqlite3` prints it.
    var printed: String {
      switch self {
      case .integer(let integer): "\(integer)"
      case .text(let text): text
      }
    }
  }

  /// Every case has a table of its own.
  var table: String { "exampleTable\(id)" }

  /// Made in live contact with the anchor.
  var isOnline: Bool { client.offline == false }

  func reason(under rule: String) -> String? { reason_by_rule?[rule] ?? reason }

  /// The statement of the node.
  var statement: String {
    if let row = client.save { return insert(row) }
    if client.remove == true { return "DELETE FROM \(table)" }
    let news = (client.edit ?? [:]).map { "\($0.key) = \($0.value)" }.joined(separator: ", ")
    return "UPDATE \(table) SET \(news)"
  }

  func insert(_ row: [Field]) -> String {
    "INSERT INTO \(table) VALUES (\(row.map(\.literal).joined(separator: ", ")))"
  }

  /// What the anchor's side writes while both are in touch, each with its time.
  var seen: [(time: String, statement: String)] {
    guard let server, server.client_never_had_the_row != true else { return [] }
    let isUnseen = server.unseen == true
    var steps = [("11:00:00", insert(Self.base))]
    if !isUnseen, let row = server.row { steps = [(server.updated ?? "11:00:00", insert(row))] }
    if !isUnseen, let time = server.deleted { steps.append((time, "DELETE FROM \(table)")) }
    return steps
  }

  /// What it writes once the node has gone. A row that ends as it was is changed and changed back:
  /// one that was never changed is no edit.
  var unseen: [(time: String, statement: String)] {
    guard let server, server.unseen == true else { return [] }
    var steps: [(String, String)] = []
    if server.client_never_had_the_row == true { steps.append(("11:00:00", insert(Self.base))) }
    if let row = server.row {
      let columns = zip(["title", "a", "b"], row.dropFirst())
        .map { "\($0) = \($1.literal)" }.joined(separator: ", ")
      steps.append(("11:10:00", "UPDATE \(table) SET b = 9"))
      steps.append((server.updated ?? "", "UPDATE \(table) SET \(columns)"))
    }
    if let time = server.deleted { steps.append((time, "DELETE FROM \(table)")) }
    return steps
  }

  /// The same, before and after what the node does.
  var unseenAroundEdit:
    (
      early: [(time: String, statement: String)], late: [(time: String, statement: String)]
    )
  {
    let isEarly = { (step: (time: String, statement: String)) in step.time < client.at }
    return (unseen.filter(isEarly), unseen.filter { !isEarly($0) })
  }

  private static let base: [Field] = [
    .integer(1), .text("Växjö-Kalmar"), .integer(0), .integer(0),
  ]

  /// Whether an edit that stands has overruled a row that its author had not seen.
  var overrules: Bool {
    verdict == "accepted" && server?.unseen == true && server?.row.map { $0 != final ?? [] } == true
  }

  static func printed(_ row: [Field]?) -> String {
    row.map { $0.map(\.printed).joined(separator: "|") } ?? ""
  }

  static let rules = ["newest-wins", "server-wins", "server-wins-on-conflict", "client-wins"]

  private struct Table: Decodable {
    var cases: [MergeCase]
  }

  static func all() throws -> [MergeCase] {
    let data = try Data(contentsOf: URL(filePath: Desk.fixtures + "/merge-rules.json"))
    return try JSONDecoder().decode(Table.self, from: data).cases
  }
}
