import Replication
import SQLite

/// What owners have signed of their origins, as the file has it.
final class ReachTable: FilePart {
  private let connection: Connection
  private(set) var book = ReachBook()

  init(_ connection: Connection) throws(SQLiteError) {
    self.connection = connection
    try reload()
  }

  /// Reads everything again, for instance after a transaction was rolled back.
  func reload() throws(SQLiteError) {
    book = ReachBook()
    // A command that changes nothing may look at a file of a version before.
    guard try Layout.hasTable("_flotilla_reach", on: connection) else { return }
    book = ReachBook(try Self.reaches(of: "main", on: connection))
  }

  /// Keeps one if it goes further than what is known, in the open transaction; it was checked.
  func keep(_ reach: Reach) throws(SQLiteError) {
    let (isKept, dropped) = book.keep(reach)
    guard isKept else { return }
    if let dropped { try Self.remove(dropped, from: "main", on: connection) }
    try Self.write(reach, to: "main", on: connection)
  }

  static func write(
    _ reach: Reach, to schema: String, on connection: Connection
  ) throws(SQLiteError) {
    try connection.run(
      """
      INSERT OR REPLACE INTO \(schema)._flotilla_reach(origin, node, life, seq, run, signature)
      VALUES (?, ?, ?, ?, ?, ?)
      """,
      [
        .integer(Int64(bitPattern: reach.origin.rawValue)), .string(reach.node.description),
        .integer(Int64(bitPattern: reach.life)), .integer(Int64(reach.seq)),
        .integer(Int64(bitPattern: reach.run)), .blob(reach.signature),
      ])
  }

  static func reaches(
    of schema: String, on connection: Connection
  ) throws(SQLiteError) -> [Reach] {
    try connection.rows(
      "SELECT origin, node, life, seq, run, signature FROM \(schema)._flotilla_reach"
    ).compactMap { row in
      guard let origin = row[0].integer, let node = row[1].string.flatMap(Identity.init),
        let life = row[2].integer, let seq = row[3].integer, 1...(1 << 62) ~= seq,
        let run = row[4].integer,
        let signature = row[5].blob, signature.count == Reach.signatureLength
      else { return nil }
      return Reach(
        origin: Origin(rawValue: UInt64(bitPattern: origin)), node: node,
        life: UInt64(bitPattern: life), seq: UInt64(seq), run: UInt64(bitPattern: run),
        signature: signature)
    }
  }

  static func remove(
    _ reach: Reach, from schema: String, on connection: Connection
  ) throws(SQLiteError) {
    try connection.run(
      "DELETE FROM \(schema)._flotilla_reach WHERE origin = ? AND run = ?",
      [
        .integer(Int64(bitPattern: reach.origin.rawValue)),
        .integer(Int64(bitPattern: reach.run)),
      ])
  }
}
