/// Whether programs write the file beside the node, told by the state of the file alone.
///
/// One commit of 100,000 rows is over, and nobody waits. Who commits again within a second may go
/// on so.
struct OtherWriters: Sendable {
  /// Who has written in the last so many ms may write again at any moment.
  static let memory: Int64 = 1_000

  private var version: Int64?
  private var cuts: UInt64 = 0
  private var lastWrite: Int64?
  private var isSteady = false

  /// A look at `PRAGMA data_version`, which changes when another connection has committed, or when
  /// the log was made empty in one of so many cuts.
  mutating func looked(version: Int64, cuts: UInt64, at now: Int64) {
    let isChange = self.version.map { $0 != version } ?? false
    if isChange && cuts == self.cuts {
      isSteady = hasWritten(at: now)
      lastWrite = now
    }
    (self.version, self.cuts) = (version, cuts)
  }

  func write(at now: Int64) -> Bool { isSteady && hasWritten(at: now) }

  private func hasWritten(at now: Int64) -> Bool {
    lastWrite.map { now - $0 < Self.memory } ?? false
  }
}
