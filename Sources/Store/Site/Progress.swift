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

  /// Adds to how far that sender's rows were worked through.
  func saveProgress(of sender: Identity, _ progress: Frontier) throws(StoreError) {
    var writer = ByteWriter()
    writer.frontier(try self.progress(of: sender).joined(progress))
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

  /// What was worked through left out what could not be read.
  func clearAllProgress() throws(SQLiteError) {
    try connection.run("DELETE FROM _flotilla_progress")
  }
}
