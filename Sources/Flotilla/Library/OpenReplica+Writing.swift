import Replication

/// What a program writes: committed here at once, then judged.
extension OpenReplica {
  /// Adds a row. Columns that are left out get their defaults; a key that is there already is an
  /// error (`sql`).
  public func save(
    _ row: [String: SQLValue], in table: String
  ) async throws(FlotillaError) -> Receipt {
    try await write(.save(row, in: table))
  }

  /// Changes columns of the row with this key; a row that is not there is an error.
  public func update(
    _ table: String, key: [String: SQLValue], set values: [String: SQLValue]
  ) async throws(FlotillaError) -> Receipt {
    try await write(.update(table, key: key, set: values))
  }

  /// Removes the row with this key; a row that is not there is an error.
  public func remove(
    _ table: String, key: [String: SQLValue]
  ) async throws(FlotillaError) -> Receipt {
    try await write(.remove(table, key: key))
  }

  private func write(_ row: RowStatement) async throws(FlotillaError) -> Receipt {
    let report = try await replica.write(row.sql, row.values, of: row)
    guard report.changes > 0 else { throw row.missing }
    return await receipt(report.touched, after: report.before)
  }

  func receipt(_ rows: [TouchedRow], after: UInt64) async -> Receipt {
    // What the edit is called is known once it is folded; while suspended, that comes later.
    let mark = try? await ask(.mark, as: Mark.self)
    return Receipt(self, local: rows, after: after, through: mark?.seq)
  }
}

/// A write that was committed here: what it left, and what the anchor says of it.
public struct Receipt: Sendable {
  private let owner: OpenReplica
  /// The rows as the write left them here, those that its triggers and cascades touched included
  /// (the local response); none if the table is not replicated.
  public let local: [TouchedRow]
  /// The own edits among which it is: (after, through].
  private let after: UInt64
  private let through: UInt64?

  init(_ owner: OpenReplica, local: [TouchedRow], after: UInt64, through: UInt64?) {
    self.owner = owner
    self.local = local
    self.after = after
    self.through = through
  }

  /// Waits for the anchor's verdict on the first row (`standing` has the row itself); `pending`
  /// once the time is over. Without an anchor an error of code `no-anchor`; of code `table` if the
  /// row is not replicated: its table is not, or its key holds NULL. While this replica is
  /// suspended an error of code `node`; it can be asked again after `resume`.
  public func verdict(within timeout: Duration = .seconds(30)) async throws(FlotillaError)
    -> RowVerdict
  {
    if local.first?.isKeyless == true {
      throw FlotillaError(
        .table, "the key of the row holds NULL, so the row is no other node's and nobody judges it")
    }
    guard let verdict = try await verdicts(within: timeout).first else {
      throw FlotillaError(
        .table, "the row is of a table that is not replicated, so nobody judges it; it stands here")
    }
    return verdict
  }

  /// The same for every row of `local`.
  public func verdicts(within timeout: Duration = .seconds(30)) async throws(FlotillaError)
    -> [RowVerdict]
  {
    guard !local.isEmpty else { return [] }
    return try await owner.replica.verdicts(on: local, after: after, within: timeout) {
      (rest) async throws(FlotillaError) in
      try await owner.ask(
        .verdicts(after: after, through: through, milliseconds: Int(rest.milliseconds)),
        as: Mark.self)
    }.verdicts
  }

  /// The rows as they stand here now: after the verdict what the anchor has made of them (the
  /// server response).
  public func standing() async throws(FlotillaError) -> [TouchedRow] {
    try await owner.replica.standing(local)
  }
}

/// The last own edit that was folded.
struct Mark: Codable, Sendable {
  var seq: UInt64
  /// Why what is not judged may never be, beyond that the anchor is away; nil if nothing is known.
  var obstacle: String?
  /// Who the anchor is, and since when it is away; nil if it is not.
  var away: AnchorAbsence?
}
