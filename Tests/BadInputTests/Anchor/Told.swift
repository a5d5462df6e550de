import Foundation

/// What `status --json` says, as far as it is asked for here.
struct ToldStatus: Decodable {
  var in_sync: Bool
  var unjudged: Int

  /// True if this says that all is equal, and judged.
  static func isSettled(_ said: String) -> Bool {
    let status = try? JSONDecoder().decode(Self.self, from: Data(said.utf8))
    return status.map { $0.in_sync && $0.unjudged == 0 } ?? false
  }
}

/// An entry of `conflicts --json`.
struct ToldConflict: Decodable {
  struct Side: Decodable {
    var deleted: Bool
    var row: [String: MergeCase.Field]?
  }

  var table: String
  var key: [String: MergeCase.Field]
  var rule: String
  var reason: String
  var winner: Side?
  var loser: Side?

  private struct Report: Decodable {
    var conflicts: [ToldConflict]
  }

  /// All entries of what was said.
  static func all(_ said: String) throws -> [ToldConflict] {
    try JSONDecoder().decode(Report.self, from: Data(said.utf8)).conflicts
  }
}
