import Replication
import SQLite

/// Who writes under an origin.
package struct KnownAuthor: Sendable, Equatable {
  package var origin: Origin
  package var node: Identity
  package var name: String
  /// From which the origin follows; others can check that when they are told.
  package var life: UInt64

  package init(origin: Origin, node: Identity, name: String, life: UInt64) {
    self.origin = origin
    self.node = node
    self.name = name
    self.life = life
  }
}

extension Store {
  /// Which node wrote under an origin, if that is known.
  package func author(of origin: Origin) throws(StoreError) -> Identity? {
    try reporting { () throws(SQLiteError) in
      try connection.scalar(
        "SELECT node FROM _flotilla_author WHERE origin = ?",
        [.integer(Int64(bitPattern: origin.rawValue))]
      ).string.flatMap(Identity.init)
    }
  }

  /// The authors that are known with their lives, in no order.
  package func authors() throws(StoreError) -> [KnownAuthor] {
    try reporting { () throws(SQLiteError) in
      try connection.rows(
        "SELECT origin, node, name, life FROM _flotilla_author WHERE life IS NOT NULL"
      ).compactMap { row in
        guard let origin = row[0].integer, let node = row[1].string.flatMap(Identity.init),
          let life = row[3].integer
        else { return nil }
        return KnownAuthor(
          origin: Origin(rawValue: UInt64(bitPattern: origin)), node: node,
          name: row[2].string ?? "", life: UInt64(bitPattern: life))
      }
    }
  }

  /// Remembers who writes under an origin; the caller has derived it from the node's key and life.
  package func note(_ authors: [KnownAuthor]) throws(StoreError) {
    guard !authors.isEmpty else { return }
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        for author in authors { try Self.note(author, on: connection) }
      }
    }
  }

  static func note(_ author: KnownAuthor, on connection: Connection) throws(SQLiteError) {
    try connection.run(
      "INSERT OR REPLACE INTO _flotilla_author(origin, node, name, life) VALUES (?, ?, ?, ?)",
      [
        .integer(Int64(bitPattern: author.origin.rawValue)), .string(author.node.description),
        .string(author.name), .integer(Int64(bitPattern: author.life)),
      ])
  }

  /// Calls authors as the site does now: it may have given another name to a second of one name.
  package func name(_ names: [Identity: String]) throws(StoreError) {
    guard !names.isEmpty else { return }
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        for (node, name) in names {
          try connection.run(
            "UPDATE _flotilla_author SET name = ?2 WHERE node = ?1 AND name IS NOT ?2",
            [.string(node.description), .string(name)])
        }
      }
    }
  }
}
