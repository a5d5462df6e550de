import Replication
import SQLite

/// What this replica may do.
final class OwnRights: FilePart {
  private let meta: Meta
  /// Edits that it may not make are put back.
  var rights = Rights.all { didSet { age += 1 } }
  /// How often they were set.
  private(set) var age = 0
  /// Tables that may be read again since a moment ago, and are being compared.
  private(set) var regained: Set<Int64> = []

  init(_ meta: Meta) throws(SQLiteError) {
    self.meta = meta
    if let bytes = try meta.blob(.rights) { rights = Rights(bytes: bytes) }
    try reload()
  }

  func reload() throws(SQLiteError) {
    regained = Set(
      try meta.text(.regained)?.split(separator: " ").compactMap { Int64($0) } ?? [])
  }

  func mayWrite(_ table: ReplicaTable) -> Bool {
    // What was written while nobody here might even read it was written without the right to.
    if regained.contains(table.id) { return false }
    return rights.mayWrite(table.name)
  }

  /// Keeps on disk, in the open transaction, which tables are to be compared before what is in them
  /// counts as written with the right to: a kill must not make it so.
  func remember(regained: Set<Int64>) throws(SQLiteError) {
    self.regained = regained
    let numbers = regained.sorted().map { "\($0)" }.joined(separator: " ")
    try meta.set(.regained, .string(numbers))
  }

  /// Others hold versions of this origin, up to a seq, that are not here any more: edits that were
  /// taken back had replaced them. A leaf does not cover them for whoever lacks them; between nodes
  /// that may do everything the digests find what is missing.
  func noteElsewhere(_ seq: UInt64) throws(SQLiteError) {
    if seq != (try elsewhere()) { try meta.set(.elsewhere, .integer(Int64(seq))) }
  }

  func elsewhere() throws(SQLiteError) -> UInt64 {
    UInt64(clamping: try meta.integer(.elsewhere) ?? 0)
  }
}
