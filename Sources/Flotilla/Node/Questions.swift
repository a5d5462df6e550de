import Replication
import Store

/// What members were asked about their files, and what they have told so far.
///
/// A pure value. Of each connection there is one question at a time: for the schema, and for rows
/// that are compared. Whoever has asked takes the answer away, whether it has come or not.
struct Questions: Sendable {
  /// A `verify` is under way; two at a time would take each other's answers.
  private(set) var isVerifying = false
  /// Schemas that were asked for; nil until the peer has told.
  private var schemas: [Mesh.ConnectionID: [SchemaObject]?] = [:]
  private var inspections: [Mesh.ConnectionID: Inspection] = [:]

  /// Whether nobody waits for an answer.
  var isEmpty: Bool { schemas.isEmpty && inspections.isEmpty }

  mutating func beginVerifying() { isVerifying = true }

  mutating func endVerifying() { isVerifying = false }

  /// Asks for a schema; false if that is being asked for already.
  mutating func askForSchema(_ id: Mesh.ConnectionID) -> Bool {
    guard schemas[id] == nil else { return false }
    schemas[id] = .some(nil)
    return true
  }

  /// A peer tells its schema; nobody may have asked.
  mutating func tell(_ objects: [SchemaObject], _ id: Mesh.ConnectionID) {
    if schemas[id] != nil { schemas[id] = .some(objects) }
  }

  func hasSchema(_ id: Mesh.ConnectionID) -> Bool { schemas[id].flatMap { $0 } != nil }

  /// Ends the question for a schema; gives what was told.
  mutating func takeSchema(_ id: Mesh.ConnectionID) -> [SchemaObject]? {
    schemas.removeValue(forKey: id).flatMap { $0 }
  }

  mutating func beginInspection(_ id: Mesh.ConnectionID) { inspections[id] = Inspection() }

  /// The comparison with a peer, while it goes on.
  subscript(_ id: Mesh.ConnectionID) -> Inspection? {
    get { inspections[id] }
    set { if inspections[id] != nil { inspections[id] = newValue } }
  }

  /// Ends the comparison; gives what came of it.
  mutating func endInspection(_ id: Mesh.ConnectionID) -> Inspection? {
    inspections.removeValue(forKey: id)
  }
}
