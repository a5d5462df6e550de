import FoundationEssentials

/// Up to which conflict of a node its operator was told.
///
/// Numbers begin anew where the log was emptied or the file put back, and clocks may go back: a
/// conflict is new by either.
package struct ConflictMark: Codable, Sendable, Equatable {
  package var id: Int
  /// When it was noticed, ISO 8601 in UTC.
  package var at: String

  /// Before any conflict.
  package init() { (id, at) = (0, "") }

  /// The last of these; nil if there is none.
  package init?(_ conflicts: [ConflictReport.Conflict]) {
    guard let last = conflicts.map(\.id).max(), let latest = conflicts.map(\.at).max() else {
      return nil
    }
    (id, at) = (last, latest)
  }

  package func isBefore(_ conflict: ConflictReport.Conflict) -> Bool {
    conflict.id > id || conflict.at > at
  }
}

/// The mark is kept in the folder beside the database: what comes while nobody runs is told when
/// somebody does.
extension Replica {
  private var toldPath: String { sidecar.folder + "/told.json" }

  /// How far was told; where nothing was ever told, up to what is in the log now.
  package func toldConflicts() async throws(FlotillaError) -> ConflictMark {
    if let data = FileManager.default.contents(atPath: toldPath),
      let mark = try? JSONDecoder().decode(ConflictMark.self, from: data)
    {
      return mark
    }
    let mark = ConflictMark(try await conflicts().conflicts) ?? ConflictMark()
    try note(told: mark)
    return mark
  }

  package func note(told mark: ConflictMark) throws(FlotillaError) {
    guard let data = try? JSONEncoder().encode(mark) else {
      throw FlotillaError(.system, "cannot write \(toldPath)")
    }
    try SecretFile.write(Array(data), to: toldPath)
  }
}
