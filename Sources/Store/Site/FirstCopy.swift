import Replication
import SQLite

/// A first copy that is not complete yet, and from whom it comes.
package struct FirstCopy: Sendable, Equatable {
  package var inviter: Identity
  package var name: String
  package var address: String
  /// About how many rows it has, settings included.
  package var rows: UInt64
  /// Whether it may come as pages: this file brings nothing of its own.
  package var mayBePages = false

  package init(
    inviter: Identity, name: String, address: String, rows: UInt64, mayBePages: Bool = false
  ) {
    self.inviter = inviter
    self.name = name
    self.address = address
    self.rows = rows
    self.mayBePages = mayBePages
  }

  /// As it is kept: four words, the last of which may have spaces.
  var text: String { "\(inviter) \(rows) \(address) \(name)" }

  init?(text: String) {
    let words = text.split(separator: " ", maxSplits: 3)
    guard words.count == 4, let inviter = Identity(String(words[0])), let rows = UInt64(words[1])
    else { return nil }
    self.init(inviter: inviter, name: String(words[3]), address: String(words[2]), rows: rows)
  }

  /// Notes in the open transaction that the copy begins, and where its inviter is.
  func begin(on connection: Connection) throws(SQLiteError) {
    try Meta(connection: connection).set(.joining, .string(text))
    if mayBePages { try Meta(connection: connection).set(.joiningByPages, .integer(1)) }
    try connection.run(
      "INSERT INTO _flotilla_peer(node, name, address) VALUES (?, ?, ?)",
      [.string(inviter.description), .string(name), .string(address)])
  }

  /// The one that a file waits for; nil if it is whole. The file must be a replica.
  package static func read(_ connection: Connection) throws(SQLiteError) -> FirstCopy? {
    let meta = Meta(connection: connection)
    guard var copy = try meta.text(.joining).flatMap(FirstCopy.init) else { return nil }
    // Once a node has begun with rows, others may know of this file.
    let begun = try connection.row(
      "SELECT 1 FROM _flotilla_run UNION ALL SELECT 1 FROM _flotilla_version LIMIT 1")
    copy.mayBePages = try meta.integer(.joiningByPages) != nil && begun == nil
    return copy
  }
}

extension Store {
  /// The first copy that is not complete yet.
  package func firstCopy() throws(StoreError) -> FirstCopy? {
    try reporting { () throws(SQLiteError) in try FirstCopy.read(connection) }
  }

  /// Notes that the first copy is complete.
  package func endFirstCopy() throws(StoreError) {
    _ = try reporting { () throws(SQLiteError) in
      try connection.run(
        "DELETE FROM _flotilla_meta WHERE name IN (?, ?)",
        [Meta.Name.joining, .joiningByPages].map { .string($0.rawValue) })
    }
  }
}
