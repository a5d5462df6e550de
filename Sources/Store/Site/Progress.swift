import Replication
import SQLite

/// How far an interrupted catch-up was worked through: the receiver asks that sender from there.
extension Store {
  package func progress(of sender: Identity) throws(StoreError) -> Frontier {
    let bytes = try reporting { () throws(SQLiteError) in
      try connection.scalar(
        "SELECT frontier FROM _flotilla_progress WHERE sender = ?", [.string(sender.description)]
      ).blob
    }
    guard let bytes else { return Frontier() }
    var reader = ByteReader(bytes)
    do {
      return try reader.frontier("progress")
    } catch {
      return Frontier()
    }
  }

  /// Rows come in the order of (origin, seq): every origin before the last row's is done.
  func saveProgress(of sender: Identity, covers: Frontier, last: Dot) throws(StoreError) {
    var entries = covers.entries.filter { $0.key < last.origin }
    // A sender that is itself catching up ships rows beyond what it covers: they prove nothing.
    entries[last.origin] = min(last.seq, covers[last.origin])
    var writer = ByteWriter()
    writer.frontier(try progress(of: sender).joined(Frontier(entries)))
    let bytes = writer.bytes
    try reporting { () throws(SQLiteError) in try save(bytes, of: sender) }
  }

  private func save(_ bytes: [UInt8], of sender: Identity) throws(SQLiteError) {
    try connection.run(
      "INSERT OR REPLACE INTO _flotilla_progress(sender, frontier) VALUES (?, ?)",
      [.string(sender.description), .blob(bytes)])
  }

  func clearProgress(of sender: Identity) throws(SQLiteError) {
    try connection.run(
      "DELETE FROM _flotilla_progress WHERE sender = ?", [.string(sender.description)])
  }
}
