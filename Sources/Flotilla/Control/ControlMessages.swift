import FoundationEssentials

/// What a command asks of the running node, one JSON object on one line.
enum ControlRequest: Codable, Sendable, Equatable {
  case status(all: Bool)
  case sync(peer: String?, milliseconds: Int)
  case verify(peer: String?, repairs: Bool, milliseconds: Int)
  case wait(target: String?, all: Bool, anchor: Bool, milliseconds: Int)
  case track(tables: [String]?, rule: String?, onCollision: String?)
  case untrack(tables: [String])
  case decline(tables: [String])
  case takeNewTables(isWanted: Bool)
  case tables
  case rule(table: String?, rule: String?)
  case schema(SchemaRequest)
  case compareSchema(peer: String, adopts: Bool, milliseconds: Int)
  case invite(milliseconds: Int, role: String)
  case members
  /// Whether the connected members reach the node's port.
  case port(milliseconds: Int)
  case revoke(node: String, disowning: Bool)
  case forget(node: String)
  case grant(node: String, table: String, right: String)
  case importSiteKey(seed: [UInt8])
  case unsent
  case office
  case appoint(node: String?, isHere: Bool, isForced: Bool, rule: String?)
  case prepareEdit(milliseconds: Int)
  case verdicts(after: UInt64, through: UInt64?, milliseconds: Int)
  case mark
  case changes(since: String?, tables: [String]?, milliseconds: Int)
  /// The same with keys alone, and for who is to be told of all that was committed before.
  case changedKeys(since: String?, tables: [String], isExact: Bool, milliseconds: Int)
  case settled(after: UInt64?, milliseconds: Int)
  case peers(known: [String]?, milliseconds: Int)
  case clock(set: Int64?, isGood: Bool?, repairs: Bool, isForced: Bool)
  case stop(isLeaving: Bool)
  /// A starting `run` wants to take over from a process that only serves an invitation.
  case yield

  /// Reads what came on the socket; nil if it is no request.
  init?(line: [UInt8]) {
    guard let request = try? JSONDecoder().decode(Self.self, from: Data(line)) else { return nil }
    self = request
  }
}

/// The answer: a body, or what went wrong.
struct ControlReply<Body: Codable & Sendable>: Codable, Sendable {
  struct Failure: Codable, Sendable {
    var code: String
    var message: String
    var remedy: String?
    var cause: String?
  }

  var body: Body?
  var failure: Failure?
}

/// An answer without content.
struct Done: Codable, Sendable {}

/// How much of what was committed here no other member is known to hold.
struct UnsentReport: Codable, Sendable {
  var rows: Int
  var site: String
  var node: String
  /// The other members, and those of them that are connected.
  var others: [String]
  var connected: [String]
  /// What the others would lose with this node; nil if nothing.
  var loss: LeaveReport.Loss?
  /// Rows that are kept here and stand in no table.
  var parked = 0
  /// This node is no member any more, or others say so: nobody takes anything of it.
  var isOut = false
}
