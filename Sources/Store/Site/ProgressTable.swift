import Replication
import SQLite

/// How far an interrupted catch-up was worked through: the receiver asks that sender from there.
///
/// That holds for one run of the sender in one life of it (`Hello.edition`). In the next one its
/// file may be an older one, another copy of it may have answered, or rows have other numbers. What
/// it leaves out below would never come.
package struct ProgressTable {
  let connection: Connection

  init(_ connection: Connection) { self.connection = connection }

  /// Nothing if no exchange with that sender was interrupted.
  package func frontier(of sender: Identity, edition: UInt64 = 0) throws(StoreError) -> Frontier {
    let bytes = try reporting { () throws(SQLiteError) in
      try connection.scalar(
        "SELECT frontier FROM _flotilla_progress WHERE sender = ?", [Self.name(sender, edition)]
      ).blob
    }
    return bytes.map(Self.frontier) ?? Frontier()
  }

  /// Whether rows of an exchange with it that has not ended are here, though it may cover none.
  func contains(_ sender: Identity, edition: UInt64) throws(StoreError) -> Bool {
    try reporting { () throws(SQLiteError) in
      try connection.row(
        "SELECT 1 FROM _flotilla_progress WHERE sender = ?", [Self.name(sender, edition)]) != nil
    }
  }

  private static func name(_ sender: Identity, _ edition: UInt64) -> SQLite.Value {
    .string("\(sender) \(edition)")
  }

  private static func frontier(_ bytes: [UInt8]) -> Frontier {
    var reader = ByteReader(bytes)
    do {
      return try reader.frontier("progress")
    } catch {
      return Frontier()
    }
  }

  /// Adds to how far that sender's rows were worked through; that of earlier editions is forgotten.
  func save(
    _ progress: Frontier, of sender: Identity, edition: UInt64
  ) throws(StoreError) {
    var writer = ByteWriter()
    writer.frontier(try frontier(of: sender, edition: edition).joined(progress))
    let bytes = writer.bytes
    try reporting { () throws(SQLiteError) in
      try clear(sender)
      try connection.run(
        "INSERT INTO _flotilla_progress(sender, frontier) VALUES (?, ?)",
        [Self.name(sender, edition), .blob(bytes)])
    }
  }

  func clear(_ sender: Identity) throws(SQLiteError) {
    let name = sender.description
    try connection.run(
      "DELETE FROM _flotilla_progress WHERE substr(sender, 1, \(name.count)) = ?", [.string(name)])
  }

  /// What has come of exchanges that have not ended.
  func all() throws(SQLiteError) -> Frontier {
    try connection.rows("SELECT frontier FROM _flotilla_progress").reduce(into: Frontier()) {
      $0.join($1[0].blob.map(Self.frontier) ?? Frontier())
    }
  }

  /// What was worked through left out what could not be read.
  func clear() throws(SQLiteError) {
    try connection.run("DELETE FROM _flotilla_progress")
  }
}
